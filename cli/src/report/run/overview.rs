//! Summary of a whole run: outcome, fabric, precision and evidence.

use campaign::format;
use campaign::plan::{Plan, Role, Separation};
use campaign::stats::percent_change;
use campaign::summarize::{
    BoundingResource, CellSummary, Deviations, FabricEvidence, UpperBound, VarianceSplit,
};
use crds::assignment::Extent;
use crds::v1alpha1::{Engagement, ExpectationOutcome, FabricProof, Optimization};

use super::comparison::{is_undecided, is_without_effect, undecided_text, without_effect_text};
use crate::report::Report;
use crate::report::document::ResultClass;
use crate::report::labels::fabric_proof;

/// Describes the outcome of a complete run without missed expectations or regressions.
///
/// The class is [`ResultClass::Improved`] only if every comparison and every expectation is decided.
pub(crate) fn passed_text(report: &Report<'_>) -> (ResultClass, String) {
    let comparisons = &report.evaluation.comparisons;
    let variants = || comparisons.primary().filter(|one| one.role == Role::Variant);
    let expectations = comparisons.expectations.iter();
    let unsettled = expectations.filter(|answer| answer.outcome == ExpectationOutcome::Inconclusive);
    let counts = [
        (
            variants().filter(|one| is_undecided(one)).count(),
            variants().count(),
            "comparisons",
        ),
        (unsettled.count(), comparisons.expectations.len(), "expectations"),
    ];
    let open = counts
        .into_iter()
        .filter_map(|(undecided, total, what)| undecided_text(undecided, total, what));
    let without_effect = variants().filter(|one| is_without_effect(one)).count();
    let ineffective =
        (without_effect > 0).then(|| without_effect_text(without_effect, variants().count(), "comparisons"));
    let reservations: Vec<String> = open.chain(ineffective).collect();
    if !reservations.is_empty() {
        let sentence = format!(
            "Complete: no expectation was missed and no regression was found, but {}.",
            reservations.join(", and ")
        );
        return (ResultClass::NotApplicable, sentence);
    }
    match variants().next() {
        Some(_) => (
            ResultClass::Improved,
            "Complete: no expectation was missed and no variant regressed.".to_owned(),
        ),
        None => (
            ResultClass::NotApplicable,
            "Complete: there was nothing to compare.".to_owned(),
        ),
    }
}

/// Describes whether the requested fabric carried the payload, with the evidence.
pub(crate) fn fabric(fabric: Option<&FabricEvidence>) -> String {
    let Some(fabric) = fabric else {
        return "no measured case has used a fabric".to_owned();
    };
    let label = fabric_proof(fabric.proof);
    match (fabric.proof, fabric.counted_bytes) {
        (FabricProof::Verified, Some(counted)) => format!(
            "{label}: {} counted {} for {} of payload",
            fabric.interfaces.join(", "),
            format::bytes(counted),
            format::bytes(fabric.payload_bytes)
        ),
        _ => format!("{label}: {}", fabric.reason),
    }
}

/// Describes the variance of the baseline by level, at the size where the variance is largest, and what would narrow
/// the variants' intervals. Returns `None` if there are too few rounds.
pub(crate) fn variance(report: &Report<'_>, scenario: usize) -> Option<String> {
    let variances = report.evaluation.summary.variances.iter();
    let of_scenario = variances.filter(|split| split.scenario == scenario);
    let largest = of_scenario.max_by(|one, other| {
        let deviation = |split: &VarianceSplit| split.deviations.between_rounds;
        deviation(one).total_cmp(&deviation(other))
    })?;
    let deviations = &largest.deviations;
    let percent = |log: f64| format!("{:.1} %", percent_change(log));
    let levels = match deviations.between_windows.zip(deviations.between_processes) {
        Some((windows, processes)) => format!(
            "{} between windows of one process, {} between processes",
            percent(windows),
            percent(processes)
        ),
        None => format!("{} between rounds", percent(deviations.between_rounds)),
    };
    let pairs = deviations
        .between_pairs
        .map(|pairs| format!(", {} between pairs", percent(pairs)));
    let has_variant = |separate: bool| {
        let arms = report.plan.arms.iter().enumerate();
        let mut variants =
            arms.filter(|(index, arm)| *index != report.plan.baseline && arm.control.is_none());
        variants.any(|(_, arm)| (arm.separation != Separation::Tuning) == separate)
    };
    let workload = &report.plan.scenarios.get(scenario)?.assignment.workload;
    if workload.tool().is_some() {
        // Every execution of the tool is a process of its own, and the tool decides how long it measures.
        return Some(format!(
            "largest at {}: {} between rounds (standard deviation of the baseline); more rounds, more workers or more \
             iterations of the tool narrow the intervals",
            format::size(largest.size_bytes),
            percent(deviations.between_rounds)
        ));
    }
    let window = match workload.measured() {
        Extent::DurationNanos(_) => "duration",
        Extent::FillWindow { .. } => "sampling.minWindow",
        // No setting determines the window length directly: a larger fixed number of operations makes the window
        // longer.
        Extent::Iterations(_) => "window",
    };
    Some(format!(
        "largest at {}: {levels}{} (standard deviation of the baseline); {}",
        format::size(largest.size_bytes),
        pairs.unwrap_or_default(),
        narrowing_advice(deviations, has_variant(false), has_variant(true), window)
    ))
}

