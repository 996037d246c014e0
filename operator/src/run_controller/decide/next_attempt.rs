//! Decisions while no attempt is in progress: start the next attempt, or wait. Performs no I/O.

use std::time::Duration;

use campaign::status::Phase;
use jiff::Timestamp;

use super::waiting::Waiting;
use super::{Inputs, POD_LIST_INTERVAL, cleanup, earliest, transitions};
use crate::run_controller::action::{Action, Decision};
use crate::run_controller::attempt_id::AttemptId;
use crate::run_controller::observed::{JobState, PodState, Preflight};
use crds::v1alpha1::Reason;

/// Decides the next action for a run without an attempt in progress. `leg` is its first leg with missing blocks.
pub(super) fn start(inputs: &Inputs<'_>, leg: u32) -> Decision {
    let observed = inputs.observed;
    let persisted = &observed.persisted;
    if let Some(job) = observed.jobs.iter().find(|job| !job.deleting) {
        return inputs.decision(cleanup::delete(job), None);
    }
    if observed.suspend {
        return decide_suspended(inputs);
    }
    if persisted.suspended {
        let phase = Phase::Pending {
            reason: Reason::PodsStarting,
            message: "resumed; continuing with the missing blocks".to_owned(),
        };
        return inputs.record_progress(transitions::resumed(inputs), phase);
    }
    if let Some(abandoned) = permanently_rejected(inputs) {
        return abandoned;
    }
    match first_blocker(inputs) {
        Blocker::Waiting(waiting) => wait(inputs, &waiting),
        Blocker::Unknown => inputs.decision(Action::ListPods, None),
        Blocker::None => {
            let attempt = AttemptId {
                leg,
                attempt: persisted.last_attempt(leg).saturating_add(1),
            };
            let nodes = persisted.nodes.clone();
            inputs.decision(Action::CreateJob { attempt, nodes }, None)
        }
    }
}

/// Decides the next action for a run whose next attempt has a Job but no prerequisites.
pub(super) fn create_prerequisites(inputs: &Inputs<'_>, job: &JobState) -> Decision {
    if let Some(abandoned) = permanently_rejected(inputs) {
        return abandoned;
    }
    match &inputs.observed.creation_rejected {
        Some(rejected) if job.suspended => wait(inputs, &Waiting::for_rejected_creation(rejected)),
        Some(rejected) => {
            let (state, phase) = transitions::started_and_rejected(inputs, job, &rejected.message);
            inputs.record_progress(state, phase)
        }
        None => {
            let create = Action::CreatePrerequisites {
                attempt: job.attempt,
                nodes: inputs.observed.persisted.nodes.clone(),
            };
            inputs.decision(create, None)
        }
    }
}

fn permanently_rejected(inputs: &Inputs<'_>) -> Option<Decision> {
    let rejected = inputs.observed.creation_rejected.as_ref();
    let rejected = rejected.filter(|rejected| rejected.permanent)?;
    let (state, phase) = transitions::abandoned(inputs, rejected.reason, &rejected.message);
    Some(inputs.record_progress(state, phase))
}

/// Condition that prevents the next attempt.
enum Blocker {
    None,
    /// An uncached list of the pods is needed to determine whether anything prevents the next attempt.
    Unknown,
    Waiting(Waiting),
}

