//! Runs in queues of a real Kueue, which `.ci/operator-test kueue` installs. These tests are ignored otherwise: while Kueue is
//! installed, the API server creates Jobs only if Kueue's pod responds, so the tests that disturb nodes cannot run.

mod configuration;
mod queues;

use std::time::{Duration, Instant};

use crds::v1alpha1::{AttemptState, BenchmarkRun, BenchmarkRunStatus, ExecutionStatus, State};
use k8s_openapi::api::events::v1::Event;
use kube::Api;
use kube::api::DeleteParams;
use serde_json::json;

use super::nodes::{Nodes, reserve_nodes};
use super::test_namespace::{TIMEOUT, TestNamespace, blocks_done, condition, with_rounds};
use super::testbed::{RUNNER_IMAGE, image_of};
use configuration::WaitForPodsReady;
use queues::{GANG_CPUS, QUEUE, Queues};
use test_support::cluster::until_within;

/// Number of rounds of a campaign that is disturbed after its first blocks have been stored.
const ROUNDS: u32 = 60;
/// Number of round trips in each case of such a campaign, so that it is still in progress after two preemptions.
const ITERATIONS: u32 = 2000;

/// Returns a run that waits in the queue. A single disruption would end it.
fn queued(name: &str, rounds: u32) -> BenchmarkRun {
    let mut run = with_rounds(name, rounds);
    run.spec.placement.queue_name = Some(QUEUE.to_owned());
    run.spec.run_policy.backoff_limit = 0;
    run
}

fn execution(status: &BenchmarkRunStatus) -> ExecutionStatus {
    status.execution.clone().unwrap_or_default()
}

/// Creates a queued campaign, and the queue for it.
async fn create_campaign(nodes: &Nodes, name: &str) -> (TestNamespace, Queues) {
    let namespace = TestNamespace::new(nodes).await;
    let queues = Queues::new(&namespace.name, GANG_CPUS);
    let mut run = queued(name, ROUNDS);
    run.spec.scenarios[0].ping_pong.as_mut().unwrap().iterations = Some(ITERATIONS);
    namespace.create(&run).await;
    (namespace, queues)
}

/// Waits until the workers of attempt `attempt` of a leg are running. Returns the status.
async fn wait_until_running(namespace: &TestNamespace, name: &str, attempt: u32) -> BenchmarkRunStatus {
    until_within(TIMEOUT, || async {
        let status = namespace.status(name).await;
        let running = execution(&status).attempts.pop()?;
        ((running.state, running.attempt) == (AttemptState::Running, attempt)).then_some(status)
    })
    .await
}

#[tokio::test]
#[ignore = "needs Kueue: .ci/operator-test kueue"]
async fn run_of_several_legs_completes_beside_a_competitor() {
    let nodes = reserve_nodes().await;
    let namespace = TestNamespace::new(&nodes).await;
    let queues = Queues::new(&namespace.name, GANG_CPUS);
    let _operator = namespace.operator();
    let mut run = queued("legs", 4);
    run.spec.variants[0].image = Some(RUNNER_IMAGE.to_owned());
    run.spec.variants[1].image = Some(image_of("fi-inject"));
    namespace.create(&run).await;
    wait_until_running(&namespace, "legs", 1).await;
    queues.compete("competitor", 5, None);

    let status = namespace.wait_for_completion("legs").await;
    let execution = execution(&status);
    println!("{} blocks, {execution:#?}", blocks_done(&status));
    assert_eq!((execution.disruptions, execution.preemptions), (0, 0));
    assert!(execution.attempts.len() > 2, "the run must have several legs");
    assert!(
        execution
            .attempts
            .iter()
            .all(|attempt| (attempt.attempt, attempt.state) == (1, AttemptState::Measured)),
        "every leg needs one attempt"
    );
    assert!(
        queues.has_completed("competitor"),
        "the competitor got the quota between two legs"
    );
    queues.await_released().await;
    namespace.delete().await;
}

#[tokio::test]
#[ignore = "needs Kueue: .ci/operator-test kueue"]
async fn run_waits_without_a_deadline_for_a_queue_that_does_not_admit_it() {
    let nodes = reserve_nodes().await;
    let namespace = TestNamespace::new(&nodes).await;
    let queues = Queues::new(&namespace.name, GANG_CPUS - 1);
    let deadline = Duration::from_secs(10);
    let mut run = queued("waiting", 1);
    run.spec.run_policy.pending_deadline_seconds = 10;
    let created = Instant::now();
    let mut operator = namespace.operator();
    namespace.create(&run).await;
    for patience in [2 * deadline, 4 * deadline] {
        until_within(TIMEOUT, || async {
            let status = namespace.status("waiting").await;
            let waiting =
                condition(&status, "Running").is_some_and(|(_, reason, _)| reason == "WaitingForAdmission");
            let execution = execution(&status);
            assert_ne!(status.state, Some(State::Failed), "{:#?}", status.conditions);
            assert!(execution.attempts.len() <= 1, "{execution:#?}");
            (waiting && execution.pending_since.is_none() && created.elapsed() > patience).then_some(())
        })
        .await;
        // The next operator must not count the wait of the previous one.
        operator = namespace.operator();
    }
    queues.set_cpus(GANG_CPUS);
    let execution = execution(&namespace.wait_for_completion("waiting").await);
    assert_eq!(
        (
            execution.attempts.len(),
            execution.disruptions,
            execution.preemptions
        ),
        (1, 0, 0),
        "{execution:#?}"
    );
    queues.await_released().await;
    namespace.delete().await;
    drop(operator);
}

