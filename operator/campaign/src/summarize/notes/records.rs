//! Distinct evidence lines of the optimizations, and distinct warnings about the run.

use std::collections::BTreeSet;

use command_output::log;

use crds::record::{CaseResult, WarningReason};

use super::{load, windows};
use crate::collect::Reports;
use crate::plan::Plan;
use crate::plan_check::libraries;
use crate::stopping::Progress;
use crate::summarize::evidence::{differences, offload, settings};
use crate::summarize::workers::configurations::ConfigurationIndex;
use crate::summarize::workers::endpoints::EndpointIndex;
use crate::summarize::workers::{claims, device_pairs};

/// Returns the evidence lines of the optimizations, worded as in the test procedures.
pub(in crate::summarize) fn evidence_lines(reports: &Reports) -> Vec<String> {
    let evidence = reports
        .warnings
        .iter()
        .filter(|from| from.record.reason == WarningReason::Evidence);
    deduplicate(evidence.map(|from| from.record.message.clone()))
}

/// Returns the distinct warnings. Those about missing blocks and faulty records come first.
pub(in crate::summarize) fn warnings(
    plan: &Plan,
    reports: &Reports,
    endpoints: &EndpointIndex<'_>,
    configurations: &ConfigurationIndex<'_>,
    progress: &Progress,
) -> Vec<String> {
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
    let worker_warnings = reports
        .warnings
        .iter()
        .filter(|from| from.record.reason != WarningReason::Evidence);
    let worker_warnings = worker_warnings.map(|from| {
        let rank = from
            .record
            .rank
            .map_or_else(String::new, |rank| format!(", rank {rank}"));
        let meaning = match from.record.reason {
            WarningReason::LibraryOutput => library_output(&from.record.message),
            _ => String::new(),
        };
        format!("{:?}{rank}: {}{meaning}", from.record.reason, from.record.message)
    });
    let throttling_unknown = reports.cases.iter().any(|case| match &case.outcome {
        CaseResult::Measured(measured) => [&measured.initiator, &measured.target]
            .iter()
            .any(|side| side.throttled_nanos.is_none()),
        CaseResult::Checked(_) | CaseResult::Failed(_) => false,
    });
    let throttling_unknown = throttling_unknown.then(|| {
        "the kernel of a worker does not report whether its cgroup was throttled, so throttling by a CPU limit would go \
         unnoticed"
            .to_owned()
    });
    let more = (reports.warnings_dropped > 0)
        .then(|| format!("{} more warnings are not listed", reports.warnings_dropped));
    // Before the first block, no warning is needed: the state of the run already shows that nothing has been measured.
    let unfinished = (1..progress.total).contains(&progress.done);
    let unfinished = unfinished.then(|| {
        format!(
            "the run is incomplete: {} of {} blocks are verified",
            progress.done, progress.total
        )
    });
    deduplicate(
        unfinished
            .into_iter()
            .chain(faults)
            .chain(more_faults)
            .chain(failed)
            .chain(missing)
            .chain(throttling_unknown)
            .chain(offload::warnings(plan, endpoints))
            .chain(settings::warnings(plan, endpoints))
            .chain(differences::warnings(plan, configurations))
            .chain(windows::warnings(plan, reports))
            .chain(load::warnings(plan, reports))
            .chain(worker_warnings)
            .chain(device_pairs::warnings(plan, endpoints))
            .chain(claims::warnings(reports))
            .chain(libraries::differences(plan))
            .chain(more),
    )
}

/// What the log lines in the output of a library show, for the end of a warning. Empty if no rule recognizes a line.
fn library_output(output: &str) -> String {
    let lines = log::read(output).lines.into_iter().filter_map(|line| {
        let rule = line.rule?;
        Some(format!(
            " [{}; rule {rule}]",
            log::meaning(line.kind, &line.names)
        ))
    });
    lines.collect()
}

fn deduplicate(messages: impl Iterator<Item = String>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    messages.filter(|text| seen.insert(text.clone())).collect()
}
