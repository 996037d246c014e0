//! Failures of pods, kubelets, containerd and the network during a campaign. Stored blocks are
//! retained, another attempt measures the missing blocks, and the status reports the reason for the failure.

use std::time::{Duration, Instant};

use crds::v1alpha1::{AttemptState, BenchmarkRunStatus, State};
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::Api;
use kube::api::DeleteParams;

use super::nodes::{Nodes, reserve_nodes, share_nodes};
use super::test_namespace::{TIMEOUT, TestNamespace, blocks_done, condition, with_rounds};
use super::testbed::{Fault, Testbed};
use test_support::cluster::until_within;

/// Number of rounds in a campaign that is disturbed after its first blocks have been stored.
const ROUNDS: u32 = 30;

/// Starts a campaign and waits until at least one block is stored.
pub async fn start_campaign(nodes: &Nodes, name: &str) -> (TestNamespace, test_support::operator::Operator) {
    let namespace = TestNamespace::new(nodes).await;
    let operator = namespace.operator();
    namespace.create(&with_rounds(name, ROUNDS)).await;
    namespace.wait_for_blocks(name, 1).await;
    (namespace, operator)
}

/// Maximum time from the end of a fault until another block is stored, or until a deleted namespace is gone.
pub const MAX_RECOVERY: Duration = Duration::from_secs(120);

/// Waits until a campaign has stored more blocks than in `before`, or is complete. Fails after
/// [`MAX_RECOVERY`]. Prints the time since `ended`, when the fault ended.
pub async fn assert_recovers(
    namespace: &TestNamespace,
    name: &str,
    before: &BenchmarkRunStatus,
    ended: Instant,
) {
    let done = blocks_done(before);
    until_within(MAX_RECOVERY, || async {
        let status = namespace.status(name).await;
        (blocks_done(&status) > done || status.state == Some(State::Complete)).then_some(())
    })
    .await;
    println!(
        "{name}: another block {:?} after the fault ended",
        ended.elapsed()
    );
}

/// Waits until the first attempt of a run has ended. Returns the status.
async fn first_attempt_ends(namespace: &TestNamespace, name: &str) -> BenchmarkRunStatus {
    until_within(TIMEOUT, || async {
        let status = namespace.status(name).await;
        let first = status.execution.as_ref()?.attempts.first()?;
        let has_ended = !matches!(first.state, AttemptState::Starting | AttemptState::Running);
        has_ended.then_some(status)
    })
    .await
}

/// Formats the attempts as `leg.attempt state reason: message`.
fn attempts(status: &BenchmarkRunStatus) -> Vec<String> {
    let attempts = &status.execution.as_ref().unwrap().attempts;
    let lines = attempts.iter().map(|attempt| {
        let reason = attempt.reason.as_deref().unwrap_or("-");
        format!(
            "{}.{} {:?} {reason}: {}",
            attempt.leg,
            attempt.attempt,
            attempt.state,
            attempt.message.as_deref().unwrap_or("-")
        )
    });
    lines.collect()
}

/// Checks that the first attempt was disrupted for one of `reasons` and that a second attempt completes the run.
async fn check_retry(namespace: &TestNamespace, name: &str, reasons: &[&str]) {
    let status = namespace.wait_for_completion(name).await;
    println!("{name}: {:#?}", attempts(&status));
    let first = &status.execution.as_ref().unwrap().attempts[0];
    assert_eq!(first.state, AttemptState::Disrupted);
    assert!(
        reasons.contains(&first.reason.as_deref().unwrap()),
        "{:?}",
        first.reason
    );
    assert_eq!(status.execution.as_ref().unwrap().attempts.len(), 2);
}

/// Checks that the failure did not disturb the workers, so the first attempt measured all blocks.
pub fn assert_undisturbed(what: &str, status: &BenchmarkRunStatus) {
    let all = &status.execution.as_ref().unwrap().attempts;
    println!("{what}: {:#?}", attempts(status));
    let states: Vec<_> = all.iter().map(|attempt| attempt.state).collect();
    assert_eq!(states, [AttemptState::Measured]);
}

/// Checks that a fault occurred before the campaign had ended. Returns the status.
async fn assert_in_progress(namespace: &TestNamespace, name: &str) -> BenchmarkRunStatus {
    let status = namespace.status(name).await;
    let progress = status.progress.as_ref().unwrap();
    assert_eq!(status.state, Some(State::Running));
    assert!(progress.blocks_done < progress.blocks_total, "{progress:?}");
    status
}

