//! Execution state transitions: attempts and clocks start and stop. Performs no I/O.

use std::collections::BTreeSet;

use campaign::format::clipped;
use campaign::status::{MAX_TEXT, Phase};
use crds::v1alpha1::{AttemptState, AttemptStatus};
use jiff::Timestamp;

use super::Inputs;
use super::outcome::AttemptOutcome;
use crate::run_controller::execution_state::{ExecutionState, new_attempt};
use crate::run_controller::observed::{JobState, PodState};
use crds::v1alpha1::Reason;

/// Returns the state after an attempt's Job was created.
pub(super) fn started(inputs: &Inputs<'_>, job: &JobState) -> ExecutionState {
    let mut state = inputs.observed.persisted.clone();
    state.start(new_attempt(job.attempt, &job.uid));
    match job.suspended {
        true => state.stop_pending(inputs.now),
        false => state.pending_since = state.pending_since.or(Some(inputs.now)),
    }
    if inputs.policy.queue.is_some() && !job.suspended {
        admit(&mut state, inputs.now);
    }
    state
}

/// Returns the state after the queue has admitted the Job of the attempt in progress. `None` if this is recorded already, or
/// if the run is not queued.
pub(super) fn admitted(inputs: &Inputs<'_>) -> Option<ExecutionState> {
    let current = inputs.observed.persisted.current()?;
    (inputs.policy.queue.is_some() && current.admitted_at.is_none()).then(|| {
        let mut state = inputs.observed.persisted.clone();
        admit(&mut state, inputs.now);
        state
    })
}

fn admit(state: &mut ExecutionState, now: Timestamp) {
    if let Some(current) = state.current_mut() {
        current.admitted_at = Some(now.to_string());
    }
}

/// Returns the state of a run that is waiting for a queue or for other runs. The pending clock is stopped.
pub(super) fn queued(inputs: &Inputs<'_>) -> ExecutionState {
    let mut state = inputs.observed.persisted.clone();
    state.stop_pending(inputs.now);
    state
}

/// Returns the state after all workers of the attempt have started, the last one at `since`.
pub(super) fn running(inputs: &Inputs<'_>, since: Timestamp, coordinator: &PodState) -> ExecutionState {
    let mut state = inputs.observed.persisted.clone();
    let Some(current) = state.current_mut() else {
        return state;
    };
    current.state = AttemptState::Running;
    current.started_at = Some(since.to_string());
    record_coordinator(current, coordinator);
    record_nodes(&mut state, inputs, &coordinator.job_uid);
    state.active_since = Some(since);
    state.pending_since = None;
    state.pending_seconds = 0;
    state.lost_places = 0;
    state.retry_at = None;
    state
}

/// Returns the run's state and phase after the attempt in progress, and possibly the run, has ended.
pub(super) fn ended(inputs: &Inputs<'_>, outcome: &AttemptOutcome, at: Timestamp) -> (ExecutionState, Phase) {
    end(inputs, inputs.observed.persisted.clone(), outcome, at)
}

/// Returns the run's state and phase after the cluster has rejected the prerequisites of `job`. The attempt of `job`,
/// which has not been recorded yet, ends and releases its nodes.
pub(super) fn started_and_rejected(
    inputs: &Inputs<'_>,
    job: &JobState,
    message: &str,
) -> (ExecutionState, Phase) {
    let outcome = AttemptOutcome::Disrupted(Reason::FailedCreate, message.to_owned());
    end(inputs, started(inputs, job), &outcome, inputs.now)
}

fn end(
    inputs: &Inputs<'_>,
    mut state: ExecutionState,
    outcome: &AttemptOutcome,
    at: Timestamp,
) -> (ExecutionState, Phase) {
    let (attempt_state, explanation) = match outcome {
        AttemptOutcome::Measured => (AttemptState::Measured, None),
        AttemptOutcome::Disrupted(reason, message) => (AttemptState::Disrupted, Some((*reason, message))),
        AttemptOutcome::Preempted(message) => (AttemptState::Disrupted, Some((Reason::Preempted, message))),
        AttemptOutcome::PlaceLost(message) => (AttemptState::Disrupted, Some((Reason::PlaceLost, message))),
        AttemptOutcome::Failed(reason, message) => (AttemptState::Failed, Some((*reason, message))),
    };
    let never_ran = state.active_since.is_none();
    close_attempt(&mut state, inputs, attempt_state, explanation, at);
    let retried = attempt_state == AttemptState::Disrupted;
    // If no block has been measured, the next attempt may use other nodes.
    if retried && !inputs.has_measured_blocks() {
        state.nodes.clear();
    }
    let pending = Phase::Pending {
        reason: Reason::PodsTerminating,
        message: "the next attempt starts when the pods of this attempt are gone".to_owned(),
    };
    let final_phase = match outcome {
        AttemptOutcome::Measured if inputs.is_complete() => Some(Phase::Complete),
        AttemptOutcome::Measured => None,
        AttemptOutcome::PlaceLost(_) => {
            state.lose_place(inputs.now);
            None
        }
        AttemptOutcome::Disrupted(reason, message) => {
            if never_ran {
                state.lose_place(inputs.now);
            }
            state.disruptions = state.disruptions.saturating_add(1);
            let limit = inputs.policy.backoff_limit;
            (state.disruptions > limit).then(|| {
                let message = format!(
                    "{} attempts were disrupted, but runPolicy.backoffLimit allows {limit}; the last \
                     disruption: {}: {message}",
                    state.disruptions,
                    reason.as_str()
                );
                failed_phase(Reason::BackoffLimitExceeded, message)
            })
        }
        AttemptOutcome::Preempted(_) => {
            state.preemptions = state.preemptions.saturating_add(1);
            None
        }
        AttemptOutcome::Failed(reason, message) => Some(failed_phase(*reason, message.clone())),
    };
    match final_phase {
        Some(phase) => (mark_finished(state, inputs.now), phase),
        None => (state, pending),
    }
}

