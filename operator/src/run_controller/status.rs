//! Builds the status of a run from its evaluation, its phase and the state that the controller persists. The current
//! time is an argument. Performs no I/O.

use campaign::Evaluation;
use campaign::format::clipped;
use campaign::plan::HashedPlan;
use campaign::status::{self, MAX_TEXT, MAX_WARNINGS, Phase, StatusInput};
use crds::v1alpha1::{
    BenchmarkRunStatus, Condition, ConditionType, PlacementStatus, Reason, RecordsReference,
};

use super::action::CleanupBlocked;
use super::execution_state::ExecutionState;

/// Inputs for the status of any run, with or without a plan.
pub(super) struct StatusContext<'a> {
    /// Generation of the spec.
    pub(super) generation: Option<i64>,
    /// The current time (RFC 3339).
    pub(super) now: &'a str,
    /// The previous status.
    pub(super) previous: Option<&'a BenchmarkRunStatus>,
    /// State that the controller persists.
    pub(super) execution_state: &'a ExecutionState,
    /// Why the pods cannot be cleaned up.
    pub(super) cleanup_blocked: Option<&'a CleanupBlocked>,
    /// Warning about the operator's configuration.
    pub(super) warning: Option<&'a str>,
}

/// Additional inputs for the status of a run that has a plan.
#[derive(Clone)]
pub struct Planned<'a> {
    /// The plan.
    pub plan: &'a HashedPlan,
    /// Evaluation of the records.
    pub evaluation: &'a Evaluation,
    /// Reference to the records.
    pub records: Option<RecordsReference>,
}

/// Builds the status of a planned run.
pub(super) fn planned(context: &StatusContext<'_>, planned: Planned<'_>, phase: Phase) -> BenchmarkRunStatus {
    status::fit(planned_in_full(context, planned, phase))
}

/// Builds the status of a planned run without limiting its size.
pub(super) fn planned_in_full(
    context: &StatusContext<'_>,
    planned: Planned<'_>,
    phase: Phase,
) -> BenchmarkRunStatus {
    let phase = match phase {
        Phase::Complete => Phase::finished(planned.evaluation),
        phase => phase,
    };
    let status = status::status(&StatusInput {
        plan: planned.plan,
        phase,
        evaluation: planned.evaluation,
        records: planned.records,
        generation: context.generation,
        now: context.now,
        previous: context.previous,
    });
    with_context(context, status)
}

/// Builds the status of a run for which no plan can be computed.
pub(super) fn rejected_status(context: &StatusContext<'_>, message: &str) -> BenchmarkRunStatus {
    status::fit(rejected_in_full(context, message))
}

/// Builds the status of a run for which no plan can be computed without limiting its size.
pub(super) fn rejected_in_full(context: &StatusContext<'_>, message: &str) -> BenchmarkRunStatus {
    let status = status::rejected_status(message, context.generation, context.now, context.previous);
    with_context(context, status)
}

fn with_context(context: &StatusContext<'_>, mut status: BenchmarkRunStatus) -> BenchmarkRunStatus {
    status.execution = Some(context.execution_state.to_status());
    if !context.execution_state.nodes.is_empty() {
        let nodes = context.execution_state.nodes.clone();
        status.placement = Some(PlacementStatus { nodes });
    } else if status
        .progress
        .as_ref()
        .is_none_or(|progress| progress.blocks_done == 0)
    {
        // Until a block is measured, the next attempt may use other nodes, and the records may not contain all nodes yet.
        status.placement = None;
    } else if let Some(placement) = &mut status.placement {
        // The records list the nodes by rank. Ranks can change between legs, and an operator that starts later takes
        // the run's nodes from the status.
        placement.nodes.sort();
    }
    if let Some(warning) = context.warning {
        // The warning is inserted at the start, because if there are too many warnings, the last warning says how many
        // were omitted.
        if status.warnings.len() >= MAX_WARNINGS {
            status.warnings.remove(0);
        }
        status.warnings.insert(0, clipped(warning, MAX_TEXT));
    }
    status.conditions = with_cleanup_blocked(context, status.conditions);
    status
}

