//! How what the status remembers changes: attempts begin and end, clocks run and stand still. Pure.

use std::collections::BTreeSet;

use crds::v1alpha1::{AttemptState, AttemptStatus};
use jiff::Timestamp;

use super::Pass;
use super::attempt::Ended;
use crate::campaign::figures::clipped;
use crate::campaign::status::{MAX_TEXT, Phase};
use crate::run_controller::kept::{Kept, id, starting};
use crate::run_controller::observed::{AttemptId, JobState, PodState};
use crds::v1alpha1::Reason;

/// The Job of an attempt was seen.
pub(super) fn begun(pass: &Pass<'_>, job: &JobState) -> Kept {
    let mut kept = pass.observed.kept.clone();
    kept.begin(starting(job.attempt, &job.uid));
    kept.pending_since = match job.suspended {
        true => None,
        false => kept.pending_since.or(Some(pass.now)),
    };
    kept
}

/// The run waits for its turn: its clock stands still.
pub(super) fn in_line(pass: &Pass<'_>) -> Kept {
    Kept {
        pending_since: None,
        ..pass.observed.kept.clone()
    }
}

/// All workers of the attempt run, `since` then.
pub(super) fn running(pass: &Pass<'_>, since: Timestamp, coordinator: &PodState) -> Kept {
    let mut kept = pass.observed.kept.clone();
    let Some(current) = kept.current_mut() else {
        return kept;
    };
    current.state = AttemptState::Running;
    current.started_at = Some(since.to_string());
    remember_coordinator(current, coordinator);
    remember_nodes(&mut kept, pass, coordinator.attempt);
    kept.active_since = Some(since);
    kept.pending_since = None;
    kept
}

/// The attempt that was going on is over, `at` then; the run may be, too. What the run is doing stands beside it.
pub(super) fn ended(pass: &Pass<'_>, how: &Ended, at: Timestamp) -> (Kept, Phase) {
    end(pass, pass.observed.kept.clone(), how, at)
}

/// The cluster refuses what the pods of `job` need, which no attempt names yet: it does not keep its place.
pub(super) fn begun_and_refused(pass: &Pass<'_>, job: &JobState, message: &str) -> (Kept, Phase) {
    let how = Ended::Disrupted(Reason::FailedCreate, message.to_owned());
    end(pass, begun(pass, job), &how, pass.now)
}

fn end(pass: &Pass<'_>, mut kept: Kept, how: &Ended, at: Timestamp) -> (Kept, Phase) {
    let (state, told) = match how {
        Ended::Measured => (AttemptState::Measured, None),
        Ended::Disrupted(reason, message) => (AttemptState::Disrupted, Some((*reason, message))),
        Ended::Failed(reason, message) => (AttemptState::Failed, Some((*reason, message))),
    };
    close(&mut kept, pass, state, told, at);
    let going_on = Phase::Pending {
        reason: Reason::PodsTerminating,
        message: "the next attempt follows when the pods of this one are gone".to_owned(),
    };
    let phase = match how {
        Ended::Measured if pass.is_complete() => Some(Phase::Complete),
        Ended::Measured => None,
        Ended::Disrupted(reason, message) => {
            kept.disruptions = kept.disruptions.saturating_add(1);
            // Nothing was measured that has to be continued on the same nodes.
            if !pass.anything_measured() {
                kept.nodes.clear();
            }
            let limit = pass.facts.backoff_limit;
            (kept.disruptions > limit).then(|| {
                let message = format!(
                    "{} attempts were disrupted and runPolicy.backoffLimit allows {limit}; the last: {}: {message}",
                    kept.disruptions,
                    reason.as_str()
                );
                failed(Reason::BackoffLimitExceeded, message)
            })
        }
        Ended::Failed(reason, message) => Some(failed(*reason, message.clone())),
    };
    match phase {
        Some(phase) => (finished(kept, pass.now), phase),
        None => (kept, going_on),
    }
}

/// The user suspends the run.
pub(super) fn suspended(pass: &Pass<'_>) -> Kept {
    suspend(pass, pass.observed.kept.clone())
}

