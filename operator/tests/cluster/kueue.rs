//! Runs in queues of a real Kueue, which `.ci/operator-test kueue` installs. These tests are ignored otherwise: while Kueue is
//! installed, the API server creates Jobs only if Kueue's pod responds, so the tests that disturb nodes cannot run.

mod configuration;
mod devices;
mod queues;

use std::time::{Duration, Instant};

use crds::v1alpha1::{AttemptState, BenchmarkRun, BenchmarkRunStatus, ExecutionStatus, State};
use jiff::Timestamp;
use k8s_openapi::api::events::v1::Event;
use kube::api::DeleteParams;
use kube::{Api, ResourceExt};
use serde_json::json;

use super::nodes::{Nodes, reserve_nodes};
use super::test_namespace::{TIMEOUT, TestNamespace, blocks_done, condition, with_rounds};
use super::testbed::{RUNNER_IMAGE, image_of};
use configuration::Configuration;
use queues::{GANG_CPUS, QUEUE, Queues};
use test_support::cluster::{delete_namespace, until_within};

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

/// Returns a queued campaign that takes long enough to be disturbed.
fn long(name: &str) -> BenchmarkRun {
    let mut run = queued(name, ROUNDS);
    run.spec.scenarios[0].ping_pong.as_mut().unwrap().iterations = Some(ITERATIONS);
    run
}

fn execution(status: &BenchmarkRunStatus) -> ExecutionStatus {
    status.execution.clone().unwrap_or_default()
}

