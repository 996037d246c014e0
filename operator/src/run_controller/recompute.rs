//! Computes the status of a finished run again from its records, as the operator did that finished it. Performs no I/O.

use std::collections::BTreeSet;

use campaign::format::clipped;
use campaign::status::{self, Phase, SHORT_TEXT};
use crds::v1alpha1::{BenchmarkRunStatus, Condition, ConditionType, PlacementStatus};

use super::controller::NO_PREFLIGHT;
use super::execution_state::ExecutionState;
use super::status::{Planned, StatusContext, planned_in_full, rejected_in_full};

/// Returns the statuses that an operator may have written instead of `written` for a run with the evaluated records in
/// `planned` that finished in `phase`. Values that the records do not determine are those of `written`: `execution`, the
/// condition `CleanupBlocked`, the operator's warning about its own configuration, and the order of the nodes.
///
/// There are two, which differ only in what was omitted from a long status: the condition may have been added before or
/// after that.
pub fn recomputed(
    written: &BenchmarkRunStatus,
    planned: Planned<'_>,
    phase: Phase,
) -> [BenchmarkRunStatus; 2] {
    let execution_state = ExecutionState::from_status(written);
    let with_nodes = context(written, &execution_state);
    let evaluation = planned.evaluation;
    let without_nodes = ExecutionState::default();
    let from_records = planned_in_full(&context(written, &without_nodes), planned.clone(), phase.clone());
    let mut status = planned_in_full(&with_nodes, planned, phase);
    let names_are_known = evaluation
        .summary
        .environment
        .workers
        .iter()
        .all(|worker| worker.hello.environment.node.is_some());
    // Without measured blocks, the records do not show on which nodes the last gang was.
    if evaluation.summary.blocks_done > 0 && names_are_known && nodes(&from_records) != nodes(&status) {
        status.placement = from_records.placement;
    }
    with_cleanup(written, status)
}

/// Returns the statuses that an operator may have written instead of `written` for a run that it rejected with `message`.
/// See [`recomputed`].
pub fn recomputed_rejection(written: &BenchmarkRunStatus, message: &str) -> [BenchmarkRunStatus; 2] {
    let execution_state = ExecutionState::from_status(written);
    with_cleanup(
        written,
        rejected_in_full(&context(written, &execution_state), message),
    )
}

fn context<'a>(written: &'a BenchmarkRunStatus, execution_state: &'a ExecutionState) -> StatusContext<'a> {
    let is_warning = |text: &String| *text == NO_PREFLIGHT || *text == clipped(NO_PREFLIGHT, SHORT_TEXT);
    StatusContext {
        generation: written.observed_generation,
        now: "",
        previous: None,
        execution_state,
        cleanup_blocked: None,
        // A warning about omissions comes first.
        warning: written
            .warnings
            .iter()
            .take(2)
            .any(is_warning)
            .then_some(NO_PREFLIGHT),
    }
}

fn nodes(status: &BenchmarkRunStatus) -> BTreeSet<&str> {
    let placement = status.placement.iter();
    placement
        .flat_map(|PlacementStatus { nodes }| nodes)
        .map(String::as_str)
        .collect()
}

/// Adds the condition `CleanupBlocked` of `written`, before and after the status is limited to its maximum size.
fn with_cleanup(written: &BenchmarkRunStatus, status: BenchmarkRunStatus) -> [BenchmarkRunStatus; 2] {
    let is_cleanup = |condition: &&Condition| condition.has_type(ConditionType::CleanupBlocked);
    let cleanup = || written.conditions.iter().filter(is_cleanup).cloned();
    let limited = |status| match status::is_reduced(written) {
        true => status::reduced(status),
        false => status::fit(status),
    };
    let mut before = status.clone();
    before.conditions.extend(cleanup());
    let mut after = limited(status);
    after.conditions.extend(cleanup());
    [limited(before), after]
}
