//! What is left to do for a run that is over or being deleted: its pods go, then the run. Pure.

use std::time::Duration;

use crds::v1alpha1::{AttemptState, AttemptStatus};
use jiff::Timestamp;

use super::{LIST_AGAIN, Pass, earliest};
use crate::run_controller::action::{Action, Decision};
use crate::run_controller::observed::{JobState, PodState};

/// How long after its time a pod may still be there before its node is taken to be lost.
const OVERDUE: Duration = Duration::from_secs(30);
/// How long a Job whose worker 0 has ended may take to end by itself, so that its pods stay readable.
const JOB_ENDS: Duration = Duration::from_secs(60);

/// The run is being deleted: it goes when no pod of it is left.
pub(super) fn deleting(pass: &Pass<'_>) -> Decision {
    let observed = pass.observed;
    let wait = |until| pass.decision(Action::Wait { until }, None);
    if let Some(job) = observed.jobs.iter().find(|job| !job.deleting) {
        return pass.decision(delete(job), None);
    }
    if !observed.finalizer {
        return wait(None);
    }
    let cached: Vec<_> = observed.pods.iter().collect();
    if !left(pass, &cached).is_empty() {
        return wait(overdue(pass, &cached));
    }
    let Some(listed) = &observed.listed else {
        return pass.decision(Action::ListPods, None);
    };
    match left(pass, &listed.iter().collect::<Vec<_>>()).is_empty() {
        true => pass.decision(Action::RemoveFinalizer, None),
        false => wait(pass.after(LIST_AGAIN)),
    }
}

/// The run is over: pods that run are stopped, and the run itself goes when its time has come.
pub(super) fn finished(pass: &Pass<'_>, finished_at: Timestamp) -> Decision {
    let observed = pass.observed;
    let mut until = overdue(pass, &observed.pods.iter().collect::<Vec<_>>());
    for job in observed.jobs.iter().filter(|job| !job.deleting) {
        let pods = || observed.pods.iter().filter(|pod| pod.attempt == job.attempt);
        if job.end.is_some() && pods().all(|pod| pod.phase.is_over()) {
            // Its pods hold nothing but their logs, which someone may want to read.
            continue;
        }
        let ends = finished_at.checked_add(JOB_ENDS).ok();
        // The stream's end comes before the kubelet's word that its container has ended.
        let measured =
            |attempt: &AttemptStatus| attempt.job_uid == job.uid && attempt.state == AttemptState::Measured;
        let by_itself = observed.kept.attempts.iter().any(measured)
            || pods().any(|pod| pod.rank == 0 && (pod.ended.is_some() || pod.phase.is_over()));
        match ends.filter(|ends| by_itself && pass.now < *ends) {
            Some(ends) => until = earliest(until, Some(ends)),
            None => return pass.decision(delete(job), None),
        }
    }
    let ttl = pass.facts.ttl_seconds_after_finished;
    let expires = ttl.and_then(|ttl| finished_at.checked_add(Duration::from_secs(ttl.into())).ok());
    match expires {
        Some(expires) if expires <= pass.now => pass.decision(Action::DeleteRun, None),
        expires => pass.decision(
            Action::Wait {
                until: earliest(until, expires),
            },
            None,
        ),
    }
}

pub(super) fn delete(job: &JobState) -> Action {
    Action::Delete {
        attempt: job.attempt,
        job_uid: job.uid.clone(),
    }
}

/// The pods that still hold the run up: all, but for those that are given up.
pub(super) fn left<'a>(pass: &Pass<'_>, pods: &[&'a PodState]) -> Vec<&'a PodState> {
    let given_up = |pod: &PodState| pass.observed.release_pods && is_overdue(pass, pod);
    pods.iter().filter(|pod| !given_up(pod)).copied().collect()
}

/// Names the pods that should be gone and are not.
pub(super) fn blocked(pass: &Pass<'_>) -> Option<String> {
    let overdue: Vec<_> = pass
        .observed
        .pods
        .iter()
        .filter(|pod| is_overdue(pass, pod))
        .collect();
    let pod = overdue.first()?;
    let node = pod.node.as_deref().unwrap_or("no node");
    let others = match overdue.len() - 1 {
        0 => String::new(),
        others => format!(" and {others} more"),
    };
    Some(format!(
        "pod {} on {node}{others} should be gone and is not: its node is lost or does not answer. It goes with the Node \
         object; the annotation {} on the run gives it up",
        pod.name,
        crds::names::ANNOTATION_RELEASE_PODS
    ))
}

/// When the first of `pods` is overdue that is not yet.
pub(super) fn overdue(pass: &Pass<'_>, pods: &[&PodState]) -> Option<Timestamp> {
    let times = pods.iter().filter_map(|pod| overdue_at(pod));
    times.filter(|time| *time > pass.now).min()
}

fn is_overdue(pass: &Pass<'_>, pod: &PodState) -> bool {
    overdue_at(pod).is_some_and(|time| time <= pass.now)
}

/// When a pod that is being deleted should long be gone.
pub(super) fn overdue_at(pod: &PodState) -> Option<Timestamp> {
    pod.gone_by?.checked_add(OVERDUE).ok()
}