/// Returns the first condition that prevents the next attempt.
fn first_blocker(inputs: &Inputs<'_>) -> Blocker {
    let observed = inputs.observed;
    let pods: Vec<&PodState> = observed.pods.iter().collect();
    let pods = cleanup::remaining_pods(inputs, &pods);
    let terminating = |message: String, until| {
        Blocker::Waiting(Waiting {
            until,
            ..Waiting::new(Reason::PodsTerminating, message)
        })
    };
    if let Some(pod) = pods.first() {
        let until = cleanup::next_overdue(inputs, &pods);
        let message = format!(
            "waiting for {} of the previous attempt to terminate (first: {})",
            pod_count(pods.len()),
            pod.name
        );
        return terminating(message, until);
    }
    if !observed.jobs.is_empty() {
        let message = "waiting for the deletion of the previous attempt's Job";
        return terminating(message.to_owned(), None);
    }
    if observed.stream.as_ref().is_some_and(|stream| !stream.closed) {
        let message = "reading the rest of the previous attempt's log";
        return terminating(message.to_owned(), None);
    }
    if let Some(rejected) = &observed.creation_rejected {
        return Blocker::Waiting(Waiting::for_rejected_creation(rejected));
    }
    if let Preflight::Rejected(message) = &observed.preflight {
        return Blocker::Waiting(Waiting::new(Reason::InsufficientNodes, message.clone()));
    }
    if let Some(until) = observed.persisted.delayed_until(inputs.now) {
        return Blocker::Waiting(Waiting::after_lost_places(observed.persisted.lost_places, until));
    }
    if let Some(cause) = &inputs.reservation.blocked_by {
        return Blocker::Waiting(Waiting {
            until: inputs.reservation.until,
            ..Waiting::new(Reason::WaitingForNodes, cause.clone())
        });
    }
    // Only a run with earlier attempts can have pods. An uncached list is needed, because the absence of pods from the
    // cache does not prove that they are gone.
    match &observed.live_pods {
        _ if observed.persisted.attempts.is_empty() => Blocker::None,
        None => Blocker::Unknown,
        Some(live) => {
            let live: Vec<_> = live.iter().collect();
            match cleanup::remaining_pods(inputs, &live).len() {
                0 => Blocker::None,
                count => terminating(
                    format!(
                        "waiting for {} of the previous attempt to terminate",
                        pod_count(count)
                    ),
                    inputs.time_after(POD_LIST_INTERVAL),
                ),
            }
        }
    }
}

/// Formats a pod count, such as `2 pods`.
fn pod_count(count: usize) -> String {
    match count {
        1 => "1 pod".to_owned(),
        _ => format!("{count} pods"),
    }
}

fn decide_suspended(inputs: &Inputs<'_>) -> Decision {
    if !inputs.observed.persisted.suspended {
        return inputs.record_progress(transitions::suspended(inputs), Phase::Suspended);
    }
    let pods: Vec<_> = inputs.observed.pods.iter().collect();
    let until = cleanup::next_overdue(inputs, &pods);
    inputs.decision(Action::Wait { until }, Some(Phase::Suspended))
}

/// Decides to wait. Enforces `pendingDeadlineSeconds`, which excludes the time that the run spends waiting for a queue
/// or for other runs. The wait for a queue that has withdrawn its admission is not excluded.
pub(super) fn wait(inputs: &Inputs<'_>, waiting: &Waiting) -> Decision {
    if waiting.reason != Reason::WaitingForAdmission
        && let Some(mut state) = transitions::admitted(inputs)
    {
        if !waiting.is_queued() {
            state.pending_since.get_or_insert(inputs.now);
        }
        return inputs.record_progress(state, waiting.phase());
    }
    if waiting.is_queued() {
        return match inputs.observed.persisted.pending_since {
            Some(_) => inputs.record_progress(transitions::queued(inputs), waiting.phase()),
            None => inputs.decision(Action::Wait { until: waiting.until }, Some(waiting.phase())),
        };
    }
    let Some(since) = inputs.observed.persisted.pending_since else {
        // The start time is written to the status, so that the deadline is unaffected by a restart.
        let mut state = inputs.observed.persisted.clone();
        state.pending_since = Some(inputs.now);
        return inputs.record_progress(state, waiting.phase());
    };
    let limit = inputs.policy.pending_deadline_seconds;
    let remaining = u64::from(limit).saturating_sub(inputs.observed.persisted.pending_seconds);
    let deadline: Option<Timestamp> = since.checked_add(Duration::from_secs(remaining)).ok();
    if deadline.is_some_and(|deadline| deadline <= inputs.now) {
        let message = format!(
            "no gang started within {limit} s (runPolicy.pendingDeadlineSeconds): {}: {}",
            waiting.reason.as_str(),
            waiting.message
        );
        let (state, phase) = transitions::abandoned(inputs, Reason::PendingDeadlineExceeded, &message);
        return inputs.record_progress(state, phase);
    }
    let until = earliest(waiting.until, deadline);
    inputs.decision(Action::Wait { until }, Some(waiting.phase()))
}