/// Returns the state after the user has suspended the run.
pub(super) fn suspended(inputs: &Inputs<'_>) -> ExecutionState {
    suspend(inputs, inputs.observed.persisted.clone())
}

/// Returns the state after the user has suspended the run while the Job of an unrecorded attempt exists.
pub(super) fn started_and_suspended(inputs: &Inputs<'_>, job: &JobState) -> ExecutionState {
    suspend(inputs, started(inputs, job))
}

fn suspend(inputs: &Inputs<'_>, mut state: ExecutionState) -> ExecutionState {
    let message = "spec.suspend is true".to_owned();
    let explanation = Some((Reason::SuspendedByUser, &message));
    close_attempt(
        &mut state,
        inputs,
        AttemptState::Suspended,
        explanation,
        inputs.now,
    );
    state.pending_since = None;
    state.suspended = true;
    state
}

/// Returns the state after the user has resumed the run.
pub(super) fn resumed(inputs: &Inputs<'_>) -> ExecutionState {
    ExecutionState {
        suspended: false,
        pending_since: Some(inputs.now),
        pending_seconds: 0,
        ..inputs.observed.persisted.clone()
    }
}

/// Returns the state and phase of a run that failed for a reason other than an attempt's outcome, such as a deadline.
pub(super) fn abandoned(inputs: &Inputs<'_>, reason: Reason, message: &str) -> (ExecutionState, Phase) {
    let mut state = inputs.observed.persisted.clone();
    let message = message.to_owned();
    let explanation = Some((reason, &message));
    close_attempt(&mut state, inputs, AttemptState::Failed, explanation, inputs.now);
    (mark_finished(state, inputs.now), failed_phase(reason, message))
}

/// Returns `state` as it is after the run has finished at `now`.
pub(super) fn mark_finished(state: ExecutionState, now: Timestamp) -> ExecutionState {
    ExecutionState {
        finished_at: Some(now),
        pending_since: None,
        ..state
    }
}

fn failed_phase(reason: Reason, message: String) -> Phase {
    Phase::Failed { reason, message }
}

/// Ends the attempt in progress, if any, and stops its clock.
fn close_attempt(
    state: &mut ExecutionState,
    inputs: &Inputs<'_>,
    attempt_state: AttemptState,
    explanation: Option<(Reason, &String)>,
    at: Timestamp,
) {
    let active_since = state.active_since.take();
    let Some(current) = state.current_mut() else {
        return;
    };
    let job_uid = current.job_uid.clone();
    // A gang may start and end between two reconciliations, so its start may not be recorded yet.
    let since = active_since.or_else(|| all_started_at(inputs, &job_uid));
    current.state = attempt_state;
    current.started_at = current.started_at.take().or(since.map(|since| since.to_string()));
    current.finished_at = Some(at.to_string());
    current.reason = explanation.map(|(reason, _)| reason.as_str().to_owned());
    current.message = explanation.map(|(_, message)| clipped(message, MAX_TEXT));
    let coordinator = pods_of(inputs, &job_uid).find(|pod| pod.rank == 0);
    if let (None, Some(pod)) = (&current.coordinator_pod_uid, coordinator) {
        record_coordinator(current, pod);
    }
    let active = since.map_or(0, |since| at.as_second().saturating_sub(since.as_second()).max(0));
    state.active_seconds = state.active_seconds.saturating_add(active.unsigned_abs());
    state.stop_pending(inputs.now);
    state.pending_since = Some(inputs.now);
    // If blocks have been measured, the next attempt must run on the same nodes, even if the gang was never observed
    // running.
    if inputs.has_measured_blocks() {
        record_nodes(state, inputs, &job_uid);
    }
}

fn record_coordinator(attempt: &mut AttemptStatus, pod: &PodState) {
    attempt.coordinator_pod_uid = Some(pod.uid.clone());
    attempt.image_digest.clone_from(&pod.image_digest);
}

/// Records the nodes of the Job's pods, if all of them are known and the state does not contain any nodes yet.
fn record_nodes(state: &mut ExecutionState, inputs: &Inputs<'_>, job_uid: &str) {
    let nodes: BTreeSet<_> = pods_of(inputs, job_uid)
        .filter_map(|pod| pod.node.clone())
        .collect();
    if state.nodes.is_empty() && nodes.len() == inputs.policy.workers as usize {
        state.nodes = nodes.into_iter().collect();
    }
}

fn pods_of<'a>(inputs: &Inputs<'a>, job_uid: &str) -> impl Iterator<Item = &'a PodState> {
    let pods = inputs.observed.pods.iter();
    pods.filter(move |pod| pod.job_uid == job_uid)
}

/// Returns the time at which the last worker of the Job started; `None` if some workers have not started.
fn all_started_at(inputs: &Inputs<'_>, job_uid: &str) -> Option<Timestamp> {
    let started: Vec<_> = pods_of(inputs, job_uid)
        .filter_map(|pod| pod.started_at)
        .collect();
    let all = started.len() >= inputs.policy.workers as usize;
    all.then(|| started.into_iter().max()).flatten()
}
