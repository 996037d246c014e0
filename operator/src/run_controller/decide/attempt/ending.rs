//! Determines whether worker 0 has ended, from its record stream, its termination status and the other pods. Performs
//! no I/O.

use std::time::Duration;

use crds::record::{CaseFailure, EndRecord, FailureReason};
use jiff::Timestamp;

use super::super::outcome::AttemptOutcome;
use super::super::{cleanup, pod_failure};
use super::AttemptView;
use crate::run_controller::observed::{PodState, StreamState};
use crds::v1alpha1::Reason;

/// Time that the controller waits after worker 0 has ended to learn why another worker was lost. An unreachable node is
/// detected after 50 s, and its pods are deleted a minute later.
const LOSS_DETECTION_TIMEOUT: Duration = Duration::from_secs(180);

/// Assessment of whether and how worker 0 ended.
#[derive(Debug)]
pub(super) enum Ending {
    /// Worker 0 has not started or is still running.
    InProgress,
    /// Worker 0's log must be followed.
    Follow,
    /// Worker 0 has ended or its pod is being deleted, and the controller is waiting for further information.
    Wait {
        /// Time at which the wait ends.
        until: Option<Timestamp>,
    },
    /// Worker 0 has ended.
    Ended(AttemptOutcome),
}

/// Assesses whether and how worker 0 ended. Its pod is `coordinator`.
pub(super) fn assess(view: &AttemptView<'_>, coordinator: &PodState) -> Ending {
    let now = view.inputs.now;
    let ended = coordinator.terminated.is_some() || coordinator.phase.is_finished();
    if coordinator.started_at.is_none() {
        return match (view.measured, ended) {
            (true, _) => Ending::Ended(AttemptOutcome::Measured),
            (false, true) => Ending::Ended(view.failure().unwrap_or_else(|| {
                let message = format!("pod {} terminated before its worker started", coordinator.name);
                AttemptOutcome::Disrupted(Reason::KubeletRejected, message)
            })),
            (false, false) => Ending::InProgress,
        };
    }
    let stream = view.inputs.observed.stream.as_ref();
    let Some(stream) = stream.filter(|stream| stream.pod_uid == coordinator.uid) else {
        return Ending::Follow;
    };
    if view.measured && (stream.closed || stream.end.is_some()) {
        return Ending::Ended(AttemptOutcome::Measured);
    }
    if stream.closed {
        return assess_closed(view, coordinator, stream);
    }
    match cleanup::overdue_at(coordinator) {
        Some(overdue) if overdue <= now => Ending::Ended(view.failure().unwrap_or_else(|| {
            let message = format!("pod {} is stuck terminating: its node is lost", coordinator.name);
            AttemptOutcome::Disrupted(Reason::NodeLost, message)
        })),
        Some(overdue) => Ending::Wait { until: Some(overdue) },
        None if ended => Ending::Wait { until: None },
        None => Ending::InProgress,
    }
}

/// Assesses how worker 0 ended, after its stream was closed with blocks missing.
fn assess_closed(view: &AttemptView<'_>, coordinator: &PodState, stream: &StreamState) -> Ending {
    let name = &coordinator.name;
    let broken = |message: String| {
        let disruption = view
            .failure()
            .filter(|outcome| matches!(outcome, AttemptOutcome::Disrupted(..)));
        disruption.unwrap_or(AttemptOutcome::Disrupted(Reason::InvalidRecordStream, message))
    };
    let fault = stream
        .fault
        .as_ref()
        .map(|fault| format!("the record stream of pod {name}: {fault}"));
    let outcome = match (fault, &stream.end) {
        (fault, None) => outcome_without_end_record(view, coordinator, fault),
        (Some(fault), Some(_)) => broken(fault),
        (None, Some(end)) if termination_record(coordinator).is_some_and(|other| !agree(&other, end)) => {
            broken(format!(
                "the end record in the log of pod {name} differs from its termination message"
            ))
        }
        (None, Some(end)) if end.complete => broken(format!(
            "pod {name} reports {} measured blocks, but not all of them could be verified",
            end.blocks
        )),
        (None, Some(end)) => match &end.failure {
            Some(failure) => return assess_failure(view, coordinator, failure),
            None => AttemptOutcome::Failed(
                Reason::BlocksMissing,
                format!(
                    "the workers ended after {} blocks without reporting a failure",
                    end.blocks
                ),
            ),
        },
    };
    Ending::Ended(outcome)
}

