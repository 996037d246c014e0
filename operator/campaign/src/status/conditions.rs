//! Run conditions: whether the run is accepted, suspended, running, complete or failed. They do not indicate whether
//! its results can be trusted.

use crds::v1alpha1::{BenchmarkRunStatus, Condition, ConditionType, Reason};

use super::input::{Phase, StatusInput};
use super::limits::MAX_TEXT;
use crate::format::{clipped, condensed, pluralized};

/// Maximum length of the message of a condition that explains why a run waits or failed, in characters. The run's events
/// contain the whole explanation.
const MAX_EXPLANATION: usize = 320;

/// Type of a condition, whether it is true, its reason and its message.
type ConditionState = (ConditionType, bool, Reason, String);

pub(super) fn conditions(input: &StatusInput<'_>) -> Vec<Condition> {
    let StatusInput {
        plan,
        phase,
        evaluation,
        ..
    } = input;
    let summary = &evaluation.summary;
    let blocks = format!(
        "{} of {} blocks measured",
        summary.blocks_done, summary.blocks_total
    );
    let planned = format!(
        "{} in {}",
        pluralized(plan.blocks_total.into(), "block"),
        pluralized(plan.legs.len() as u64, "leg")
    );
    let states = [
        (ConditionType::Accepted, true, Reason::Planned, planned),
        suspended_condition(phase),
        running_condition(phase, blocks.clone()),
        match phase {
            Phase::Complete => (
                ConditionType::Complete,
                true,
                Reason::AllBlocksMeasured,
                evaluation.comparisons.verdict.clone(),
            ),
            _ => (ConditionType::Complete, false, Reason::BlocksMissing, blocks),
        },
        failed_condition(phase),
    ];
    with_transition_times(states.into(), input.generation, input.now, input.previous)
}

fn explanation(message: &str) -> String {
    condensed(message, MAX_EXPLANATION)
}

fn running_condition(phase: &Phase, blocks: String) -> ConditionState {
    let (is_true, reason, message) = match phase {
        Phase::Pending { reason, message } => (false, *reason, explanation(message)),
        Phase::Running => (true, Reason::WorkersRunning, blocks),
        Phase::Suspended => (false, Reason::Suspended, blocks),
        Phase::Complete | Phase::Failed { .. } => (false, Reason::Finished, blocks),
    };
    (ConditionType::Running, is_true, reason, message)
}

fn failed_condition(phase: &Phase) -> ConditionState {
    match phase {
        Phase::Failed { reason, message } => (ConditionType::Failed, true, *reason, explanation(message)),
        _ => (ConditionType::Failed, false, Reason::NotFailed, String::new()),
    }
}

fn suspended_condition(phase: &Phase) -> ConditionState {
    match phase {
        Phase::Suspended => (
            ConditionType::Suspended,
            true,
            Reason::SuspendedByUser,
            "measured blocks are retained; set spec.suspend to false to resume".to_owned(),
        ),
        _ => (
            ConditionType::Suspended,
            false,
            Reason::NotSuspended,
            String::new(),
        ),
    }
}

pub(super) fn rejected_conditions(
    message: &str,
    generation: Option<i64>,
    now: &str,
    previous: Option<&BenchmarkRunStatus>,
) -> Vec<Condition> {
    let states = [(ConditionType::Accepted, false), (ConditionType::Failed, true)];
    let states = states.map(|(type_, is_true)| (type_, is_true, Reason::InvalidSpec, explanation(message)));
    with_transition_times(states.into(), generation, now, previous)
}

fn with_transition_times(
    states: Vec<ConditionState>,
    generation: Option<i64>,
    now: &str,
    previous: Option<&BenchmarkRunStatus>,
) -> Vec<Condition> {
    let condition = |(type_, is_true, reason, message): ConditionState| {
        let before = previous.into_iter().flat_map(|status| &status.conditions);
        let mut unchanged = before.filter(|before| before.has_type(type_) && before.is_true() == is_true);
        let since = unchanged.next().map(|before| before.last_transition_time.clone());
        Condition {
            type_: type_.to_string(),
            status: if is_true { "True" } else { "False" }.to_owned(),
            reason: reason.to_string(),
            message: clipped(&message, MAX_TEXT),
            last_transition_time: since.unwrap_or_else(|| now.to_owned()),
            observed_generation: generation,
        }
    };
    states.into_iter().map(condition).collect()
}
