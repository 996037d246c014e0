//! Computes a run's comparisons: effects, verdicts and outcomes of expectations, from the plan, the records and their
//! summary. Performs no I/O.
//!
//! Each variant and each control arm is compared with the baseline in every scenario, at every size, on every metric.
//! Verdicts are given only for the scenario's primary metric. A verdict is withheld if the comparison cannot show
//! whether the variant changes the metric; [`Withheld`] gives the reason.
//!
//! A control arm is a second baseline, measured with the same separation from the first baseline as the variants that
//! it controls. A variant that is identical to the baseline at a size acts as a control at that size. All controls of a
//! run form a separate family: if there is no real difference, the probability that any of them shows a change is at
//! most `1 - confidence`. If a control shows a change, that is, if its whole interval at that level lies beyond the
//! margin, then position or time alone may change the metric, and the verdicts of **all comparisons in that scenario at
//! that size** are withheld, because they share the baseline.

mod case_index;
mod comparison;
mod effects;
mod expectations;
mod factors;
mod noise;
mod noise_above_margin;
mod reason;
mod resolution;
mod serialize;
mod verdict_line;
mod withhold;

use crds::v1alpha1::Metric;
use serde::Serialize;

pub use comparison::{Comparison, Effect, PairEffect};
pub(crate) use expectations::expected_change;
pub use expectations::{ExpectationAnswer, SizeOutcome, describe, metric_name};
pub use factors::{ConditionalChange, FactorEffect};
pub use noise_above_margin::NoiseAboveMargin;
pub use reason::{Inconclusive, Withheld};
pub use verdict_line::verdict_line;
pub(crate) use withhold::contradiction;

use crate::collect::Reports;
use crate::plan::Plan;
use crate::stats::StatsError;
use crate::stopping::Stopping;
use crate::summarize::Summary;

/// All comparisons of a run.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Comparisons {
    /// The comparisons, by scenario, size and arm in plan order, and by metric, with the primary metric first.
    pub all: Vec<Comparison>,
    /// Factor effects, by scenario and size in plan order. Empty if there are no factors.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub factor_effects: Vec<FactorEffect>,
    /// Controls whose interval extends beyond the margin, in plan order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub noise: Vec<NoiseAboveMargin>,
    /// Outcome of each expectation, in spec order.
    pub expectations: Vec<ExpectationAnswer>,
    /// Summary of the verdicts in one line.
    pub verdict: String,
}

impl Comparisons {
    /// Finds the comparison of `arm` in `scenario` at `size_bytes` on `metric`. `scenario` and `arm` are indexes into
    /// the plan.
    pub fn find(&self, scenario: usize, size_bytes: u64, arm: usize, metric: Metric) -> Option<&Comparison> {
        self.all.iter().find(|comparison| {
            (
                comparison.scenario,
                comparison.size_bytes,
                comparison.arm,
                comparison.metric,
            ) == (scenario, size_bytes, arm, metric)
        })
    }

    /// Comparisons on the primary metric of their scenario.
    pub fn primary(&self) -> impl Iterator<Item = &Comparison> {
        self.all.iter().filter(|comparison| comparison.primary)
    }
}

/// Compares every arm of `plan` with the baseline, using the rounds that the analyses in `stopping` include.
///
/// # Errors
/// Returns an error if the confidence, the margin or an expected percentage of the plan is out of range. `validate`
/// rejects such a spec.
pub fn compare(
    plan: &Plan,
    reports: &Reports,
    summary: &Summary,
    stopping: &Stopping,
) -> Result<Comparisons, StatsError> {
    let index = case_index::case_index(plan, reports, summary);
    let mut all = effects::estimate(plan, &index, stopping)?;
    let noise = noise::find(plan, &all)?;
    withhold::withhold_verdicts(plan, reports, summary, &mut all)?;
    resolution::explain(plan, &mut all);
    noise::explain(plan, &noise, &mut all);
    let expectations = expectations::evaluate(plan, &all)?;
    Ok(Comparisons {
        factor_effects: factors::estimate(plan, &index, stopping, &all)?,
        verdict: verdict_line(plan, summary, &all, &noise),
        noise,
        expectations,
        all,
    })
}
