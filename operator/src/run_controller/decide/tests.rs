//! One rule each: what is decided, and in which words.

mod fixture;

use std::collections::BTreeSet;

use crds::record::FailureReason;
use crds::v1alpha1::AttemptState;

use super::*;
use crate::run_controller::observed::{CreationRefused, PodPhase, Preflight, Told};
use fixture::{Scene, end, failure, second};

fn pending(decision: &Decision) -> (&str, &str) {
    match &decision.phase {
        Some(Phase::Pending { reason, message }) => (reason.as_str(), message),
        other => panic!("not pending: {other:?}"),
    }
}

fn failed(decision: &Decision) -> (&str, &str) {
    let Action::Keep(kept) = &decision.action else {
        panic!("not kept: {:?}", decision.action)
    };
    assert!(kept.finished_at.is_some());
    match &decision.phase {
        Some(Phase::Failed { reason, message }) => (reason.as_str(), message),
        other => panic!("not failed: {other:?}"),
    }
}

fn kept(decision: Decision) -> Kept {
    match decision.action {
        Action::Keep(kept) => *kept,
        other => panic!("not kept: {other:?}"),
    }
}

#[test]
fn a_spec_without_a_plan_is_refused_and_over() {
    let mut scene = Scene::new();
    scene.facts.legs = Err("spec.baseline: no such variant".to_owned());
    assert_eq!(
        failed(&scene.decide()),
        ("InvalidSpec", "spec.baseline: no such variant")
    );
}

#[test]
fn a_new_run_gets_an_attempt() {
    let mut scene = Scene::new();
    scene.finalizer = false;
    let create = Action::Create {
        attempt: fixture::attempt(0, 1),
        nodes: Vec::new(),
    };
    assert_eq!(scene.decide().action, create);
}

#[test]
fn an_attempt_is_remembered_when_its_pods_have_what_they_need() {
    let mut scene = Scene::starting();
    let remembered = std::mem::take(&mut scene.kept);
    scene.prepared = None;
    let prepare = Action::Prepare {
        attempt: fixture::attempt(0, 1),
        nodes: Vec::new(),
    };
    assert_eq!(scene.decide().action, prepare);
    scene.refused = Some(CreationRefused {
        message: "configmaps \"fb-x\" is forbidden: exceeded quota".to_owned(),
        for_good: false,
    });
    scene.jobs[0].suspended = true;
    assert_eq!(pending(&scene.decide()).0, "FailedCreate");
    scene.jobs[0].suspended = false;
    let [given_back] = &kept(scene.decide()).attempts[..] else {
        panic!("one attempt")
    };
    assert_eq!(given_back.state, AttemptState::Disrupted, "it holds no nodes");
    scene.refused.as_mut().unwrap().for_good = true;
    assert_eq!(failed(&scene.decide()).0, "FailedCreate");
    scene.suspend = true;
    let suspended = kept(scene.decide());
    assert!(suspended.suspended && suspended.attempts[0].state == AttemptState::Suspended);
    scene.suspend = false;
    scene.refused = None;
    scene.prepared = Some(fixture::attempt(0, 1));
    assert_eq!(kept(scene.decide()).attempts, remembered.attempts);
}

#[test]
fn what_a_gang_waits_for_is_said_in_the_clusters_words() {
    let mut scene = Scene::starting();
    assert_eq!(pending(&scene.decide()).0, "PodsStarting");
    scene.pods[1].unschedulable = Some("0/2 nodes are available: 2 Insufficient nvidia.com/gpu.".to_owned());
    let (reason, message) = (
        "Unschedulable",
        "pod p-1: 0/2 nodes are available: 2 Insufficient nvidia.com/gpu.",
    );
    assert_eq!(pending(&scene.decide()), (reason, message));
    scene.jobs[0].suspended = true;
    assert_eq!(pending(&scene.decide()).0, "WaitingForAdmission");
}

