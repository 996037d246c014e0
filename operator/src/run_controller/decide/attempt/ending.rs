//! Whether worker 0 is at its end, and what its stream, its exit and the other pods say of it. Pure.

use std::time::Duration;

use crds::record::{CaseFailure, EndRecord, FailureReason};
use jiff::Timestamp;

use super::super::{cause, cleanup};
use super::{Ended, View};
use crate::run_controller::observed::{PodState, StreamState};
use crds::v1alpha1::Reason;

/// How long after worker 0 the reason may come why another one was lost: a node that does not answer is noticed after
/// 50 s, and its pods are given up a minute later.
const LOSS_KNOWN_AFTER: Duration = Duration::from_secs(180);

/// Whether worker 0 is at its end.
#[derive(Debug)]
pub(super) enum Ending {
    /// It is not, or not started.
    GoesOn,
    /// Its log is not read yet.
    Follow,
    /// It is, and something is on its way.
    Wait {
        /// Until when that is waited for.
        until: Option<Timestamp>,
    },
    /// It is.
    Ended(Ended),
}

pub(super) fn of(view: &View<'_>, coordinator: &PodState) -> Ending {
    let now = view.pass.now;
    let over = coordinator.ended.is_some() || coordinator.phase.is_over();
    if coordinator.started_at.is_none() {
        return match (view.measured, over) {
            (true, _) => Ending::Ended(Ended::Measured),
            (false, true) => Ending::Ended(view.cause().unwrap_or_else(|| {
                let message = format!("pod {} ended before its worker started", coordinator.name);
                Ended::Disrupted(Reason::KubeletRejected, message)
            })),
            (false, false) => Ending::GoesOn,
        };
    }
    let observed = view.pass.observed.stream.as_ref();
    let Some(stream) = observed.filter(|stream| stream.pod_uid == coordinator.uid) else {
        return Ending::Follow;
    };
    if view.measured && (stream.closed || stream.end.is_some()) {
        return Ending::Ended(Ended::Measured);
    }
    if stream.closed {
        return closed(view, coordinator, stream);
    }
    match cleanup::overdue_at(coordinator) {
        Some(overdue) if overdue <= now => Ending::Ended(view.cause().unwrap_or_else(|| {
            let message = format!("pod {} does not go: its node is lost", coordinator.name);
            Ended::Disrupted(Reason::NodeLost, message)
        })),
        Some(overdue) => Ending::Wait { until: Some(overdue) },
        None if over => Ending::Wait { until: None },
        None => Ending::GoesOn,
    }
}

/// Nothing more will come, and blocks are missing.
fn closed(view: &View<'_>, coordinator: &PodState, stream: &StreamState) -> Ending {
    let name = &coordinator.name;
    let broken = |message: String| {
        let disruption = view.cause().filter(|how| matches!(how, Ended::Disrupted(..)));
        disruption.unwrap_or(Ended::Disrupted(Reason::InvalidRecordStream, message))
    };
    let fault = stream
        .fault
        .as_ref()
        .map(|fault| format!("the record stream of pod {name}: {fault}"));
    let how = match (fault, &stream.end) {
        (fault, None) => without_end(view, coordinator, fault),
        (Some(fault), Some(_)) => broken(fault),
        (None, Some(end)) if told(coordinator).is_some_and(|told| !agree(&told, end)) => broken(format!(
            "the log of pod {name} ends otherwise than its termination message says"
        )),
        (None, Some(end)) if end.complete => broken(format!(
            "pod {name} says it measured {} blocks, and not all of them are proven",
            end.blocks
        )),
        (None, Some(end)) => match &end.failure {
            Some(failure) => return failed(view, coordinator, failure),
            None => Ended::Failed(
                Reason::BlocksMissing,
                format!("the workers ended after {} blocks without saying why", end.blocks),
            ),
        },
    };
    Ending::Ended(how)
}

/// The stream stops before its end record, by `fault` where one was seen.
fn without_end(view: &View<'_>, coordinator: &PodState, fault: Option<String>) -> Ended {
    if let Some(how) = view.cause() {
        return how;
    }
    let name = &coordinator.name;
    let lost = || format!("the log of pod {name} lacks its end: the node rotated it or lost it");
    let broken =
        |fault: Option<String>| Ended::Disrupted(Reason::InvalidRecordStream, fault.unwrap_or_else(lost));
    let Some(end) = &coordinator.ended else {
        return broken(fault);
    };
    // A worker that came so far as to tell the kubelet is not to blame.
    if told(coordinator).is_some() || end.exit_code == 0 {
        return broken(fault);
    }
    Ended::Failed(Reason::WorkerFailed, format!("pod {name}: {}", cause::how(end)))
}

/// The end record as the kubelet keeps it, beside the log.
fn told(coordinator: &PodState) -> Option<EndRecord> {
    serde_json::from_str(&coordinator.ended.as_ref()?.message).ok()
}

/// Whether both are of one end. The message of a failure may be cut in one of them.
fn agree(one: &EndRecord, other: &EndRecord) -> bool {
    let reason = |end: &EndRecord| end.failure.as_ref().map(|failure| failure.reason);
    (one.blocks, one.complete, reason(one)) == (other.blocks, other.complete, reason(other))
}

/// The workers say why they could not go on.
fn failed(view: &View<'_>, coordinator: &PodState, failure: &CaseFailure) -> Ending {
    use FailureReason::{Interrupted, PeerLost, WorkerMissing};
    let words = format!("{:?}: {}", failure.reason, failure.message);
    if let Some(how) = view.cause() {
        return Ending::Ended(how);
    }
    let ended = match failure.reason {
        Interrupted => Ended::Disrupted(Reason::WorkerKilled, words),
        PeerLost | WorkerMissing => {
            if let Some(until) = may_still_be_known(view, coordinator) {
                return Ending::Wait { until: Some(until) };
            }
            match view.ran || failure.reason == PeerLost {
                true => Ended::Failed(Reason::MeasurementFailed, words),
                false => Ended::Disrupted(Reason::GangIncomplete, words),
            }
        }
        _ => Ended::Failed(Reason::MeasurementFailed, words),
    };
    Ending::Ended(ended)
}

/// Until when the reason of a loss may still come; `None` where it would be there.
fn may_still_be_known(view: &View<'_>, coordinator: &PodState) -> Option<Timestamp> {
    let ended = coordinator.ended.as_ref()?.at?;
    let until = ended.checked_add(LOSS_KNOWN_AFTER).ok()?;
    let unsettled = view
        .pods
        .iter()
        .any(|pod| !pod.phase.is_over() && pod.ended.is_none());
    (unsettled && view.pass.now < until).then_some(until)
}
