//! What must never happen, and what must be true in the end.

use std::collections::BTreeSet;

use crds::v1alpha1::Reason;

use super::super::super::action::{Action, Decision};
use super::super::super::kept::{MAX_ATTEMPTS, id};
use super::cluster::Cluster;
use crate::campaign::status::Phase;

/// Checks what is about to be done.
pub(super) fn decision(cluster: &Cluster, decision: &Decision) {
    let kept = &cluster.kept;
    match &decision.action {
        Action::Create { attempt, .. } => {
            let known = kept
                .attempts
                .iter()
                .any(|known| (known.leg, known.attempt) == (attempt.leg, attempt.attempt));
            assert!(!known, "{attempt:?} is created twice");
            assert!(kept.current().is_none(), "two attempts at once");
            assert!(kept.finished_at.is_none() && !cluster.deleting && !cluster.suspend);
            let earlier = cluster.pods.iter().filter(|pod| pod.attempt != *attempt);
            assert_eq!(earlier.count(), 0, "pods of another attempt are still there");
            assert!(
                !cluster.missing(attempt.leg).is_empty(),
                "everything of the leg is measured"
            );
        }
        Action::Delete { attempt, job_uid } => {
            let own = cluster
                .created
                .iter()
                .any(|(id, uid)| (id, uid) == (attempt, job_uid));
            assert!(own, "a Job that is not the run's");
            let going_on = kept.current().is_some_and(|current| current.job_uid == *job_uid);
            assert!(!going_on || cluster.deleting, "an attempt that is going on");
        }
        Action::RemoveFinalizer => assert!(cluster.deleting && cluster.pods.is_empty()),
        Action::DeleteRun => {
            let ttl = cluster.facts.ttl_seconds_after_finished.unwrap();
            let finished = kept.finished_at.unwrap().as_second();
            assert!(cluster.now >= finished + i64::from(ttl));
        }
        Action::Keep(new) => {
            assert_ne!(**new, *kept, "nothing is written that is there");
            if let Some(current) = new.current() {
                assert!(cluster.prepared.contains(&id(current)), "its pods wait for ever");
            }
            assert!(new.attempts.len() <= MAX_ATTEMPTS);
            assert!(kept.finished_at.is_none(), "a run that is over changes");
            assert!(new.active_seconds >= kept.active_seconds, "a clock goes back");
            let complete = decision.phase == Some(Phase::Complete);
            assert!(!complete || is_measured(cluster), "complete without every block");
            assert!(!complete || new.finished_at.is_some());
        }
        _ => {}
    }
}

pub(super) fn always(cluster: &Cluster) {
    let uids: BTreeSet<_> = cluster
        .kept
        .attempts
        .iter()
        .map(|attempt| &attempt.job_uid)
        .collect();
    assert_eq!(
        uids.len(),
        cluster.kept.attempts.len(),
        "an attempt with two entries"
    );
    let ids: BTreeSet<_> = cluster
        .kept
        .attempts
        .iter()
        .map(|attempt| (attempt.leg, attempt.attempt))
        .collect();
    assert_eq!(
        ids.len(),
        cluster.kept.attempts.len(),
        "two Jobs of one attempt counted"
    );
    let open = cluster.kept.attempts.iter().rev().skip(1);
    assert!(
        open.clone().all(|attempt| attempt.finished_at.is_some()),
        "an earlier attempt is open"
    );
}

pub(super) fn at_the_end(cluster: &Cluster) {
    always(cluster);
    match &cluster.phase {
        _ if cluster.run_gone => assert!(cluster.deleting),
        Some(Phase::Complete) => assert!(is_measured(cluster)),
        Some(Phase::Failed { reason, message }) => {
            assert!(!message.is_empty());
            let kept = &cluster.kept;
            let allowed =
                kept.disruptions > cluster.facts.backoff_limit || *reason != Reason::BackoffLimitExceeded;
            assert!(allowed, "{reason}: {message}");
        }
        other => panic!("no end: {other:?}"),
    }
}

fn is_measured(cluster: &Cluster) -> bool {
    let legs = cluster.facts.legs.as_ref().unwrap().len() as u32;
    (0..legs).all(|leg| cluster.missing(leg).is_empty())
}