/// Creates a queued campaign, and the queue for it.
async fn create_campaign(nodes: &Nodes, name: &str) -> (TestNamespace, Queues) {
    let namespace = TestNamespace::new(nodes).await;
    let queues = Queues::new(&namespace.name, GANG_CPUS);
    namespace.create(&long(name)).await;
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

/// A competitor of the same priority waits until a leg has ended. A Job of a higher priority preempts a leg, or gets the
/// quota between two legs.
#[tokio::test]
#[ignore = "needs Kueue: .ci/operator-test kueue"]
async fn run_of_several_legs_completes_beside_a_competitor_and_an_urgent_job() {
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
    until_within(TIMEOUT, || async {
        queues.has_completed("competitor").then_some(())
    })
    .await;
    let undisturbed = execution(&wait_until_running(&namespace, "legs", 1).await);
    assert_eq!((undisturbed.disruptions, undisturbed.preemptions), (0, 0));
    queues.compete("urgent", 5, Some(&queues.priority_class()));

    let status = namespace.wait_for_completion("legs").await;
    let execution = execution(&status);
    println!("{} blocks, {execution:#?}", blocks_done(&status));
    assert!(queues.has_completed("urgent"));
    assert!(execution.attempts.len() > 2, "the run must have several legs");
    let preempted = execution.attempts.iter().filter(|attempt| {
        attempt.state != AttemptState::Measured && attempt.reason.as_deref() == Some("Preempted")
    });
    let preempted = preempted.count();
    assert!(preempted <= 1, "the urgent Job preempts at most one leg");
    assert_eq!(
        (execution.disruptions, execution.preemptions as usize),
        (0, preempted)
    );
    let measured = execution
        .attempts
        .iter()
        .filter(|one| one.state == AttemptState::Measured);
    assert_eq!(measured.count() + preempted, execution.attempts.len());
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

/// Returns a queued run whose gang no node fits.
fn unplaceable() -> BenchmarkRun {
    let mut run = queued("unplaceable", 1);
    let no_node = [("fabricbench.dev/no-node".to_owned(), "true".to_owned())];
    run.spec.placement.node_selector.extend(no_node);
    run
}

/// Waits until a run waits for `reason`. Returns the message.
async fn wait_until_waiting(namespace: &TestNamespace, name: &str, reason: &str) -> String {
    until_within(TIMEOUT, || async {
        let status = namespace.status(name).await;
        let (_, found, message) = condition(&status, "Running")?;
        (found == reason).then_some(message)
    })
    .await
}

/// A gang that cannot be placed loses its quota to the next one, and waits as before its admission.
#[tokio::test]
#[ignore = "needs Kueue: .ci/operator-test kueue"]
async fn gang_whose_pods_are_not_ready_in_time_waits_again() {
    let nodes = reserve_nodes().await;
    let _configured = Configuration::wait_for_pods_ready(30).await;
    let namespace = TestNamespace::new(&nodes).await;
    let queues = Queues::new(&namespace.name, GANG_CPUS);
    let _operator = namespace.operator();
    namespace.create(&unplaceable()).await;
    wait_until_waiting(&namespace, "unplaceable", "Unschedulable").await;
    namespace.create(&queued("next", 1)).await;
    let next = execution(&namespace.wait_for_completion("next").await);
    assert_eq!(
        (next.attempts.len(), next.disruptions, next.preemptions),
        (1, 0, 0)
    );
    let message = wait_until_waiting(&namespace, "unplaceable", "WaitingForAdmission").await;
    println!("{message}");
    let execution = execution(&namespace.status("unplaceable").await);
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

/// With `blockAdmission`, a gang that cannot be placed keeps others waiting even if there is quota for them, until it is
/// evicted. A run whose Workload Kueue then deactivates fails at its pending deadline.
#[tokio::test]
#[ignore = "needs Kueue: .ci/operator-test kueue"]
async fn blocked_gang_is_admitted_after_the_eviction_and_the_deactivated_run_fails() {
    let nodes = reserve_nodes().await;
    let _configured = Configuration::block_admission(20).await;
    let namespace = TestNamespace::new(&nodes).await;
    let queues = Queues::new(&namespace.name, 2 * GANG_CPUS);
    let _operator = namespace.operator();
    let mut first = unplaceable();
    first.spec.run_policy.pending_deadline_seconds = 45;
    namespace.create(&first).await;
    wait_until_waiting(&namespace, "unplaceable", "Unschedulable").await;
    let next = namespace.create(&queued("next", 1)).await;
    let blocking = execution(&namespace.status("unplaceable").await);
    let evicted = queues.wait_for_eviction(&blocking.attempts[0].job_uid).await;
    assert!(
        next.creation_timestamp().unwrap().0 < evicted,
        "the second run was created too late to wait for the eviction at {evicted}"
    );
    let next = execution(&namespace.wait_for_completion("next").await);
    let admitted: Timestamp = next.attempts[0].admitted_at.as_ref().unwrap().parse().unwrap();
    println!("evicted at {evicted}; the other run was admitted at {admitted}");
    assert!(
        admitted >= evicted,
        "the other run must wait although the quota is large enough for both"
    );
    let failed = namespace.wait_for_end("unplaceable").await;
    let (_, reason, message) = condition(&failed, "Failed").unwrap();
    println!("{reason}: {message}");
    assert_eq!(reason, "PendingDeadlineExceeded");
    assert!(message.contains("Workload is deactivated"), "{message}");
    let execution = execution(&failed);
    assert_eq!(
        (execution.attempts.len(), execution.preemptions),
        (1, 0),
        "{execution:#?}"
    );
    queues.await_released().await;
    namespace.delete().await;
}

/// The annotations of the run reach the pod template, so Kueue chooses the nodes.
#[tokio::test]
#[ignore = "needs Kueue: .ci/operator-test kueue"]
async fn gang_is_placed_in_the_requested_topology() {
    let nodes = reserve_nodes().await;
    let namespace = TestNamespace::new(&nodes).await;
    let (level, _) = nodes.selector.first_key_value().unwrap();
    // Kueue does not know the anti-affinity of the workers. Each of them needs the CPUs of a whole node.
    let queues = Queues::with_topology(&namespace.name, 2 * GANG_CPUS, level);
    let _operator = namespace.operator();
    let mut run = queued("placed", 1);
    run.spec.resources.cpus = Some(GANG_CPUS);
    let annotation = (
        "kueue.x-k8s.io/podset-required-topology".to_owned(),
        level.clone(),
    );
    run.metadata.annotations = Some([annotation].into());
    namespace.create(&run).await;
    wait_until_running(&namespace, "placed", 1).await;
    let pods = namespace.pods.list(&Default::default()).await.unwrap();
    let host_of = |pod: &k8s_openapi::api::core::v1::Pod| {
        let spec = pod.spec.as_ref().unwrap();
        let chosen = spec.node_selector.as_ref()?.get("kubernetes.io/hostname")?;
        (Some(chosen) == spec.node_name.as_ref()).then(|| chosen.clone())
    };
    let mut chosen: Vec<_> = pods.iter().filter_map(host_of).collect();
    chosen.sort();
    println!("Kueue chose {chosen:?}");
    assert_eq!(chosen, nodes.names, "Kueue chose a node for each worker");
    namespace.wait_for_completion("placed").await;
    queues.await_released().await;
    namespace.delete().await;
}

/// One queue borrows the quota of two gangs, until another queue of the cohort wants its share.
#[tokio::test]
#[ignore = "needs Kueue: .ci/operator-test kueue"]
async fn fair_sharing_preempts_one_of_two_runs_that_exceed_their_share() {
    let nodes = reserve_nodes().await;
    let _configured = Configuration::fair_sharing().await;
    let lender = TestNamespace::new(&nodes).await;
    let quota = Queues::new(&lender.name, 2 * GANG_CPUS);
    let (greedy, greedy_queues) = borrower(&nodes, &quota).await;
    let _operator = greedy.operator();
    for name in ["first", "second"] {
        greedy.create(&long(name)).await;
    }
    for name in ["first", "second"] {
        wait_until_running(&greedy, name, 1).await;
    }
    let (modest, modest_queues) = borrower(&nodes, &quota).await;
    let _other_operator = modest.operator();
    modest.create(&queued("third", 1)).await;
    let third = execution(&modest.wait_for_completion("third").await);
    assert_eq!((third.disruptions, third.preemptions), (0, 0));
    let mut preemptions = Vec::new();
    for name in ["first", "second"] {
        let execution = execution(&greedy.wait_for_completion(name).await);
        assert_eq!(execution.disruptions, 0, "{execution:#?}");
        preemptions.push(execution.preemptions);
    }
    preemptions.sort_unstable();
    assert_eq!(preemptions, [0, 1]);
    greedy_queues.await_released().await;
    modest_queues.await_released().await;
    greedy.delete().await;
    modest.delete().await;
    delete_namespace(&lender.client, &lender.name).await;
}

/// Creates a namespace whose queue has only the quota that it borrows from `lender`.
async fn borrower(nodes: &Nodes, lender: &Queues) -> (TestNamespace, Queues) {
    let namespace = TestNamespace::new(nodes).await;
    let queues = Queues::borrowing(&namespace.name, lender);
    (namespace, queues)
}