/// Returns the outcome of an attempt whose stream stops before its end record. `fault` is the reason, if known.
fn outcome_without_end_record(
    view: &AttemptView<'_>,
    coordinator: &PodState,
    fault: Option<String>,
) -> AttemptOutcome {
    if let Some(outcome) = view.failure() {
        return outcome;
    }
    let name = &coordinator.name;
    let truncated = || format!("the log of pod {name} has no end record: the node rotated or lost the log");
    let broken = |fault: Option<String>| {
        AttemptOutcome::Disrupted(Reason::InvalidRecordStream, fault.unwrap_or_else(truncated))
    };
    let Some(terminated) = &coordinator.terminated else {
        return broken(fault);
    };
    // A worker that succeeded or wrote its termination message has also written its end record, so the log is
    // incomplete.
    if termination_record(coordinator).is_some() || terminated.exit_code == 0 {
        return broken(fault);
    }
    AttemptOutcome::Failed(
        Reason::WorkerFailed,
        format!("pod {name}: {}", pod_failure::describe_termination(terminated)),
    )
}

/// Returns the end record in the termination message.
fn termination_record(coordinator: &PodState) -> Option<EndRecord> {
    serde_json::from_str(&coordinator.terminated.as_ref()?.message).ok()
}

/// Whether both records describe the same end. Failure messages are not compared, because they may be truncated
/// differently.
fn agree(first: &EndRecord, second: &EndRecord) -> bool {
    let reason = |end: &EndRecord| end.failure.as_ref().map(|failure| failure.reason);
    (first.blocks, first.complete, reason(first)) == (second.blocks, second.complete, reason(second))
}

/// Assesses how worker 0 ended, after the workers have reported a failure.
fn assess_failure(view: &AttemptView<'_>, coordinator: &PodState, failure: &CaseFailure) -> Ending {
    use FailureReason::{Interrupted, PeerLost, WorkerMissing};
    let message = format!("{:?}: {}", failure.reason, failure.message);
    if let Some(outcome) = view.failure() {
        return Ending::Ended(outcome);
    }
    let outcome = match failure.reason {
        Interrupted => AttemptOutcome::Disrupted(Reason::WorkerKilled, message),
        PeerLost | WorkerMissing => {
            // The wait starts when the pod status reports the termination, which can be after the end record arrives.
            if coordinator.terminated.is_none() && !coordinator.phase.is_finished() {
                return Ending::Wait { until: None };
            }
            if let Some(until) = loss_detection_deadline(view, coordinator) {
                return Ending::Wait { until: Some(until) };
            }
            match view.ran || failure.reason == PeerLost {
                true => AttemptOutcome::Failed(Reason::MeasurementFailed, message),
                false => AttemptOutcome::Disrupted(Reason::GangIncomplete, message),
            }
        }
        _ => AttemptOutcome::Failed(Reason::MeasurementFailed, message),
    };
    Ending::Ended(outcome)
}

/// Returns the deadline for learning why another worker was lost; `None` if the deadline has passed or if no pod is
/// left whose loss could still be detected.
fn loss_detection_deadline(view: &AttemptView<'_>, coordinator: &PodState) -> Option<Timestamp> {
    let ended_at = coordinator.terminated.as_ref()?.at?;
    let until = ended_at.checked_add(LOSS_DETECTION_TIMEOUT).ok()?;
    let undetermined = view
        .pods
        .iter()
        .any(|pod| !pod.phase.is_finished() && pod.terminated.is_none());
    (undetermined && view.inputs.now < until).then_some(until)
}
