//! Tests for decisions made while workers are running and after an attempt has ended.

use super::*;

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
fn active_clock_counts_only_gang_run_time() {
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
    scene.close(Some(failure_end_record(FailureReason::FabricUnreachable)), None);
    let decision = scene.decide();
    assert_eq!(
        failed(&decision),
        ("MeasurementFailed", "FabricUnreachable: rank 0 to rank 1, rail 2")
    );
}

#[test]
fn waits_to_learn_why_a_peer_was_lost() {
    let mut scene = Scene::running();
    scene.close(Some(failure_end_record(FailureReason::PeerLost)), None);
    let before_termination = scene.decide().action;
    let Action::Wait { until } = before_termination else {
        panic!("{before_termination:?}");
    };
    // Only the run's deadline limits this wait.
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
        "without measured blocks, the next attempt may use other nodes"
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
        &serde_json::to_string(&failure_end_record(FailureReason::NoDevice)).unwrap(),
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
fn preemption_by_a_queue_is_counted_separately_and_never_fails_the_run() {
    let mut scene = Scene::running();
    scene.persisted.disruptions = 2;
    scene.persisted.preemptions = 40;
    scene.jobs[0].suspended = true;
    scene.pods.clear();
    let decision = scene.decide();
    assert_eq!(pending(&decision).0, "PodsTerminating");
    let after = recorded(decision);
    assert_eq!((after.disruptions, after.preemptions), (2, 41));
    let last = after.attempts.last().unwrap();
    assert_eq!(
        (last.state, last.reason.as_deref()),
        (AttemptState::Disrupted, Some("Preempted"))
    );
}

/// After a restart, only the records show that an attempt has a stream.
#[test]
fn job_with_records_that_is_suspended_again_was_preempted() {
    let mut scene = Scene::starting();
    scene.jobs[0].suspended = true;
    scene.pods.clear();
    assert_eq!(pending(&scene.decide()).0, "WaitingForAdmission");
    scene.last_recorded = Some(fixture::attempt(0, 1));
    assert_eq!(recorded(scene.decide()).preemptions, 1);
}

#[test]
fn completes_when_every_block_is_measured() {
    let mut scene = Scene::running();
    scene.done.insert(0, BTreeSet::from([0, 1]));
    scene.exit(0, 0, "");
    scene.close(Some(complete_end_record()), None);
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
    scene.close(Some(failure_end_record(FailureReason::NoDevice)), None);
    for (reported, reason) in [
        (FailureReason::NoDevice, "MeasurementFailed"),
        (FailureReason::OperationRejected, "InvalidRecordStream"),
    ] {
        scene.exit(
            0,
            3,
            &serde_json::to_string(&failure_end_record(reported)).unwrap(),
        );
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
    scene.close(Some(complete_end_record()), None);
    scene.pods[0].image_digest = Some("sha256:a".to_owned());
    let after = recorded(scene.decide());
    assert_eq!((after.active_seconds, after.nodes.len()), (30, 2));
    assert_eq!(after.attempts[0].state, AttemptState::Measured);
    assert_eq!(after.attempts[0].image_digest.as_deref(), Some("sha256:a"));
}

#[test]
fn lost_records_fail_the_run() {
    let mut scene = Scene::running();
    scene.records_broken = Some("part 2 of the chain is missing".to_owned());
    assert_eq!(failed(&scene.decide()).0, "RecordsLost");
}
