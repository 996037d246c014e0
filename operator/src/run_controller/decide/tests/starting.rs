//! Tests for decisions made before all workers are running: new Jobs, waiting, deadlines and blockers.

use super::*;

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
        reason: Reason::FailedCreate,
        message: "configmaps \"fb-x\" is forbidden: exceeded quota".to_owned(),
        permanent: false,
    });
    scene.jobs[0].suspended = true;
    assert_eq!(pending(&scene.decide()).0, "FailedCreate");
    scene.jobs[0].suspended = false;
    let [disrupted] = &recorded(scene.decide()).attempts[..] else {
        panic!("expected exactly one attempt")
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
fn pending_message_contains_the_scheduler_message() {
    let mut scene = Scene::starting();
    assert_eq!(pending(&scene.decide()).0, "PodsStarting");
    scene.pods[1].unschedulable = Some("0/2 nodes are available: 2 Insufficient nvidia.com/gpu.".to_owned());
    let (reason, message) = (
        "Unschedulable",
        "pod p-1: 0/2 nodes are available: 2 Insufficient nvidia.com/gpu.",
    );
    assert_eq!(pending(&scene.decide()), (reason, message));
    scene.pods[1].unschedulable = Some("request gpu: device class gpus does not exist".to_owned());
    let waiting = scene.decide();
    let (_, message) = pending(&waiting);
    assert!(
        message.ends_with("does not exist. Check the deviceClassName of each request in spec.resources.claims and in the claims of the variants"),
        "{message}"
    );
    scene.jobs[0].suspended = true;
    scene.policy.queue = Some("team-a".to_owned());
    let waiting = scene.decide();
    let (reason, message) = pending(&waiting);
    assert_eq!(reason, "WaitingForAdmission");
    let expected = format!(
        "the Job of leg 0, attempt 1 is suspended until the LocalQueue `team-a` of spec.placement.queueName admits it. Its \
         Workload says what it waits for (kubectl describe workload --selector kueue.x-k8s.io/job-uid={})",
        scene.jobs[0].uid
    );
    assert!(message.starts_with(&expected), "{message}");
}

#[test]
fn new_job_of_the_next_leg_waits_for_its_queue_without_a_limit() {
    let mut scene = Scene::running();
    scene.policy.legs = Ok(vec![2, 2]);
    scene.done.insert(0, BTreeSet::from([0, 1]));
    scene.exit(0, 0, "");
    scene.close(Some(complete_end_record()), None);
    scene.last_recorded = Some(fixture::attempt(0, 1));
    scene.persisted = recorded(scene.decide());
    // The next Job is created suspended. The session still holds the previous leg's stream.
    scene.pods.clear();
    scene.jobs[0].attempt = fixture::attempt(1, 1);
    scene.jobs[0].uid = "next-job".to_owned();
    scene.jobs[0].suspended = true;
    scene.prerequisites_ready = Some(fixture::attempt(1, 1));
    let waiting = scene.decide();
    assert_eq!(pending(&waiting).0, "WaitingForAdmission");
    scene.persisted = recorded(waiting);
    assert_eq!(scene.persisted.pending_since, None);
    scene.now = 10_000_000;
    let waiting = scene.decide();
    assert_eq!(pending(&waiting).0, "WaitingForAdmission");
    assert_eq!(waiting.action, Action::Wait { until: None });
}

#[test]
fn admission_that_the_queue_withdraws_must_follow_again_before_the_pending_deadline() {
    let mut scene = Scene::starting();
    scene.policy.queue = Some("team-a".to_owned());
    scene.persisted.pending_since = None;
    let admitted = scene.decide();
    assert_eq!(pending(&admitted).0, "PodsStarting");
    scene.persisted = recorded(admitted);
    let attempt = scene.persisted.current().unwrap();
    assert_eq!(attempt.admitted_at, Some(second(scene.now).to_string()));
    assert_eq!(scene.persisted.pending_since, Some(second(scene.now)));
    scene.jobs[0].suspended = true;
    scene.pods.clear();
    let (reason, message) = {
        let waiting = scene.decide();
        assert!(
            matches!(waiting.action, Action::Wait { until: Some(_) }),
            "{:?}",
            waiting.action
        );
        let (reason, message) = pending(&waiting);
        (reason.to_owned(), message.to_owned())
    };
    assert_eq!(reason, "WaitingForAdmission");
    assert!(
        message.starts_with(
            "the LocalQueue `team-a` of spec.placement.queueName suspended the Job of leg 0, attempt 1"
        ),
        "{message}"
    );
    assert!(message.contains("Workload is deactivated"), "{message}");
    scene.now += i64::from(scene.policy.pending_deadline_seconds);
    let (reason, message) = {
        let decision = scene.decide();
        let (reason, message) = failed(&decision);
        (reason.to_owned(), message.to_owned())
    };
    assert_eq!(reason, "PendingDeadlineExceeded");
    assert!(message.contains("Workload is deactivated"), "{message}");
}

#[test]
fn preflight_warning_does_not_prevent_creation_and_is_reported_until_the_gang_is_scheduled() {
    let unmet = "none of the 3 nodes has the labels pool=p5 (spec.placement.nodeSelector)";
    let mut scene = Scene::new();
    scene.preflight = Preflight::Warned(unmet.to_owned());
    let decision = scene.decide();
    assert!(
        !matches!(decision.action, Action::Wait { .. }),
        "{:?}",
        decision.action
    );

    let mut scene = Scene::starting();
    scene.preflight = Preflight::Warned(unmet.to_owned());
    scene.pods[1].unschedulable = Some("0/3 nodes are available".to_owned());
    assert_eq!(
        pending(&scene.decide()),
        (
            "Unschedulable",
            format!("{unmet}; pod p-1: 0/3 nodes are available").as_str()
        )
    );
    scene.pods[1].unschedulable = None;
    assert_eq!(pending(&scene.decide()).0, "PodsStarting");
}

#[test]
fn pending_deadline_failure_reports_the_last_wait_reason() {
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
    scene.reservation.competing_run = Some("run other".to_owned());
    scene.persisted = recorded(scene.decide());
    assert_eq!(scene.persisted.pending_since, None);
    scene.now = 100_000;
    let decision = scene.decide();
    let (reason, message) = pending(&decision);
    assert_eq!(reason, "WaitingForNodes");
    assert!(
        message.contains("run other occupies") && message.contains("0/2 nodes"),
        "{message}"
    );
    scene.reservation.competing_run = None;
    scene.persisted = recorded(scene.decide());
    assert_eq!(scene.persisted.pending_since, Some(second(100_000)));
}

#[test]
fn pods_of_another_job_are_not_workers() {
    let mut scene = Scene::starting();
    scene.start(0, 1010);
    scene.start(1, 1020);
    for pod in &mut scene.pods {
        pod.job_uid = "foreign".to_owned();
    }
    assert_eq!(
        pending(&scene.decide()),
        ("PodsStarting", "0 of 2 workers are running")
    );
}

#[test]
fn gang_that_loses_its_place_is_deleted_and_waits_for_another_turn() {
    let mut scene = Scene::starting();
    scene.pods.truncate(1);
    scene.pods[0].node = Some("node-0".to_owned());
    scene.now = 1040;
    scene.reservation.lost_after = Some(std::time::Duration::from_secs(30));
    let decision = scene.decide();
    assert_eq!(pending(&decision).0, "PodsTerminating");
    scene.persisted = recorded(decision);
    let attempt = &scene.persisted.attempts[0];
    assert_eq!(
        (attempt.state, attempt.reason.as_deref()),
        (AttemptState::Disrupted, Some("PlaceLost"))
    );
    let message = attempt.message.as_deref().unwrap();
    assert!(
        message.starts_with("the gang made no progress for 30 s") && message.contains("only 1 of 2 pods"),
        "{message}"
    );
    let state = &scene.persisted;
    assert_eq!((state.disruptions, state.lost_places), (0, 1), "{state:?}");
    assert_eq!((state.retry_at, state.pending_seconds), (Some(second(1100)), 40));

    scene.reservation.lost_after = None;
    assert!(matches!(scene.decide().action, Action::DeleteAttempt { .. }));
    scene.remove_attempt();
    scene.persisted = recorded(scene.decide());
    let decision = scene.decide();
    let (reason, message) = pending(&decision);
    assert_eq!(reason, "WaitingForNodes");
    assert!(message.contains("lost its place once"), "{message}");
    let until = Some(second(1100));
    assert_eq!(decision.action, Action::Wait { until });
    scene.now = 1100;
    scene.live_pods = Some(Vec::new());
    let create = Action::CreateJob {
        attempt: fixture::attempt(0, 2),
        nodes: Vec::new(),
    };
    assert_eq!(scene.decide().action, create);
}

#[test]
fn gang_that_is_disrupted_before_it_starts_loses_its_place() {
    let mut scene = Scene::starting();
    scene.jobs.clear();
    let state = recorded(scene.decide());
    assert_eq!((state.disruptions, state.lost_places), (1, 1));
    let mut scene = Scene::running();
    scene.jobs.clear();
    let state = recorded(scene.decide());
    assert_eq!((state.disruptions, state.lost_places), (1, 0));
}

#[test]
fn pending_deadline_limits_the_sum_of_all_waits() {
    let mut scene = Scene::starting();
    scene.persisted.pending_seconds = 590;
    scene.now = 1009;
    let until = Some(second(1010));
    assert_eq!(scene.decide().action, Action::Wait { until });
    scene.now = 1010;
    assert_eq!(failed(&scene.decide()).0, "PendingDeadlineExceeded");
    scene.start(0, 1005);
    scene.start(1, 1005);
    scene.follow();
    assert_eq!(recorded(scene.decide()).pending_seconds, 0);
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
    scene.reservation.blocked_by = Some("run older comes first".to_owned());
    let decision = scene.decide();
    assert_eq!(pending(&decision), ("WaitingForNodes", "run older comes first"));
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
    scene.reservation.blocked_by = Some("run older comes first".to_owned());
    scene.persisted = recorded(scene.decide());
    assert_eq!(scene.persisted.pending_since, None);
    scene.now = 100_000;
    assert_eq!(pending(&scene.decide()).0, "WaitingForNodes");
}

#[test]
fn permanently_rejected_creation_fails_the_run() {
    let mut scene = Scene::new();
    let rejected = |permanent| CreationRejected {
        reason: Reason::FailedCreate,
        message: "jobs \"fb-x\" is forbidden: exceeded quota".to_owned(),
        permanent,
    };
    scene.persisted.pending_since = Some(second(1000));
    scene.creation_rejected = Some(rejected(false));
    assert_eq!(pending(&scene.decide()).0, "FailedCreate");
    scene.creation_rejected = Some(rejected(true));
    assert_eq!(failed(&scene.decide()).0, "FailedCreate");
}
