//! Tests for decisions about finished and deleted runs.

use super::*;

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
            .message
            .starts_with("pod p-1 on node-1 is stuck terminating")
    );
    let node = scene.pods[0].node.take();
    let message = scene.decide().cleanup_blocked.unwrap().message;
    assert!(
        message.starts_with("pod p-1 is stuck terminating: it is not on a node"),
        "{message}"
    );
    scene.pods[0].node = node;
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
fn pod_of_a_foreign_job_is_named_and_abandoned_on_request() {
    let mut scene = Scene::running();
    scene.deleting = true;
    scene.jobs.clear();
    scene.pods.truncate(1);
    scene.pods[0].job_uid = "foreign".to_owned();
    let decision = scene.decide();
    assert_eq!(decision.action, Action::Wait { until: None });
    let blocked = decision.cleanup_blocked.unwrap();
    assert_eq!(blocked.reason, Reason::ForeignPod);
    assert!(
        blocked.message.starts_with("pod p-0") && blocked.message.contains("UID foreign"),
        "{}",
        blocked.message
    );
    scene.release_pods = true;
    assert_eq!(scene.decide().action, Action::ListPods);
    scene.live_pods = Some(scene.pods.clone());
    assert_eq!(scene.decide().action, Action::RemoveFinalizer);
}

#[test]
fn finished_run_deletes_jobs_that_do_not_end_on_their_own() {
    let mut scene = Scene::running();
    scene.persisted.finished_at = Some(second(1060));
    assert!(matches!(scene.decide().action, Action::DeleteAttempt { .. }));
    let on_its_own = Action::Wait {
        until: Some(second(1120)),
    };
    scene.persisted.attempts[0].state = AttemptState::Measured;
    assert_eq!(
        scene.decide().action,
        on_its_own,
        "the workers of a measured leg exit on their own"
    );
    scene.persisted.attempts[0].state = AttemptState::Running;
    scene.exit(0, 3, "");
    assert_eq!(scene.decide().action, on_its_own);
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
