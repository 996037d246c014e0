//! Records to answers: the one way from what was measured to what is reported, for every executor and every report.
//! Pure, no I/O.

use crds::v1alpha1::{ExpectationOutcome, FabricProof, Outcome, Verdict};
use serde::Serialize;

use super::collect::Reports;
use super::compare::{Comparisons, compare};
use super::plan::Plan;
use super::stats::StatsError;
use super::summarize::{Summary, summarize};

/// Everything the records of a run say.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Evaluation {
    /// What each arm did, and whether that can be trusted.
    pub summary: Summary,
    /// What the comparisons say.
    pub comparisons: Comparisons,
}

/// What an evaluation comes to, the worst first; decides the exit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Overall {
    /// Some block is missing.
    NotComplete,
    /// Every case failed.
    NothingMeasured,
    /// Some number that was asked for cannot be trusted.
    NotTrustworthy,
    /// An expectation was not met, or a variant is worse than the baseline.
    Missed,
    /// Complete, and nothing of this.
    Good,
}

impl From<Overall> for Outcome {
    fn from(overall: Overall) -> Self {
        match overall {
            Overall::NotComplete | Overall::NothingMeasured | Overall::NotTrustworthy => Self::Untrusted,
            Overall::Missed => Self::Missed,
            Overall::Good => Self::Passed,
        }
    }
}

/// Evaluates `reports` of a run with `plan`.
///
/// Works on any part of the records: what is not there yet is said to be missing.
///
/// # Errors
/// When the plan's confidence, margin, or a percentage that is expected, is none; `validate` refuses such a spec.
pub fn evaluate(plan: &Plan, reports: &Reports) -> Result<Evaluation, StatsError> {
    let summary = summarize(plan, reports);
    let comparisons = compare(plan, reports, &summary)?;
    Ok(Evaluation { summary, comparisons })
}

impl Evaluation {
    /// What it comes to.
    pub fn overall(&self) -> Overall {
        let fabric = self.summary.fabric.as_ref();
        let contradicted = fabric.is_some_and(|fabric| fabric.proof == FabricProof::Contradicted);
        // A run without variants has no comparison that could tell that its baseline failed.
        let unusable = self.summary.cells.iter().any(|cell| cell.valid_cases == 0);
        if !self.summary.complete() {
            return Overall::NotComplete;
        }
        if self.summary.nothing_measured().is_some() {
            return Overall::NothingMeasured;
        }
        let untrustworthy = self
            .comparisons
            .primary()
            .any(|comparison| comparison.untrustworthy());
        if contradicted || unusable || untrustworthy {
            return Overall::NotTrustworthy;
        }
        let missed = |outcome| outcome == ExpectationOutcome::NotMet;
        let expectations = &self.comparisons.expectations;
        let regressed = |verdict| verdict == Some(Verdict::Regressed);
        if expectations.iter().any(|answer| missed(answer.outcome))
            || self
                .comparisons
                .primary()
                .any(|comparison| regressed(comparison.verdict))
        {
            return Overall::Missed;
        }
        Overall::Good
    }
}
