//! Decisions for a finished or deleted run: its pods are deleted, then the run itself. Performs no I/O.

use std::time::Duration;

use crds::names;
use crds::v1alpha1::{AttemptState, AttemptStatus, Reason};
use jiff::Timestamp;

use super::{Inputs, POD_LIST_INTERVAL, earliest};
use crate::run_controller::action::{Action, CleanupBlocked, Decision};
use crate::run_controller::observed::{JobState, PodState};

/// Delay after a deleted pod's grace period before the pod is considered stuck.
const OVERDUE_AFTER: Duration = Duration::from_secs(30);
/// Time for which a Job whose worker 0 has ended may continue after the run has finished, so that it can finish on its
/// own and its pods' logs remain readable.
const JOB_END_TIMEOUT: Duration = Duration::from_secs(60);

/// Decides the next action for a run that is being deleted. Its finalizer is removed after all its pods are gone or
/// abandoned.
pub(super) fn decide_deleting(inputs: &Inputs<'_>) -> Decision {
    let observed = inputs.observed;
    let wait = |until| inputs.decision(Action::Wait { until }, None);
    if let Some(job) = observed.jobs.iter().find(|job| !job.deleting) {
        return inputs.decision(delete(job), None);
    }
    if !observed.finalizer {
        return wait(None);
    }
    let cached: Vec<_> = observed.pods.iter().collect();
    if !remaining_pods(inputs, &cached).is_empty() {
        return wait(next_overdue(inputs, &cached));
    }
    let Some(live) = &observed.live_pods else {
        return inputs.decision(Action::ListPods, None);
    };
    match remaining_pods(inputs, &live.iter().collect::<Vec<_>>()).is_empty() {
        true => inputs.decision(Action::RemoveFinalizer, None),
        false => wait(inputs.time_after(POD_LIST_INTERVAL)),
    }
}

/// Decides the next action for a finished run. Pods that are still running are deleted first, and the run itself after
/// `ttlSecondsAfterFinished`.
pub(super) fn finished(inputs: &Inputs<'_>, finished_at: Timestamp) -> Decision {
    let observed = inputs.observed;
    let mut until = next_overdue(inputs, &observed.pods.iter().collect::<Vec<_>>());
    for job in observed.jobs.iter().filter(|job| !job.deleting) {
        let pods = || observed.pods.iter().filter(|pod| pod.job_uid == job.uid);
        if job.outcome.is_some() && pods().all(|pod| pod.phase.is_finished()) {
            // The Job is not deleted: its pods occupy no resources, and their logs remain readable.
            continue;
        }
        let deadline = finished_at.checked_add(JOB_END_TIMEOUT).ok();
        // An attempt can count as measured before the pod status reports that the container has terminated.
        let measured =
            |attempt: &AttemptStatus| attempt.job_uid == job.uid && attempt.state == AttemptState::Measured;
        let ends_by_itself = observed.persisted.attempts.iter().any(measured)
            || pods().any(|pod| pod.rank == 0 && (pod.terminated.is_some() || pod.phase.is_finished()));
        match deadline.filter(|deadline| ends_by_itself && inputs.now < *deadline) {
            Some(deadline) => until = earliest(until, Some(deadline)),
            None => return inputs.decision(delete(job), None),
        }
    }
    let ttl = inputs.policy.ttl_seconds_after_finished;
    let expires = ttl.and_then(|ttl| finished_at.checked_add(Duration::from_secs(ttl.into())).ok());
    match expires {
        Some(expires) if expires <= inputs.now => inputs.decision(Action::DeleteRun, None),
        expires => inputs.decision(
            Action::Wait {
                until: earliest(until, expires),
            },
            None,
        ),
    }
}

pub(super) fn delete(job: &JobState) -> Action {
    Action::DeleteAttempt {
        attempt: job.attempt,
        job_uid: job.uid.clone(),
    }
}

/// Returns the pods that the run must wait for, which are all pods except abandoned ones.
pub(super) fn remaining_pods<'a>(inputs: &Inputs<'_>, pods: &[&'a PodState]) -> Vec<&'a PodState> {
    let is_abandoned = |pod: &PodState| {
        inputs.observed.release_pods && (is_overdue(pod, inputs.now) || is_foreign(inputs, pod))
    };
    pods.iter().filter(|pod| !is_abandoned(pod)).copied().collect()
}

/// Returns why the pods of the run cannot be cleaned up; `None` if nothing prevents it.
pub(super) fn blocked(inputs: &Inputs<'_>) -> Option<CleanupBlocked> {
    foreign_pod(inputs).or_else(|| stuck_pods(inputs))
}

/// Whether `pod` is controlled by a Job that has the name of one of the run's Jobs but is not one of them. The pod of a
/// Job that was deleted before the attempt was recorded is already being deleted.
fn is_foreign(inputs: &Inputs<'_>, pod: &PodState) -> bool {
    let observed = inputs.observed;
    !pod.is_of_run(&observed.jobs, &observed.persisted.attempts) && pod.deletion_deadline.is_none()
}

/// Returns why a pod that the run cannot delete prevents the deletion of the run.
fn foreign_pod(inputs: &Inputs<'_>) -> Option<CleanupBlocked> {
    let mut pods = inputs.observed.pods.iter().filter(|_| inputs.observed.deleting);
    let pod = pods.find(|pod| is_foreign(inputs, pod))?;
    Some(CleanupBlocked {
        reason: Reason::ForeignPod,
        message: format!(
            "pod {} has the labels of this run, but the Job that controls it (UID {}) is not one of this run's Jobs. Delete \
             that Job and the pod, or set the {} annotation on the run to abandon the pod",
            pod.name,
            pod.job_uid,
            names::ANNOTATION_RELEASE_PODS
        ),
    })
}

/// Returns the message about the pods that are stuck terminating.
fn stuck_pods(inputs: &Inputs<'_>) -> Option<CleanupBlocked> {
    let overdue: Vec<_> = inputs
        .observed
        .pods
        .iter()
        .filter(|pod| is_overdue(pod, inputs.now))
        .collect();
    let pod = *overdue.first()?;
    let others = match overdue.len() - 1 {
        0 => String::new(),
        others => format!(" (and {others} more)"),
    };
    let (place, fix) = match &pod.node {
        Some(node) => (
            format!(" on {node}"),
            "its node is lost or unreachable. Delete the Node object to remove the pod",
        ),
        None => (
            String::new(),
            "it is not on a node, so a finalizer prevents its deletion. Remove the finalizer",
        ),
    };
    Some(CleanupBlocked {
        reason: Reason::NodeLost,
        message: format!(
            "pod {}{place}{others} is stuck terminating: {fix}, or set the {} annotation on the run to abandon the pod",
            pod.name,
            names::ANNOTATION_RELEASE_PODS
        ),
    })
}

/// Returns the time at which the next of `pods` becomes overdue.
pub(super) fn next_overdue(inputs: &Inputs<'_>, pods: &[&PodState]) -> Option<Timestamp> {
    let times = pods.iter().filter_map(|pod| overdue_at(pod));
    times.filter(|time| *time > inputs.now).min()
}

/// Whether a terminating pod is considered stuck.
pub(in crate::run_controller) fn is_overdue(pod: &PodState, now: Timestamp) -> bool {
    overdue_at(pod).is_some_and(|time| time <= now)
}

/// Returns the time from which a terminating pod is considered stuck.
pub(super) fn overdue_at(pod: &PodState) -> Option<Timestamp> {
    pod.deletion_deadline?.checked_add(OVERDUE_AFTER).ok()
}