#[test]
fn waiting_too_long_ends_the_run_with_what_it_waited_for() {
    let mut scene = Scene::starting();
    scene.pods[0].unschedulable = Some("0/2 nodes are available".to_owned());
    scene.now = 1000 + 599;
    let Action::Wait { until } = scene.decide().action else {
        panic!()
    };
    assert_eq!(until, Some(second(1600)));
    scene.now = 1600;
    let decision = scene.decide();
    let (reason, message) = failed(&decision);
    assert_eq!(reason, "PendingDeadlineExceeded");
    assert!(
        message.contains("Unschedulable: pod p-0: 0/2 nodes are available"),
        "{message}"
    );
}

#[test]
fn pods_that_find_no_place_beside_another_gang_wait_in_line() {
    let mut scene = Scene::starting();
    scene.pods[0].unschedulable = Some("0/2 nodes are available".to_owned());
    scene.beside = Some("fabric/other".to_owned());
    scene.kept = kept(scene.decide());
    assert_eq!(scene.kept.pending_since, None);
    scene.now = 100_000;
    let decision = scene.decide();
    let (reason, message) = pending(&decision);
    assert_eq!(reason, "WaitingForNodes");
    assert!(
        message.contains("fabric/other") && message.contains("0/2 nodes"),
        "{message}"
    );
    scene.beside = None;
    scene.kept = kept(scene.decide());
    assert_eq!(scene.kept.pending_since, Some(second(100_000)));
}

#[test]
fn pods_that_are_not_made_are_no_slowness_for_ever() {
    let mut scene = Scene::starting();
    scene.pods.truncate(1);
    scene.now = 1001;
    let decision = scene.decide();
    assert_eq!(pending(&decision).0, "PodsStarting");
    assert_eq!(
        decision.action,
        Action::Wait {
            until: Some(second(1030))
        }
    );
    scene.now = 1030;
    let decision = scene.decide();
    let (reason, message) = pending(&decision);
    assert_eq!(reason, "FailedCreate");
    assert!(message.starts_with("only 1 of 2 pods are made"), "{message}");
}

#[test]
fn a_gate_is_waited_for_without_a_clock_and_a_preflight_with_one() {
    let mut scene = Scene::new();
    scene.ahead = Some("fabric/older".to_owned());
    let decision = scene.decide();
    assert_eq!(
        pending(&decision),
        (
            "WaitingForNodes",
            "the gang of fabric/older comes first on these nodes"
        )
    );
    assert_eq!(decision.action, Action::Wait { until: None });
    scene.preflight = Preflight::Refused("ip-10-0-0-1: 7 of 8 GPUs".to_owned());
    scene.kept = kept(scene.decide());
    assert_eq!(scene.kept.pending_since, Some(second(1000)));
    let decision = scene.decide();
    assert_eq!(
        pending(&decision),
        ("InsufficientNodes", "ip-10-0-0-1: 7 of 8 GPUs")
    );
    assert_eq!(
        decision.action,
        Action::Wait {
            until: Some(second(1600))
        }
    );
}

#[test]
fn the_clock_stands_still_from_the_moment_others_come_first() {
    let mut scene = Scene::new();
    scene.kept.pending_since = Some(second(900));
    scene.ahead = Some("fabric/older".to_owned());
    scene.kept = kept(scene.decide());
    assert_eq!(scene.kept.pending_since, None);
    scene.now = 100_000;
    assert_eq!(pending(&scene.decide()).0, "WaitingForNodes");
}

#[test]
fn a_run_that_another_release_planned_otherwise_is_over() {
    let mut scene = Scene::starting();
    scene.facts.plan_changed = true;
    assert_eq!(failed(&scene.decide()).0, "PlanChanged");
}

#[test]
fn a_container_that_a_node_cannot_make_is_tried_again() {
    let mut scene = Scene::starting();
    scene.pods[1].scheduled_at = Some(second(1000));
    scene.pods[1].waiting = Some(Told {
        reason: "CreateContainerError".to_owned(),
        message: "context deadline exceeded".to_owned(),
    });
    let decision = scene.decide();
    let (reason, message) = pending(&decision);
    assert_eq!(reason, "PodsStarting");
    assert!(message.contains("CreateContainerError"), "{message}");
    scene.now = 1120;
    let after = kept(scene.decide());
    let last = after.attempts.last().unwrap();
    assert_eq!(
        (last.state, last.reason.as_deref()),
        (AttemptState::Disrupted, Some("ContainerCreationFailed"))
    );
}

