//! Evidence lines of the optimizations and warnings about the run, each once.

use std::collections::BTreeSet;

use crds::record::WarningReason;

use crate::collect::{Outcome, Reports};
use crate::plan::Plan;

/// The evidence lines of the optimizations, in the wording of the test procedures.
pub(super) fn evidence_lines(reports: &Reports) -> Vec<String> {
    let evidence = reports
        .warnings
        .iter()
        .filter(|from| from.record.reason == WarningReason::Evidence);
    once(evidence.map(|from| from.record.message.clone()))
}

/// Faults of the streams, then warnings of the workers.
pub(super) fn warnings(plan: &Plan, reports: &Reports) -> Vec<String> {
    let faults = reports.faults.iter().map(ToString::to_string);
    let more_faults = (reports.faults_dropped > 0).then(|| {
        format!(
            "{} more faults in the records are not listed",
            reports.faults_dropped
        )
    });
    let failed = reports.streams.iter().filter_map(|stream| {
        let failure = stream.end.as_ref()?.failure.as_ref()?;
        Some(format!(
            "leg {}, attempt {} ended early ({:?}): {}",
            stream.leg, stream.attempt, failure.reason, failure.message
        ))
    });
    let missing = reports.endpoints.iter().filter_map(|from| {
        let failure = from.record.failure.as_ref()?;
        Some(format!(
            "arm \"{}\" has no endpoints at rank {} ({:?}): {}",
            from.record.arm, from.record.rank, failure.reason, failure.message
        ))
    });
    let said = reports
        .warnings
        .iter()
        .filter(|from| from.record.reason != WarningReason::Evidence);
    let said = said.map(|from| {
        let rank = from
            .record
            .rank
            .map_or_else(String::new, |rank| format!(", rank {rank}"));
        format!("{:?}{rank}: {}", from.record.reason, from.record.message)
    });
    let unseen = reports.cases.iter().any(|case| match &case.outcome {
        Outcome::Measured(measured) => [&measured.initiator, &measured.target]
            .iter()
            .any(|side| side.throttled_nanos.is_none()),
        Outcome::Checked(_) | Outcome::Failed(_) => false,
    });
    let unseen = unseen.then(|| {
        "a worker's kernel does not show whether its control group was throttled: a CPU limit that was reached would \
         not be noticed"
            .to_owned()
    });
    let more = (reports.warnings_dropped > 0)
        .then(|| format!("{} more warnings are not listed", reports.warnings_dropped));
    let unfinished = reports.blocks_done() < plan.blocks_total;
    let unfinished = unfinished.then(|| {
        format!(
            "the run is not complete: {} of {} blocks count",
            reports.blocks_done(),
            plan.blocks_total
        )
    });
    once(
        unfinished
            .into_iter()
            .chain(faults)
            .chain(more_faults)
            .chain(failed)
            .chain(missing)
            .chain(unseen)
            .chain(said)
            .chain(more),
    )
}

fn once(texts: impl Iterator<Item = String>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    texts.filter(|text| seen.insert(text.clone())).collect()
}
