//! Tests of the decision rules, including reasons and messages.

mod fixture;
mod simulation;

use std::collections::BTreeSet;

use crds::record::FailureReason;
use crds::v1alpha1::AttemptState;

use super::*;
use crate::run_controller::observed::{ContainerReason, CreationRejected, JobOutcome, PodPhase, Preflight};
use fixture::{Scene, end, failure, second};

fn pending(decision: &Decision) -> (&str, &str) {
    match &decision.phase {
        Some(Phase::Pending { reason, message }) => (reason.as_str(), message),
        other => panic!("not pending: {other:?}"),
    }
}

fn failed(decision: &Decision) -> (&str, &str) {
    let Action::RecordProgress(state) = &decision.action else {
        panic!("not recorded: {:?}", decision.action)
    };
    assert!(state.finished_at.is_some());
    match &decision.phase {
        Some(Phase::Failed { reason, message }) => (reason.as_str(), message),
        other => panic!("not failed: {other:?}"),
    }
}

fn recorded(decision: Decision) -> ExecutionState {
    match decision.action {
        Action::RecordProgress(state) => *state,
        other => panic!("not recorded: {other:?}"),
    }
}

#[test]
fn fails_a_run_whose_spec_has_no_plan() {
    let mut scene = Scene::new();
    scene.policy.legs = Err("spec.baseline: no such variant".to_owned());
    assert_eq!(
        failed(&scene.decide()),
        ("InvalidSpec", "spec.baseline: no such variant")
    );
}

#[test]
fn creates_the_job_of_a_new_run() {
    let mut scene = Scene::new();
    scene.finalizer = false;
    let create = Action::CreateJob {
        attempt: fixture::attempt(0, 1),
        nodes: Vec::new(),
    };
    assert_eq!(scene.decide().action, create);
}

#[test]
fn records_an_attempt_after_its_prerequisites_are_created() {
    let mut scene = Scene::starting();
    let expected = std::mem::take(&mut scene.persisted);
    scene.prerequisites_ready = None;
    let create = Action::CreatePrerequisites {
        attempt: fixture::attempt(0, 1),
        nodes: Vec::new(),
    };
    assert_eq!(scene.decide().action, create);
    scene.creation_rejected = Some(CreationRejected {
        message: "configmaps \"fb-x\" is forbidden: exceeded quota".to_owned(),
        permanent: false,
    });
    scene.jobs[0].suspended = true;
    assert_eq!(pending(&scene.decide()).0, "FailedCreate");
    scene.jobs[0].suspended = false;
    let [disrupted] = &recorded(scene.decide()).attempts[..] else {
        panic!("one attempt")
    };
    assert_eq!(
        disrupted.state,
        AttemptState::Disrupted,
        "the attempt releases its nodes"
    );
    scene.creation_rejected.as_mut().unwrap().permanent = true;
    assert_eq!(failed(&scene.decide()).0, "FailedCreate");
    scene.suspend = true;
    let suspended = recorded(scene.decide());
    assert!(suspended.suspended && suspended.attempts[0].state == AttemptState::Suspended);
    scene.suspend = false;
    scene.creation_rejected = None;
    scene.prerequisites_ready = Some(fixture::attempt(0, 1));
    assert_eq!(recorded(scene.decide()).attempts, expected.attempts);
}