#[test]
fn an_image_that_cannot_be_pulled_disrupts_and_one_that_cannot_be_named_fails() {
    let mut scene = Scene::starting();
    let told = |reason: &str| Told {
        reason: reason.to_owned(),
        message: "not found".to_owned(),
    };
    scene.pods[1].scheduled_at = Some(second(1000));
    scene.pods[1].waiting = Some(told("ImagePullBackOff"));
    let decision = scene.decide();
    assert_eq!(pending(&decision).0, "PullingImage");
    assert_eq!(
        decision.action,
        Action::Wait {
            until: Some(second(1120))
        }
    );
    scene.now = 1120;
    let after = kept(scene.decide());
    let last = after.attempts.last().unwrap();
    assert_eq!(
        (last.state, last.reason.as_deref()),
        (AttemptState::Disrupted, Some("ImagePullFailed"))
    );
    assert_eq!(after.disruptions, 1);
    scene.pods[1].waiting = Some(told("InvalidImageName"));
    assert_eq!(failed(&scene.decide()).0, "InvalidImage");
}

#[test]
fn the_gang_runs_when_all_workers_do_and_its_nodes_are_remembered() {
    let mut scene = Scene::starting();
    scene.start(0, 1010);
    assert!(matches!(scene.decide().action, Action::Follow { .. }));
    scene.follow();
    assert_eq!(pending(&scene.decide()).1, "1 of 2 workers run");
    scene.start(1, 1020);
    let after = kept(scene.decide());
    assert_eq!(
        (after.active_since, after.pending_since),
        (Some(second(1020)), None)
    );
    assert_eq!(after.nodes, ["node-0", "node-1"]);
}

#[test]
fn the_active_clock_counts_gangs_that_run_and_nothing_else() {
    let mut scene = Scene::running();
    scene.kept.active_seconds = 900;
    let Action::Wait { until } = scene.decide().action else {
        panic!()
    };
    assert_eq!(until, Some(second(1120)), "1020, and 100 s of 1000 are left");
    scene.suspend = true;
    scene.now = 1070;
    let decision = scene.decide();
    assert_eq!(decision.phase, Some(Phase::Suspended));
    scene.kept = kept(decision);
    assert_eq!((scene.kept.active_seconds, scene.kept.active_since), (950, None));
    assert!(matches!(scene.decide().action, Action::Delete { .. }));
    scene.gone();
    assert_eq!(scene.decide().action, Action::Wait { until: None });
    (scene.suspend, scene.now) = (false, 90_000);
    scene.kept = kept(scene.decide());
    assert_eq!(scene.kept.pending_since, Some(second(90_000)));
    assert_eq!(scene.decide().action, Action::ListPods);
    scene.listed = Some(Vec::new());
    let create = Action::Create {
        attempt: fixture::attempt(0, 2),
        nodes: scene.kept.nodes.clone(),
    };
    assert_eq!(scene.decide().action, create);
}

#[test]
fn workers_that_run_too_long_are_ended() {
    let mut scene = Scene::running();
    scene.now = 2020;
    assert_eq!(failed(&scene.decide()).0, "DeadlineExceeded");
    scene.done.insert(0, BTreeSet::from([0, 1]));
    let after = kept(scene.decide());
    assert_eq!(
        after.attempts[0].state,
        AttemptState::Measured,
        "what is measured is measured"
    );
}

#[test]
fn a_measurement_that_fails_fails_the_run_and_is_not_repeated() {
    let mut scene = Scene::running();
    scene.exit(0, 3, "");
    scene.close(Some(failure(FailureReason::FabricUnreachable)), None);
    let decision = scene.decide();
    assert_eq!(
        failed(&decision),
        ("MeasurementFailed", "FabricUnreachable: rank 0 to rank 1, rail 2")
    );
}

