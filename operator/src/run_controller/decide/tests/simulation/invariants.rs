//! Invariants that must hold for every decision, every state and the final state.

use crds::v1alpha1::Reason;
use std::collections::BTreeSet;

use campaign::status::Phase;

use super::cluster::Cluster;
use crate::run_controller::action::{Action, Decision};
use crate::run_controller::attempt_id::AttemptId;
use crate::run_controller::execution_state::MAX_ATTEMPTS;

/// Checks a decision before it is executed.
pub(super) fn check_decision(cluster: &Cluster, decision: &Decision) {
    let persisted = &cluster.persisted;
    match &decision.action {
        Action::CreateJob { attempt, .. } => {
            let known = persisted
                .attempts
                .iter()
                .any(|known| (known.leg, known.attempt) == (attempt.leg, attempt.attempt));
            assert!(!known, "{attempt:?} is created twice");
            assert!(persisted.current().is_none(), "two attempts in progress");
            assert!(persisted.finished_at.is_none() && !cluster.deleting && !cluster.suspend);
            let earlier = cluster.pods.iter().filter(|pod| pod.attempt != *attempt);
            assert_eq!(earlier.count(), 0, "pods of another attempt exist");
            assert!(
                !cluster.missing(attempt.leg).is_empty(),
                "the leg has no missing blocks"
            );
        }
        Action::DeleteAttempt { attempt, job_uid } => {
            let belongs_to_run = cluster
                .created
                .iter()
                .any(|(id, uid)| (id, uid) == (attempt, job_uid));
            assert!(belongs_to_run, "the Job does not belong to the run");
            let in_progress = persisted
                .current()
                .is_some_and(|current| current.job_uid == *job_uid);
            assert!(!in_progress || cluster.deleting, "the attempt is in progress");
        }
        Action::RemoveFinalizer => assert!(cluster.deleting && cluster.pods.is_empty()),
        Action::DeleteRun => {
            let ttl = cluster.policy.ttl_seconds_after_finished.unwrap();
            let finished = persisted.finished_at.unwrap().as_second();
            assert!(cluster.now >= finished + i64::from(ttl));
        }
        Action::RecordProgress(new) => {
            assert_ne!(**new, *persisted, "the write does not change the state");
            if let Some(current) = new.current() {
                let id = AttemptId {
                    leg: current.leg,
                    attempt: current.attempt,
                };
                assert!(cluster.prerequisites.contains(&id), "the pods would wait forever");
            }
            assert!(new.attempts.len() <= MAX_ATTEMPTS);
            assert!(persisted.finished_at.is_none(), "a finished run changes");
            assert!(
                new.active_seconds >= persisted.active_seconds,
                "the active time decreases"
            );
            let complete = decision.phase == Some(Phase::Complete);
            assert!(!complete || is_measured(cluster), "complete with missing blocks");
            assert!(!complete || new.finished_at.is_some());
        }
        _ => {}
    }
}

pub(super) fn check_state(cluster: &Cluster) {
    let uids: BTreeSet<_> = cluster
        .persisted
        .attempts
        .iter()
        .map(|attempt| &attempt.job_uid)
        .collect();
    assert_eq!(
        uids.len(),
        cluster.persisted.attempts.len(),
        "two entries for one Job"
    );
    let ids: BTreeSet<_> = cluster
        .persisted
        .attempts
        .iter()
        .map(|attempt| (attempt.leg, attempt.attempt))
        .collect();
    assert_eq!(
        ids.len(),
        cluster.persisted.attempts.len(),
        "two entries for one attempt"
    );
    let earlier = cluster.persisted.attempts.iter().rev().skip(1);
    assert!(
        earlier.clone().all(|attempt| attempt.finished_at.is_some()),
        "an earlier attempt is in progress"
    );
}

pub(super) fn check_final_state(cluster: &Cluster) {
    check_state(cluster);
    match &cluster.phase {
        _ if cluster.run_gone => assert!(cluster.deleting),
        Some(Phase::Complete) => assert!(is_measured(cluster)),
        Some(Phase::Failed { reason, message }) => {
            assert!(!message.is_empty());
            let persisted = &cluster.persisted;
            let is_allowed = persisted.disruptions > cluster.policy.backoff_limit
                || *reason != Reason::BackoffLimitExceeded;
            assert!(is_allowed, "{reason}: {message}");
        }
        other => panic!("not a final phase: {other:?}"),
    }
}

fn is_measured(cluster: &Cluster) -> bool {
    let legs = cluster.policy.legs.as_ref().unwrap().len() as u32;
    (0..legs).all(|leg| cluster.missing(leg).is_empty())
}