#[tokio::test]
#[ignore = "needs Kueue: .ci/operator-test kueue"]
async fn blocks_of_a_preempted_gang_are_measured_again() {
    let nodes = reserve_nodes().await;
    let (namespace, queues) = create_campaign(&nodes, "preempted").await;
    let _operator = namespace.operator();
    for preemption in 1..=2 {
        let before = wait_until_running(&namespace, "preempted", preemption).await;
        namespace
            .wait_for_blocks("preempted", blocks_done(&before) + 1)
            .await;
        let urgent = format!("urgent-{preemption}");
        queues.compete(&urgent, 2, Some(&queues.priority_class()));
        until_within(TIMEOUT, || async {
            let status = namespace.status("preempted").await;
            assert_ne!(status.state, Some(State::Complete), "the campaign is too short");
            (execution(&status).preemptions == preemption).then_some(())
        })
        .await;
    }
    let status = namespace.wait_for_completion("preempted").await;
    let execution = execution(&status);
    println!("{} blocks, {execution:#?}", blocks_done(&status));
    assert_eq!((execution.disruptions, execution.preemptions), (0, 2));
    let preempted = |state, reason: &Option<String>| {
        state == AttemptState::Disrupted && reason.as_deref() == Some("Preempted")
    };
    let attempts = execution.attempts.iter();
    assert_eq!(
        attempts
            .filter(|attempt| preempted(attempt.state, &attempt.reason))
            .count(),
        2
    );
    let events: Api<Event> = Api::namespaced(namespace.client.clone(), &namespace.name);
    let events = events.list(&Default::default()).await.unwrap().items;
    let of_run = |event: &&Event| {
        let name = event.regarding.as_ref().and_then(|object| object.name.as_deref());
        (event.reason.as_deref(), name) == (Some("Preempted"), Some("preempted"))
    };
    let counts: Vec<_> = events
        .iter()
        .filter(of_run)
        .map(|event| event.series.as_ref().map_or(1, |series| series.count))
        .collect();
    assert_eq!(counts, [2], "one event counts both preemptions");
    queues.await_released().await;
    namespace.delete().await;
}

#[tokio::test]
#[ignore = "needs Kueue: .ci/operator-test kueue"]
async fn suspended_and_deleted_runs_release_their_quota() {
    let nodes = reserve_nodes().await;
    let (namespace, queues) = create_campaign(&nodes, "released").await;
    let _operator = namespace.operator();
    namespace.wait_for_blocks("released", 1).await;
    assert!(!queues.is_released());
    namespace
        .patch("released", json!({"spec": {"suspend": true}}))
        .await
        .unwrap();
    queues.await_released().await;
    let suspended = namespace.status("released").await;
    assert_eq!(execution(&suspended).preemptions, 0, "the user suspended the run");
    namespace
        .patch("released", json!({"spec": {"suspend": false}}))
        .await
        .unwrap();
    namespace
        .wait_for_blocks("released", blocks_done(&suspended) + 1)
        .await;
    namespace
        .runs
        .delete("released", &DeleteParams::default())
        .await
        .unwrap();
    namespace.wait_for_deletion("released").await;
    queues.await_released().await;
    namespace.delete().await;
}

/// A gang that cannot be placed loses its quota to the next one, and waits as before its admission.
#[tokio::test]
#[ignore = "needs Kueue: .ci/operator-test kueue"]
async fn gang_whose_pods_are_not_ready_in_time_waits_again() {
    let nodes = reserve_nodes().await;
    let _configured = WaitForPodsReady::with_timeout(30).await;
    let namespace = TestNamespace::new(&nodes).await;
    let queues = Queues::new(&namespace.name, GANG_CPUS);
    let _operator = namespace.operator();
    let mut unplaceable = queued("unplaceable", 1);
    let no_node = [("fabricbench.dev/no-node".to_owned(), "true".to_owned())];
    unplaceable.spec.placement.node_selector.extend(no_node);
    namespace.create(&unplaceable).await;
    until_within(TIMEOUT, || async {
        let status = namespace.status("unplaceable").await;
        condition(&status, "Running").filter(|(_, reason, _)| reason == "Unschedulable")
    })
    .await;
    namespace.create(&queued("next", 1)).await;
    let next = execution(&namespace.wait_for_completion("next").await);
    assert_eq!(
        (next.attempts.len(), next.disruptions, next.preemptions),
        (1, 0, 0)
    );
    let status = namespace.status("unplaceable").await;
    let waiting = condition(&status, "Running").unwrap();
    println!("{waiting:?}");
    let execution = execution(&status);
    assert_eq!(waiting.1, "WaitingForAdmission");
    assert_eq!(
        (
            execution.attempts.len(),
            execution.disruptions,
            execution.preemptions
        ),
        (1, 0, 0),
        "an attempt without records is not lost"
    );
    namespace.delete().await;
    drop(queues);
}