async fn check_killed_pod(nodes: &Nodes, name: &str, rank: u32) {
    let (namespace, _operator) = start_campaign(nodes, name).await;
    let pod = namespace.worker(rank).await.unwrap().metadata.name.unwrap();
    namespace
        .pods
        .delete(&pod, &DeleteParams::default().grace_period(0))
        .await
        .unwrap();
    let killed = Instant::now();
    let before = first_attempt_ends(&namespace, name).await;
    assert_recovers(&namespace, name, &before, killed).await;
    check_retry(&namespace, name, &["PodDeleted", "WorkerKilled"]).await;
    namespace.delete().await;
}

#[tokio::test]
async fn retries_after_coordinator_pod_is_killed() {
    let nodes = share_nodes().await;
    check_killed_pod(&nodes, "coordinator", 0).await;
}

#[tokio::test]
async fn retries_after_worker_pod_is_killed() {
    let nodes = share_nodes().await;
    check_killed_pod(&nodes, "worker", 1).await;
}

#[tokio::test]
async fn completes_after_kubelet_restart() {
    let nodes = reserve_nodes().await;
    // Locked first, so that the campaign does not end while the test waits.
    let testbed = Testbed::lock().await;
    let (namespace, _operator) = start_campaign(&nodes, "kubelet").await;
    let node = node_of(&namespace, 0).await;
    // The workers continue to measure while the kubelet is stopped. Only their logs are unavailable.
    let fault = Fault::inject(testbed, &["node", "stop", &node], &["node", "start", &node]);
    let before = assert_in_progress(&namespace, "kubelet").await;
    drop(fault);
    assert_recovers(&namespace, "kubelet", &before, Instant::now()).await;
    let status = namespace.wait_for_completion("kubelet").await;
    assert_undisturbed("kubelet", &status);
    namespace.delete().await;
}

#[tokio::test]
async fn completes_after_containerd_is_killed() {
    let nodes = reserve_nodes().await;
    let testbed = Testbed::lock().await;
    let (namespace, _operator) = start_campaign(&nodes, "containerd").await;
    let node = nodes.names[1].as_str();
    let fault = Fault::inject(testbed, &["node", "crash", node], &["node", "start", node]);
    let before = assert_in_progress(&namespace, "containerd").await;
    drop(fault);
    assert_recovers(&namespace, "containerd", &before, Instant::now()).await;
    let status = namespace.wait_for_completion("containerd").await;
    assert_undisturbed("containerd", &status);
    namespace.delete().await;
}

#[tokio::test]
async fn retries_after_network_partition() {
    let nodes = reserve_nodes().await;
    let testbed = Testbed::lock().await;
    let (namespace, _operator) = start_campaign(&nodes, "partition").await;
    let node = nodes.names[1].as_str();
    let mut fault = Fault::inject(testbed, &["node", "partition", node], &["node", "heal", node]);
    let injected = Instant::now();
    assert_in_progress(&namespace, "partition").await;
    fault.unlock();
    // The pods count as lost only after the node's grace period and the workers' `tolerationSeconds` have passed.
    let before = first_attempt_ends(&namespace, "partition").await;
    println!("partition: the attempt ended after {:?}", injected.elapsed());
    drop(fault);
    assert_recovers(&namespace, "partition", &before, Instant::now()).await;
    check_retry(&namespace, "partition", &["NodeLost"]).await;
    namespace.delete().await;
}

#[tokio::test]
async fn reports_deleted_records_as_lost() {
    let nodes = share_nodes().await;
    let (namespace, operator) = start_campaign(&nodes, "records").await;
    let maps: Api<ConfigMap> = Api::namespaced(namespace.client.clone(), &namespace.name);
    let stored = maps.list(&Default::default()).await.unwrap().items;
    let name = stored
        .iter()
        .filter_map(|map| map.metadata.name.clone())
        .find(|name| name.contains("records"));
    maps.delete(&name.unwrap(), &DeleteParams::default())
        .await
        .unwrap();
    // The loss is detected when the records are read again, at the latest by a new operator.
    drop(operator);
    let _next = namespace.operator();
    let status = namespace.wait_for_end("records").await;
    assert_eq!(status.state, Some(State::Failed));
    let (_, reason, message) = condition(&status, "Failed").unwrap();
    println!("records: {reason}: {message}");
    assert_eq!(reason, "RecordsLost");
    namespace.delete().await;
}

async fn node_of(namespace: &TestNamespace, rank: u32) -> String {
    let pod: Pod = namespace.worker(rank).await.unwrap();
    pod.spec.unwrap().node_name.unwrap()
}