#[test]
fn a_peer_that_was_lost_is_explained_before_it_is_judged() {
    let mut scene = Scene::running();
    scene.exit(0, 3, "");
    scene.close(Some(failure(FailureReason::PeerLost)), None);
    assert_eq!(
        scene.decide().action,
        Action::Wait {
            until: Some(second(1050 + 180))
        }
    );
    let told = Told {
        reason: "DeletionByTaintManager".to_owned(),
        message: "Taint manager: deleting due to NoExecute taint".to_owned(),
    };
    scene.pods[1].disruption = Some(told);
    let after = kept(scene.decide());
    assert_eq!(after.attempts[0].reason.as_deref(), Some("NodeLost"));
    assert!(
        after.nodes.is_empty(),
        "nothing is measured: other nodes do as well"
    );
    scene.pods[1].disruption = None;
    scene.now = 1050 + 180;
    assert_eq!(failed(&scene.decide()).0, "MeasurementFailed");
}

#[test]
fn a_stream_that_breaks_is_another_attempt_for_what_is_missing() {
    let mut scene = Scene::running();
    scene.done.insert(0, BTreeSet::from([0]));
    scene.close(None, Some("line 17 does not fit"));
    let after = kept(scene.decide());
    let last = &after.attempts[0];
    assert_eq!(
        (last.state, last.reason.as_deref()),
        (AttemptState::Disrupted, Some("InvalidRecordStream"))
    );
    assert!(last.message.as_deref().unwrap().contains("line 17 does not fit"));
    assert!(!after.nodes.is_empty());
}

#[test]
fn an_end_that_only_the_kubelet_has_is_a_rotated_log() {
    let mut scene = Scene::running();
    scene.exit(
        0,
        3,
        &serde_json::to_string(&failure(FailureReason::NoDevice)).unwrap(),
    );
    scene.close(None, None);
    assert_eq!(
        kept(scene.decide()).attempts[0].reason.as_deref(),
        Some("InvalidRecordStream")
    );
    scene.exit(0, 2, "rank 0: /etc/fabricbench/assignment.json: not JSON");
    scene.close(None, Some("it ends after 0 lines"));
    let decision = scene.decide();
    let (reason, message) = failed(&decision);
    assert_eq!(reason, "WorkerFailed");
    assert!(
        message.contains("status 2") && message.contains("not JSON"),
        "{message}"
    );
}

#[test]
fn too_many_disruptions_end_the_run_and_memory_is_no_disruption() {
    let mut scene = Scene::running();
    scene.kept.disruptions = 2;
    scene.jobs.clear();
    let decision = scene.decide();
    let (reason, message) = failed(&decision);
    assert_eq!(reason, "BackoffLimitExceeded");
    assert!(message.contains("allows 2; the last: JobDeleted"), "{message}");
    let mut scene = Scene::running();
    scene.exit(0, 137, "");
    scene.pods[0].ended.as_mut().unwrap().reason = "OOMKilled".to_owned();
    scene.close(None, None);
    assert_eq!(failed(&scene.decide()).0, "OOMKilled");
}

#[test]
fn every_block_measured_is_complete() {
    let mut scene = Scene::running();
    scene.done.insert(0, BTreeSet::from([0, 1]));
    scene.exit(0, 0, "");
    scene.close(Some(end()), None);
    let decision = scene.decide();
    assert_eq!(decision.phase, Some(Phase::Complete));
    let after = kept(decision);
    assert_eq!(
        (after.active_seconds, after.finished_at),
        (30, Some(second(1060)))
    );
}

#[test]
fn a_log_that_ends_otherwise_than_the_kubelet_was_told_is_broken() {
    let mut scene = Scene::running();
    scene.close(Some(failure(FailureReason::NoDevice)), None);
    for (told, reason) in [
        (FailureReason::NoDevice, "MeasurementFailed"),
        (FailureReason::Refused, "InvalidRecordStream"),
    ] {
        scene.exit(0, 3, &serde_json::to_string(&failure(told)).unwrap());
        let after = kept(scene.decide());
        assert_eq!(after.attempts[0].reason.as_deref(), Some(reason));
    }
}

