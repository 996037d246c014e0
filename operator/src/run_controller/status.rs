//! The status of a run: what its records say, what it is doing, what must be remembered. Pure; the time comes in.

use crds::v1alpha1::{BenchmarkRunStatus, Condition, PlacementStatus, RecordsReference};

use super::execution_state::ExecutionState;
use crate::campaign::Evaluation;
use crate::campaign::format::clipped;
use crate::campaign::plan::Plan;
use crate::campaign::status::{self, MAX_TEXT, MAX_WARNINGS, Phase, StatusInput};

/// The condition of pods that should be gone and are not.
const CLEANUP_BLOCKED: &str = "CleanupBlocked";

/// What every status of a run has.
pub(super) struct StatusContext<'a> {
    /// Generation of the spec.
    pub(super) generation: Option<i64>,
    /// The time now (RFC 3339).
    pub(super) now: &'a str,
    /// The status before this one.
    pub(super) previous: Option<&'a BenchmarkRunStatus>,
    /// What is remembered.
    pub(super) execution_state: &'a ExecutionState,
    /// Pods that should be gone and are not, in words.
    pub(super) cleanup_blocked: Option<&'a str>,
    /// What a reader must know of the installation.
    pub(super) warning: Option<&'a str>,
}

/// What a planned run's status is made of.
pub(super) struct Planned<'a> {
    pub(super) plan: &'a Plan,
    pub(super) plan_hash: &'a str,
    pub(super) evaluation: &'a Evaluation,
    pub(super) records: Option<RecordsReference>,
}

/// The status of a run that was planned.
pub(super) fn planned(frame: &StatusContext<'_>, planned: Planned<'_>, phase: Phase) -> BenchmarkRunStatus {
    let phase = match phase {
        Phase::Complete => Phase::finished(planned.evaluation),
        phase => phase,
    };
    let status = status::status(&StatusInput {
        plan: planned.plan,
        plan_hash: planned.plan_hash,
        phase,
        evaluation: planned.evaluation,
        records: planned.records,
        generation: frame.generation,
        now: frame.now,
        previous: frame.previous,
    });
    framed(frame, status)
}

/// The status of a run that cannot be planned.
pub(super) fn refused(frame: &StatusContext<'_>, message: &str) -> BenchmarkRunStatus {
    let status = status::refused(message, frame.generation, frame.now, frame.previous);
    framed(frame, status)
}

fn framed(frame: &StatusContext<'_>, mut status: BenchmarkRunStatus) -> BenchmarkRunStatus {
    status.execution = Some(frame.execution_state.to_status());
    if !frame.execution_state.nodes.is_empty() {
        let nodes = frame.execution_state.nodes.clone();
        status.placement = Some(PlacementStatus { nodes });
    }
    if let Some(warning) = frame.warning {
        // Before the others: the last of too many says how many there are.
        if status.warnings.len() >= MAX_WARNINGS {
            status.warnings.remove(0);
        }
        status.warnings.insert(0, clipped(warning, MAX_TEXT));
    }
    status.conditions = blocked(frame, status.conditions);
    status::fit(status)
}

/// `conditions` with what [`StatusContext::cleanup_blocked`] says.
pub(super) fn blocked(frame: &StatusContext<'_>, mut conditions: Vec<Condition>) -> Vec<Condition> {
    let before = frame.previous.into_iter().flat_map(|status| &status.conditions);
    let mut before = before.filter(|condition| condition.type_ == CLEANUP_BLOCKED);
    let before = before.next().cloned();
    conditions.retain(|condition| condition.type_ != CLEANUP_BLOCKED);
    let (holds, reason, message) = match (frame.cleanup_blocked, &before) {
        (Some(message), _) => ("True", "NodeLost", message),
        (None, Some(_)) => ("False", "PodsDeleted", ""),
        // It was never blocked: nothing to say.
        (None, None) => return conditions,
    };
    let same = before.filter(|before| before.status == holds);
    conditions.push(Condition {
        type_: CLEANUP_BLOCKED.to_owned(),
        status: holds.to_owned(),
        reason: reason.to_owned(),
        message: clipped(message, MAX_TEXT),
        last_transition_time: same.map_or_else(|| frame.now.to_owned(), |same| same.last_transition_time),
        observed_generation: frame.generation,
    });
    conditions
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conditions(
        previous: Option<&BenchmarkRunStatus>,
        now: &str,
        blocked_by: Option<&str>,
    ) -> Vec<Condition> {
        let frame = StatusContext {
            generation: Some(1),
            now,
            previous,
            execution_state: &ExecutionState::default(),
            cleanup_blocked: blocked_by,
            warning: None,
        };
        let current = previous.map(|status| status.conditions.clone());
        blocked(&frame, current.unwrap_or_default())
    }

    #[test]
    fn a_blocked_cleanup_is_told_once_and_taken_back() {
        assert_eq!(conditions(None, "1", None), []);
        let status = BenchmarkRunStatus {
            conditions: conditions(None, "1", Some("pod a")),
            ..BenchmarkRunStatus::default()
        };
        assert_eq!(status.conditions.len(), 1);
        let again = conditions(Some(&status), "2", Some("pod a"));
        assert_eq!(
            again, status.conditions,
            "the same is the same, whenever it is looked at"
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