/// Lists the upper bounds on a scenario's throughput, lowest first; `None` if no bound is known.
pub(crate) fn upper_bounds(report: &Report<'_>, scenario: usize) -> Option<String> {
    let bounds = report.evaluation.summary.upper_bounds.iter();
    let mut bounds: Vec<&UpperBound> = bounds.filter(|bound| bound.scenario == scenario).collect();
    bounds.sort_by(|one, other| one.bytes_per_second.total_cmp(&other.bytes_per_second));
    let bounds: Vec<String> = bounds
        .iter()
        .map(|bound| {
            let resource = match bound.resource {
                BoundingResource::LineRate => "line rate of the NICs",
                BoundingResource::PciLink => "PCI links of the NICs",
                BoundingResource::Copy => "copies by the measuring threads on the available CPUs",
            };
            format!(
                "{} ({resource})",
                format::bytes_per_second(bound.bytes_per_second)
            )
        })
        .collect();
    (!bounds.is_empty()).then(|| format!("throughput at most {}", bounds.join(", ")))
}

/// Lowest upper bound on the throughput of a scenario, in bytes per second.
pub(crate) fn lowest_bound(report: &Report<'_>, scenario: usize) -> Option<f64> {
    let bounds = report.evaluation.summary.upper_bounds.iter();
    let of_scenario = bounds.filter(|bound| bound.scenario == scenario);
    of_scenario.map(|bound| bound.bytes_per_second).reduce(f64::min)
}

/// Describes what narrows the intervals of variants that run in the baseline's process (`shared`) or in other processes
/// (`separate`). `window` is the setting that determines the window length.
fn narrowing_advice(deviations: &Deviations, shared: bool, separate: bool, window: &str) -> String {
    let levels = deviations.between_windows.zip(deviations.between_processes);
    match (separate, levels) {
        (true, None) => "more rounds or workers narrow the intervals".to_owned(),
        (true, Some((windows, processes))) if processes > windows && shared => format!(
            "more rounds or workers narrow all intervals; a longer {window} narrows only those of variants in the baseline's \
             process"
        ),
        (true, Some((windows, processes))) if processes > windows => {
            format!("more rounds or workers narrow the intervals; a longer {window} would not")
        }
        _ => format!("more rounds, more workers or a longer {window} narrow the intervals"),
    }
}

/// Groups `cells` of one arm and scenario by the engagement of `optimization` and the reason for it. Returns each group
/// with the sizes of its cells, in bytes.
pub(crate) fn engagements<'a>(
    cells: &[&'a CellSummary],
    optimization: Optimization,
) -> Vec<(Engagement, Vec<u64>, &'a str)> {
    let mut groups: Vec<(Engagement, Vec<u64>, &str)> = Vec::new();
    for cell in cells {
        let evidence = cell.evidence.iter();
        for evidence in evidence.filter(|evidence| evidence.optimization == optimization) {
            let (engagement, reason) = (evidence.engagement, evidence.reason.as_str());
            match groups
                .iter_mut()
                .find(|group| (group.0, group.2) == (engagement, reason))
            {
                Some((_, sizes, _)) => sizes.push(cell.size_bytes),
                None => groups.push((engagement, vec![cell.size_bytes], reason)),
            }
        }
    }
    groups
}

/// Like [`engagements`], for the cells of arm `arm`, whose evidence says something: an arm with the same setting as the
/// baseline and the same evidence is omitted.
pub(crate) fn distinct_engagements<'a>(
    plan: &Plan,
    arm: usize,
    optimization: Optimization,
    cells_of: impl Fn(usize) -> Vec<&'a CellSummary>,
) -> Vec<(Engagement, Vec<u64>, &'a str)> {
    let found = engagements(&cells_of(arm), optimization);
    if arm == plan.baseline || !has_setting_of_baseline(plan, arm, optimization) {
        return found;
    }
    match found == engagements(&cells_of(plan.baseline), optimization) {
        true => Vec::new(),
        false => found,
    }
}

/// Whether an arm and the baseline have the same setting of `optimization`.
fn has_setting_of_baseline(plan: &Plan, arm: usize, optimization: Optimization) -> bool {
    let (Some(arm), Some(baseline)) = (plan.arms.get(arm), plan.arms.get(plan.baseline)) else {
        return false;
    };
    match optimization {
        Optimization::Inject => arm.inject_max_bytes == baseline.inject_max_bytes,
        Optimization::Doorbell => arm.doorbell_max_batch == baseline.doorbell_max_batch,
        Optimization::Coalesce => arm.striping == baseline.striping,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_names_only_what_narrows_the_intervals() {
        let deviations = |windows: Option<f64>| Deviations {
            between_windows: windows,
            between_processes: windows.map(|_| 0.05),
            between_rounds: 0.06,
            between_pairs: None,
        };
        let small = deviations(Some(0.02));
        let large = deviations(Some(0.08));
        let unknown = deviations(None);
        for (deviations, shared, separate, expected) in [
            (
                &small,
                true,
                false,
                "more rounds, more workers or a longer duration narrow the intervals",
            ),
            (
                &large,
                true,
                true,
                "more rounds, more workers or a longer duration narrow the intervals",
            ),
            (
                &unknown,
                true,
                false,
                "more rounds, more workers or a longer duration narrow the intervals",
            ),
            (
                &small,
                false,
                true,
                "more rounds or workers narrow the intervals; a longer duration would not",
            ),
            (
                &unknown,
                false,
                true,
                "more rounds or workers narrow the intervals",
            ),
            (
                &small,
                true,
                true,
                "more rounds or workers narrow all intervals; a longer duration narrows only those of variants in the \
                 baseline's process",
            ),
        ] {
            assert_eq!(
                narrowing_advice(deviations, shared, separate, "duration"),
                expected
            );
        }
    }
}