#[test]
fn a_leg_that_ran_while_nobody_looked_has_its_time_and_nodes_all_the_same() {
    let mut scene = Scene::starting();
    scene.facts.legs = Ok(vec![2, 2]);
    scene.start(0, 1010);
    scene.start(1, 1020);
    scene.done.insert(0, BTreeSet::from([0, 1]));
    scene.exit(0, 0, "");
    scene.close(Some(end()), None);
    scene.pods[0].image_digest = Some("sha256:a".to_owned());
    let after = kept(scene.decide());
    assert_eq!((after.active_seconds, after.nodes.len()), (30, 2));
    assert_eq!(after.attempts[0].state, AttemptState::Measured);
    assert_eq!(after.attempts[0].image_digest.as_deref(), Some("sha256:a"));
}

#[test]
fn a_run_that_is_over_goes_when_its_time_has_come() {
    let mut scene = Scene::new();
    scene.kept.finished_at = Some(second(1000));
    scene.facts.ttl_seconds_after_finished = Some(60);
    assert_eq!(
        scene.decide().action,
        Action::Wait {
            until: Some(second(1060))
        }
    );
    scene.now = 1060;
    assert_eq!(scene.decide().action, Action::DeleteRun);
}

#[test]
fn deletion_waits_for_pods_names_those_that_stay_and_gives_them_up_when_told() {
    let mut scene = Scene::running();
    scene.deleting = true;
    assert!(matches!(scene.decide().action, Action::Delete { .. }));
    scene.jobs.clear();
    scene.pods.remove(0);
    scene.pods[0].gone_by = Some(second(1080));
    let decision = scene.decide();
    assert_eq!(decision.cleanup_blocked, None);
    assert_eq!(
        decision.action,
        Action::Wait {
            until: Some(second(1110))
        }
    );
    scene.now = 1110;
    let decision = scene.decide();
    assert_eq!(decision.action, Action::Wait { until: None });
    assert!(
        decision
            .cleanup_blocked
            .unwrap()
            .starts_with("pod p-1 on node-1 should be gone")
    );
    scene.release_pods = true;
    assert_eq!(scene.decide().action, Action::ListPods);
    scene.listed = Some(scene.pods.clone());
    assert_eq!(scene.decide().action, Action::RemoveFinalizer);
    scene.release_pods = false;
    scene.pods.clear();
    assert!(
        matches!(scene.decide().action, Action::Wait { until: Some(_) }),
        "a cache without pods proves nothing"
    );
}

#[test]
fn records_that_are_gone_are_not_measured_again() {
    let mut scene = Scene::running();
    scene.records_broken = Some("part 2 of the chain is missing".to_owned());
    assert_eq!(failed(&scene.decide()).0, "RecordsLost");
}

#[test]
fn what_the_cluster_refuses_for_good_ends_the_run() {
    let mut scene = Scene::new();
    let refused = |for_good| CreationRefused {
        message: "jobs \"fb-x\" is forbidden: exceeded quota".to_owned(),
        for_good,
    };
    scene.kept.pending_since = Some(second(1000));
    scene.refused = Some(refused(false));
    assert_eq!(pending(&scene.decide()).0, "FailedCreate");
    scene.refused = Some(refused(true));
    assert_eq!(failed(&scene.decide()).0, "FailedCreate");
}

#[test]
fn a_run_that_is_over_leaves_nothing_running() {
    let mut scene = Scene::running();
    scene.kept.finished_at = Some(second(1060));
    assert!(matches!(scene.decide().action, Action::Delete { .. }));
    let by_itself = Action::Wait {
        until: Some(second(1120)),
    };
    scene.kept.attempts[0].state = AttemptState::Measured;
    assert_eq!(
        scene.decide().action,
        by_itself,
        "the workers leave: all is measured"
    );
    scene.kept.attempts[0].state = AttemptState::Running;
    scene.exit(0, 3, "");
    assert_eq!(scene.decide().action, by_itself);
    for pod in &mut scene.pods {
        pod.phase = PodPhase::Failed;
    }
    scene.jobs[0].end = Some(crate::run_controller::observed::JobEnd::Complete);
    assert_eq!(
        scene.decide().action,
        Action::Wait { until: None },
        "its logs stay readable"
    );
}
