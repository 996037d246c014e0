//! Describes the analyses in a run whose comparisons end as soon as they are decided.

use std::collections::BTreeMap;

use campaign::plan::{Plan, Role};
use crds::v1alpha1::EndReason;

use crate::report::Report;

/// Describes when the run is analyzed, such as `after 13, 23 and 40 rounds`; `None` if it is analyzed only at its end.
pub(crate) fn analyses(plan: &Plan) -> Option<String> {
    let (last, earlier) = plan.analyses.split_last()?;
    let earlier: Vec<String> = earlier.iter().map(ToString::to_string).collect();
    (!earlier.is_empty()).then(|| format!("after {} and {last} rounds", earlier.join(", ")))
}

/// Describes how many comparisons of variants ended before the last round and what share of the planned cases was not
/// needed; `None` if the run is analyzed only at its end.
pub(crate) fn ended_text(report: &Report<'_>) -> Option<String> {
    let saved = report.evaluation.summary.saved_percent?;
    let variants = report.evaluation.comparisons.primary();
    let variants: Vec<_> = variants.filter(|one| one.role == Role::Variant).collect();
    let mut counts: BTreeMap<(u32, &str), u32> = BTreeMap::new();
    for ended in variants.iter().filter_map(|one| one.ended) {
        *counts
            .entry((ended.rounds, end_reason(ended.reason)))
            .or_default() += 1;
    }
    if counts.is_empty() {
        return Some(format!(
            "none of {} comparisons ended before round {}",
            variants.len(),
            report.plan.rounds
        ));
    }
    let parts = counts
        .iter()
        .map(|((rounds, reason), count)| format!("{count} {reason} after {rounds} rounds"));
    Some(format!(
        "{} of {} comparisons ended before round {}: {}; {saved:.0} % of the planned cases were not needed",
        counts.values().sum::<u32>(),
        variants.len(),
        report.plan.rounds,
        parts.collect::<Vec<_>>().join(", "),
    ))
}

fn end_reason(reason: EndReason) -> &'static str {
    match reason {
        EndReason::Settled => "settled",
        EndReason::Futile => "futile",
        EndReason::NoVerdict => "without a verdict",
    }
}