/// Returns `conditions` with the `CleanupBlocked` condition set according to [`StatusContext::cleanup_blocked`].
pub(super) fn with_cleanup_blocked(
    context: &StatusContext<'_>,
    mut conditions: Vec<Condition>,
) -> Vec<Condition> {
    let before = context.previous.into_iter().flat_map(|status| &status.conditions);
    let mut before = before.filter(|condition| condition.has_type(ConditionType::CleanupBlocked));
    let before = before.next().cloned();
    conditions.retain(|condition| !condition.has_type(ConditionType::CleanupBlocked));
    let (status, reason, message) = match (context.cleanup_blocked, &before) {
        (Some(blocked), _) => ("True", blocked.reason, blocked.message.as_str()),
        (None, Some(_)) => ("False", Reason::PodsDeleted, ""),
        // A condition that was never true is not listed.
        (None, None) => return conditions,
    };
    let same = before.filter(|before| before.status == status);
    conditions.push(Condition {
        type_: ConditionType::CleanupBlocked.to_string(),
        status: status.to_owned(),
        reason: reason.to_string(),
        message: clipped(message, MAX_TEXT),
        last_transition_time: same.map_or_else(|| context.now.to_owned(), |same| same.last_transition_time),
        observed_generation: context.generation,
    });
    conditions
}

#[cfg(test)]
mod tests {
    use crds::v1alpha1::Progress;

    use super::*;

    fn conditions(
        previous: Option<&BenchmarkRunStatus>,
        now: &str,
        blocked_by: Option<&CleanupBlocked>,
    ) -> Vec<Condition> {
        let context = StatusContext {
            generation: Some(1),
            now,
            previous,
            execution_state: &ExecutionState::default(),
            cleanup_blocked: blocked_by,
            warning: None,
        };
        let current = previous.map(|status| status.conditions.clone());
        with_cleanup_blocked(&context, current.unwrap_or_default())
    }

    #[test]
    fn nodes_from_the_records_are_sorted_by_name_and_used_once_a_block_is_measured() {
        let nodes = |state: &ExecutionState, blocks_done| {
            let context = StatusContext {
                generation: Some(1),
                now: "2026-01-01T00:00:00Z",
                previous: None,
                execution_state: state,
                cleanup_blocked: None,
                warning: None,
            };
            let nodes = vec!["b".to_owned(), "a".to_owned()];
            let status = BenchmarkRunStatus {
                placement: Some(PlacementStatus { nodes }),
                progress: Some(Progress {
                    blocks_done,
                    blocks_total: 2,
                    blocks_skipped: None,
                    saved_percent: None,
                    text: String::new(),
                }),
                ..BenchmarkRunStatus::default()
            };
            let placement = with_context(&context, status).placement;
            placement.map(|placement| placement.nodes)
        };
        let list = |names: [&str; 2]| Some(names.map(str::to_owned).to_vec());
        let mut state = ExecutionState::default();
        assert_eq!(nodes(&state, 1), list(["a", "b"]));
        assert_eq!(nodes(&state, 0), None, "the next attempt may use other nodes");
        state.nodes = vec!["c".to_owned(), "d".to_owned()];
        assert_eq!(nodes(&state, 0), list(["c", "d"]));
    }

    #[test]
    fn cleanup_blocked_keeps_its_time_and_turns_false_when_pods_are_deleted() {
        assert_eq!(conditions(None, "1", None), []);
        let blocked = CleanupBlocked {
            reason: Reason::ForeignPod,
            message: "pod a".to_owned(),
        };
        let status = BenchmarkRunStatus {
            conditions: conditions(None, "1", Some(&blocked)),
            ..BenchmarkRunStatus::default()
        };
        assert_eq!(status.conditions.len(), 1);
        assert_eq!(status.conditions[0].reason, "ForeignPod");
        let again = conditions(Some(&status), "2", Some(&blocked));
        assert_eq!(
            again, status.conditions,
            "an unchanged condition keeps its transition time"
        );
        let freed = conditions(Some(&status), "3", None);
        assert_eq!(
            (
                freed.len(),
                freed[0].status.as_str(),
                freed[0].last_transition_time.as_str()
            ),
            (1, "False", "3")
        );
    }
}