#[test]
fn pending_message_contains_the_message_of_the_scheduler() {
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
fn pending_deadline_failure_reports_the_last_obstacle() {
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
fn pending_clock_stops_while_another_gang_occupies_the_nodes() {
    let mut scene = Scene::starting();
    scene.pods[0].unschedulable = Some("0/2 nodes are available".to_owned());
    scene.reservation.competing_run = Some("fabric/other".to_owned());
    scene.persisted = recorded(scene.decide());
    assert_eq!(scene.persisted.pending_since, None);
    scene.now = 100_000;
    let decision = scene.decide();
    let (reason, message) = pending(&decision);
    assert_eq!(reason, "WaitingForNodes");
    assert!(
        message.contains("fabric/other") && message.contains("0/2 nodes"),
        "{message}"
    );
    scene.reservation.competing_run = None;
    scene.persisted = recorded(scene.decide());
    assert_eq!(scene.persisted.pending_since, Some(second(100_000)));
}

#[test]
fn missing_pods_are_reported_after_a_timeout() {
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
    assert!(message.starts_with("only 1 of 2 pods were created"), "{message}");
}

#[test]
fn pending_clock_runs_for_a_failed_preflight_and_not_for_a_blocking_run() {
    let mut scene = Scene::new();
    scene.reservation.blocked_by = Some("fabric/older".to_owned());
    let decision = scene.decide();
    assert_eq!(
        pending(&decision),
        (
            "WaitingForNodes",
            "run fabric/older must place its gang on these nodes first"
        )
    );
    assert_eq!(decision.action, Action::Wait { until: None });
    scene.preflight = Preflight::Rejected("ip-10-0-0-1: 7 of 8 GPUs".to_owned());
    scene.persisted = recorded(scene.decide());
    assert_eq!(scene.persisted.pending_since, Some(second(1000)));
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
fn pending_clock_stops_when_another_run_blocks_the_run() {
    let mut scene = Scene::new();
    scene.persisted.pending_since = Some(second(900));
    scene.reservation.blocked_by = Some("fabric/older".to_owned());
    scene.persisted = recorded(scene.decide());
    assert_eq!(scene.persisted.pending_since, None);
    scene.now = 100_000;
    assert_eq!(pending(&scene.decide()).0, "WaitingForNodes");
}

#[test]
fn fails_a_run_whose_plan_has_changed() {
    let mut scene = Scene::starting();
    scene.policy.plan_changed = true;
    assert_eq!(failed(&scene.decide()).0, "PlanChanged");
}

#[test]
fn retries_after_a_container_could_not_be_created() {
    let mut scene = Scene::starting();
    scene.pods[1].scheduled_at = Some(second(1000));
    scene.pods[1].waiting = Some(ContainerReason {
        reason: "CreateContainerError".to_owned(),
        message: "context deadline exceeded".to_owned(),
    });
    let decision = scene.decide();
    let (reason, message) = pending(&decision);
    assert_eq!(reason, "PodsStarting");
    assert!(message.contains("CreateContainerError"), "{message}");
    scene.now = 1120;
    let after = recorded(scene.decide());
    let last = after.attempts.last().unwrap();
    assert_eq!(
        (last.state, last.reason.as_deref()),
        (AttemptState::Disrupted, Some("ContainerCreationFailed"))
    );
}

#[test]
fn image_pull_failure_disrupts_and_invalid_image_name_fails() {
    let mut scene = Scene::starting();
    let waiting = |reason: &str| ContainerReason {
        reason: reason.to_owned(),
        message: "not found".to_owned(),
    };
    scene.pods[1].scheduled_at = Some(second(1000));
    scene.pods[1].waiting = Some(waiting("ImagePullBackOff"));
    let decision = scene.decide();
    assert_eq!(pending(&decision).0, "PullingImage");
    assert_eq!(
        decision.action,
        Action::Wait {
            until: Some(second(1120))
        }
    );
    scene.now = 1120;
    let after = recorded(scene.decide());
    let last = after.attempts.last().unwrap();
    assert_eq!(
        (last.state, last.reason.as_deref()),
        (AttemptState::Disrupted, Some("ImagePullFailed"))
    );
    assert_eq!(after.disruptions, 1);
    scene.pods[1].waiting = Some(waiting("InvalidImageName"));
    assert_eq!(failed(&scene.decide()).0, "InvalidImage");
}

#[test]
fn records_start_and_nodes_when_all_workers_run() {
    let mut scene = Scene::starting();
    scene.start(0, 1010);
    assert!(matches!(scene.decide().action, Action::FollowLog { .. }));
    scene.follow();
    assert_eq!(pending(&scene.decide()).1, "1 of 2 workers are running");
    scene.start(1, 1020);
    let after = recorded(scene.decide());
    assert_eq!(
        (after.active_since, after.pending_since),
        (Some(second(1020)), None)
    );
    assert_eq!(after.nodes, ["node-0", "node-1"]);
}

#[test]
fn active_clock_counts_only_the_run_time_of_gangs() {
    let mut scene = Scene::running();
    scene.persisted.active_seconds = 900;
    let Action::Wait { until } = scene.decide().action else {
        panic!()
    };
    assert_eq!(
        until,
        Some(second(1120)),
        "100 s of 1000 s remain after second 1020"
    );
    scene.suspend = true;
    scene.now = 1070;
    let decision = scene.decide();
    assert_eq!(decision.phase, Some(Phase::Suspended));
    scene.persisted = recorded(decision);
    assert_eq!(
        (scene.persisted.active_seconds, scene.persisted.active_since),
        (950, None)
    );
    assert!(matches!(scene.decide().action, Action::DeleteAttempt { .. }));
    scene.remove_attempt();
    assert_eq!(scene.decide().action, Action::Wait { until: None });
    (scene.suspend, scene.now) = (false, 90_000);
    scene.persisted = recorded(scene.decide());
    assert_eq!(scene.persisted.pending_since, Some(second(90_000)));
    assert_eq!(scene.decide().action, Action::ListPods);
    scene.live_pods = Some(Vec::new());
    let create = Action::CreateJob {
        attempt: fixture::attempt(0, 2),
        nodes: scene.persisted.nodes.clone(),
    };
    assert_eq!(scene.decide().action, create);
}

#[test]
fn active_deadline_fails_the_run_unless_the_leg_is_measured() {
    let mut scene = Scene::running();
    scene.now = 2020;
    assert_eq!(failed(&scene.decide()).0, "DeadlineExceeded");
    scene.done.insert(0, BTreeSet::from([0, 1]));
    let after = recorded(scene.decide());
    assert_eq!(
        after.attempts[0].state,
        AttemptState::Measured,
        "all blocks of the leg are measured"
    );
}

#[test]
fn failed_measurement_fails_the_run_without_a_retry() {
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
fn waits_for_the_cause_of_a_lost_peer() {
    let mut scene = Scene::running();
    scene.close(Some(failure(FailureReason::PeerLost)), None);
    let before_termination = scene.decide().action;
    let Action::Wait { until } = before_termination else {
        panic!("{before_termination:?}");
    };
    // Only the deadline of the run ends this wait.
    assert_eq!(until, Some(second(1020 + 1000)));
    scene.exit(0, 3, "");
    assert_eq!(
        scene.decide().action,
        Action::Wait {
            until: Some(second(1050 + 180))
        }
    );
    let disruption = ContainerReason {
        reason: "DeletionByTaintManager".to_owned(),
        message: "Taint manager: deleting due to NoExecute taint".to_owned(),
    };
    scene.pods[1].disruption = Some(disruption);
    let after = recorded(scene.decide());
    assert_eq!(after.attempts[0].reason.as_deref(), Some("NodeLost"));
    assert!(
        after.nodes.is_empty(),
        "without measured blocks the next attempt may use other nodes"
    );
    scene.pods[1].disruption = None;
    scene.now = 1050 + 180;
    assert_eq!(failed(&scene.decide()).0, "MeasurementFailed");
}

#[test]
fn broken_stream_disrupts_the_attempt() {
    let mut scene = Scene::running();
    scene.done.insert(0, BTreeSet::from([0]));
    scene.close(None, Some("line 17 is damaged"));
    let after = recorded(scene.decide());
    let last = &after.attempts[0];
    assert_eq!(
        (last.state, last.reason.as_deref()),
        (AttemptState::Disrupted, Some("InvalidRecordStream"))
    );
    assert!(last.message.as_deref().unwrap().contains("line 17 is damaged"));
    assert!(!after.nodes.is_empty());
}

#[test]
fn termination_message_without_end_record_in_the_log_is_a_broken_stream() {
    let mut scene = Scene::running();
    scene.exit(
        0,
        3,
        &serde_json::to_string(&failure(FailureReason::NoDevice)).unwrap(),
    );
    scene.close(None, None);
    assert_eq!(
        recorded(scene.decide()).attempts[0].reason.as_deref(),
        Some("InvalidRecordStream")
    );
    scene.exit(0, 2, "rank 0: /etc/fabricbench/assignment.json: not JSON");
    scene.close(None, Some("the stream is truncated after 0 lines"));
    let decision = scene.decide();
    let (reason, message) = failed(&decision);
    assert_eq!(reason, "WorkerFailed");
    assert!(
        message.contains("exit code 2") && message.contains("not JSON"),
        "{message}"
    );
}

#[test]
fn backoff_limit_fails_the_run_and_out_of_memory_is_not_a_disruption() {
    let mut scene = Scene::running();
    scene.persisted.disruptions = 2;
    scene.jobs.clear();
    let decision = scene.decide();
    let (reason, message) = failed(&decision);
    assert_eq!(reason, "BackoffLimitExceeded");
    assert!(
        message.contains("allows 2; the last disruption: JobDeleted"),
        "{message}"
    );
    let mut scene = Scene::running();
    scene.exit(0, 137, "");
    scene.pods[0].terminated.as_mut().unwrap().reason = "OOMKilled".to_owned();
    scene.close(None, None);
    assert_eq!(failed(&scene.decide()).0, "OOMKilled");
}

#[test]
fn completes_when_every_block_is_measured() {
    let mut scene = Scene::running();
    scene.done.insert(0, BTreeSet::from([0, 1]));
    scene.exit(0, 0, "");
    scene.close(Some(end()), None);
    let decision = scene.decide();
    assert_eq!(decision.phase, Some(Phase::Complete));
    let after = recorded(decision);
    assert_eq!(
        (after.active_seconds, after.finished_at),
        (30, Some(second(1060)))
    );
}

#[test]
fn end_record_that_differs_from_the_termination_message_is_a_broken_stream() {
    let mut scene = Scene::running();
    scene.close(Some(failure(FailureReason::NoDevice)), None);
    for (reported, reason) in [
        (FailureReason::NoDevice, "MeasurementFailed"),
        (FailureReason::OperationRejected, "InvalidRecordStream"),
    ] {
        scene.exit(0, 3, &serde_json::to_string(&failure(reported)).unwrap());
        let after = recorded(scene.decide());
        assert_eq!(after.attempts[0].reason.as_deref(), Some(reason));
    }
}

#[test]
fn records_run_time_and_nodes_of_a_leg_that_was_never_observed_running() {
    let mut scene = Scene::starting();
    scene.policy.legs = Ok(vec![2, 2]);
    scene.start(0, 1010);
    scene.start(1, 1020);
    scene.done.insert(0, BTreeSet::from([0, 1]));
    scene.exit(0, 0, "");
    scene.close(Some(end()), None);
    scene.pods[0].image_digest = Some("sha256:a".to_owned());
    let after = recorded(scene.decide());
    assert_eq!((after.active_seconds, after.nodes.len()), (30, 2));
    assert_eq!(after.attempts[0].state, AttemptState::Measured);
    assert_eq!(after.attempts[0].image_digest.as_deref(), Some("sha256:a"));
}

#[test]
fn deletes_a_finished_run_after_its_ttl() {
    let mut scene = Scene::new();
    scene.persisted.finished_at = Some(second(1000));
    scene.policy.ttl_seconds_after_finished = Some(60);
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
fn deletion_waits_for_pods_reports_stuck_ones_and_abandons_them_on_request() {
    let mut scene = Scene::running();
    scene.deleting = true;
    assert!(matches!(scene.decide().action, Action::DeleteAttempt { .. }));
    scene.jobs.clear();
    scene.pods.remove(0);
    scene.pods[0].deletion_deadline = Some(second(1080));
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
            .starts_with("pod p-1 on node-1 is stuck terminating")
    );
    scene.release_pods = true;
    assert_eq!(scene.decide().action, Action::ListPods);
    scene.live_pods = Some(scene.pods.clone());
    assert_eq!(scene.decide().action, Action::RemoveFinalizer);
    scene.release_pods = false;
    scene.pods.clear();
    assert!(
        matches!(scene.decide().action, Action::Wait { until: Some(_) }),
        "the live list still contains pods"
    );
}

#[test]
fn lost_records_fail_the_run() {
    let mut scene = Scene::running();
    scene.records_broken = Some("part 2 of the chain is missing".to_owned());
    assert_eq!(failed(&scene.decide()).0, "RecordsLost");
}

#[test]
fn permanently_rejected_creation_fails_the_run() {
    let mut scene = Scene::new();
    let rejected = |permanent| CreationRejected {
        message: "jobs \"fb-x\" is forbidden: exceeded quota".to_owned(),
        permanent,
    };
    scene.persisted.pending_since = Some(second(1000));
    scene.creation_rejected = Some(rejected(false));
    assert_eq!(pending(&scene.decide()).0, "FailedCreate");
    scene.creation_rejected = Some(rejected(true));
    assert_eq!(failed(&scene.decide()).0, "FailedCreate");
}

#[test]
fn finished_run_deletes_jobs_that_do_not_end_by_themselves() {
    let mut scene = Scene::running();
    scene.persisted.finished_at = Some(second(1060));
    assert!(matches!(scene.decide().action, Action::DeleteAttempt { .. }));
    let by_itself = Action::Wait {
        until: Some(second(1120)),
    };
    scene.persisted.attempts[0].state = AttemptState::Measured;
    assert_eq!(
        scene.decide().action,
        by_itself,
        "the workers of a measured leg exit by themselves"
    );
    scene.persisted.attempts[0].state = AttemptState::Running;
    scene.exit(0, 3, "");
    assert_eq!(scene.decide().action, by_itself);
    for pod in &mut scene.pods {
        pod.phase = PodPhase::Failed;
    }
    scene.jobs[0].outcome = Some(JobOutcome::Complete);
    assert_eq!(
        scene.decide().action,
        Action::Wait { until: None },
        "the logs remain readable"
    );
}