/// The same where the Job of an attempt was just seen.
pub(super) fn begun_and_suspended(pass: &Pass<'_>, job: &JobState) -> Kept {
    suspend(pass, begun(pass, job))
}

fn suspend(pass: &Pass<'_>, mut kept: Kept) -> Kept {
    let message = "spec.suspend is true".to_owned();
    let told = Some((Reason::SuspendedByUser, &message));
    close(&mut kept, pass, AttemptState::Suspended, told, pass.now);
    kept.pending_since = None;
    kept.suspended = true;
    kept
}

/// The user lets the run go on.
pub(super) fn resumed(pass: &Pass<'_>) -> Kept {
    Kept {
        suspended: false,
        pending_since: Some(pass.now),
        ..pass.observed.kept.clone()
    }
}

/// The run is over, by one of its deadlines or for something that is not an attempt's.
pub(super) fn given_up(pass: &Pass<'_>, reason: Reason, message: &str) -> (Kept, Phase) {
    let mut kept = pass.observed.kept.clone();
    let message = message.to_owned();
    close(
        &mut kept,
        pass,
        AttemptState::Failed,
        Some((reason, &message)),
        pass.now,
    );
    (finished(kept, pass.now), failed(reason, message))
}

pub(super) fn finished(kept: Kept, now: Timestamp) -> Kept {
    Kept {
        finished_at: Some(now),
        pending_since: None,
        ..kept
    }
}

pub(super) fn failed(reason: Reason, message: String) -> Phase {
    Phase::Failed { reason, message }
}

/// Ends the attempt that is going on, where one is, and stops its clock.
fn close(
    kept: &mut Kept,
    pass: &Pass<'_>,
    state: AttemptState,
    told: Option<(Reason, &String)>,
    at: Timestamp,
) {
    let since = kept.active_since.take();
    let Some(current) = kept.current_mut() else {
        return;
    };
    let attempt = id(current);
    // A gang that ran and ended between two looks ran all the same.
    let since = since.or_else(|| started(pass, attempt));
    current.state = state;
    current.started_at = current.started_at.take().or(since.map(|since| since.to_string()));
    current.finished_at = Some(at.to_string());
    current.reason = told.map(|(reason, _)| reason.as_str().to_owned());
    current.message = told.map(|(_, message)| clipped(message, MAX_TEXT));
    let coordinator = pods_of(pass, attempt).find(|pod| pod.rank == 0);
    if let (None, Some(pod)) = (&current.coordinator_pod_uid, coordinator) {
        remember_coordinator(current, pod);
    }
    let ran = since.map_or(0, |since| at.as_second().saturating_sub(since.as_second()).max(0));
    kept.active_seconds = kept.active_seconds.saturating_add(ran.unsigned_abs());
    kept.pending_since = Some(pass.now);
    // Also what was measured while nobody looked must be continued on the same nodes.
    if pass.anything_measured() {
        remember_nodes(kept, pass, attempt);
    }
}

fn remember_coordinator(attempt: &mut AttemptStatus, pod: &PodState) {
    attempt.coordinator_pod_uid = Some(pod.uid.clone());
    attempt.image_digest.clone_from(&pod.image_digest);
}

/// The nodes of `attempt`, where all are known and none were remembered.
fn remember_nodes(kept: &mut Kept, pass: &Pass<'_>, attempt: AttemptId) {
    let nodes: BTreeSet<_> = pods_of(pass, attempt)
        .filter_map(|pod| pod.node.clone())
        .collect();
    if kept.nodes.is_empty() && nodes.len() == pass.facts.workers as usize {
        kept.nodes = nodes.into_iter().collect();
    }
}

fn pods_of<'a>(pass: &Pass<'a>, attempt: AttemptId) -> impl Iterator<Item = &'a PodState> {
    let pods = pass.observed.pods.iter();
    pods.filter(move |pod| pod.attempt == attempt)
}

fn started(pass: &Pass<'_>, attempt: AttemptId) -> Option<Timestamp> {
    let started: Vec<_> = pods_of(pass, attempt).filter_map(|pod| pod.started_at).collect();
    let all = started.len() >= pass.facts.workers as usize;
    all.then(|| started.into_iter().max()).flatten()
}
