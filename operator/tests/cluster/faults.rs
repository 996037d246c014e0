//! What breaks while a campaign goes on: pods, kubelets, containerd, the network, the API server. What was measured stays,
//! what is missing is measured again, and the status says why.

use std::process::Command;

use crds::v1alpha1::{AttemptState, BenchmarkRunStatus, State};
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::Api;
use kube::api::DeleteParams;

use super::campaign::{Place, condition, with_rounds};
use super::cluster::kubeconfig;
use super::testbed::{Mended, testbed};

/// Rounds of a campaign that is disturbed after its first blocks are kept.
const ROUNDS: u32 = 30;

/// A campaign that is under way, with at least one block kept.
async fn under_way(name: &str) -> (Place, super::operator::Operator) {
    let place = Place::new().await;
    let operator = place.operator();
    place.create(&with_rounds(name, ROUNDS)).await;
    place.measured(name, 1).await;
    (place, operator)
}

/// Attempts, each as `leg.attempt state reason`.
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

/// The run went on with another attempt because of one of `reasons`, and is complete.
async fn went_on(place: &Place, name: &str, reasons: &[&str]) {
    let status = place.completed(name).await;
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

async fn killed(name: &str, rank: u32) {
    let (place, _operator) = under_way(name).await;
    let pod = place.worker(rank).await.unwrap().metadata.name.unwrap();
    place
        .pods
        .delete(&pod, &DeleteParams::default().grace_period(0))
        .await
        .unwrap();
    went_on(&place, name, &["PodDeleted", "WorkerKilled"]).await;
    place.leave().await;
}

#[tokio::test]
async fn the_coordinator_pod_is_killed() {
    killed("coordinator", 0).await;
}

#[tokio::test]
async fn another_worker_pod_is_killed() {
    killed("worker", 1).await;
}

#[tokio::test]
async fn a_kubelet_stops_and_comes_back() {
    let (place, _operator) = under_way("kubelet").await;
    let node = node_of(&place, 0).await;
    let start = ["node", "start", &node];
    let mended = Mended(&start);
    testbed(&["node", "stop", &node]);
    // Its workers go on measuring meanwhile; only their log cannot be read.
    drop(mended);
    let status = place.completed("kubelet").await;
    println!("kubelet: {:#?}", attempts(&status));
    place.leave().await;
}

#[tokio::test]
async fn a_containerd_is_killed() {
    let (place, _operator) = under_way("containerd").await;
    let mended = Mended(&["node", "start", "node-2"]);
    testbed(&["node", "crash", "node-2"]);
    drop(mended);
    let status = place.completed("containerd").await;
    println!("containerd: {:#?}", attempts(&status));
    place.leave().await;
}

#[tokio::test]
async fn a_node_is_cut_off() {
    let (place, _operator) = under_way("partition").await;
    let mended = Mended(&["node", "heal", "node-2"]);
    testbed(&["node", "partition", "node-2"]);
    // Its pods are taken for lost when it has not answered for its grace period and the toleration of workers.
    super::cluster::until_within(super::campaign::PATIENCE, || async {
        let status = place.status("partition").await;
        let attempts = status.execution?.attempts;
        (attempts.first()?.state != AttemptState::Running).then_some(())
    })
    .await;
    let status = place.status("partition").await;
    println!(
        "partition, while cut off: {:?} {:#?}",
        status.state,
        attempts(&status)
    );
    drop(mended);
    let status = place.completed("partition").await;
    println!("partition: {:#?}", attempts(&status));
    place.leave().await;
}

#[tokio::test]
async fn the_api_server_is_killed_and_comes_back() {
    let (place, operator) = under_way("api-server").await;
    let record = kubeconfig().with_file_name("run/kube-apiserver.pid");
    let record = std::fs::read_to_string(record).unwrap();
    let pid = record.split_whitespace().next().unwrap();
    assert!(
        Command::new("kill")
            .args(["-s", "KILL", pid])
            .status()
            .unwrap()
            .success()
    );
    testbed(&["up"]);
    let status = place.completed("api-server").await;
    println!("API server: {:#?}", attempts(&status));
    assert_eq!(
        status.execution.as_ref().unwrap().attempts.len(),
        1,
        "the workers knew nothing of it"
    );
    operator.ready().await;
    place.leave().await;
}

#[tokio::test]
async fn records_that_somebody_deletes_are_said_to_be_lost() {
    let (place, operator) = under_way("records").await;
    let maps: Api<ConfigMap> = Api::namespaced(place.client.clone(), &place.namespace);
    let kept = maps.list(&Default::default()).await.unwrap().items;
    let name = kept
        .iter()
        .filter_map(|map| map.metadata.name.clone())
        .find(|name| name.contains("records"));
    maps.delete(&name.unwrap(), &DeleteParams::default())
        .await
        .unwrap();
    // Whoever reads the records next, misses them: at once for an append, at the latest a new operator.
    drop(operator);
    let _next = place.operator();
    let status = place.ended("records").await;
    assert_eq!(status.state, Some(State::Failed));
    let (_, reason, message) = condition(&status, "Failed").unwrap();
    println!("records: {reason}: {message}");
    assert_eq!(reason, "RecordsLost");
    place.leave().await;
}

async fn node_of(place: &Place, rank: u32) -> String {
    let pod: Pod = place.worker(rank).await.unwrap();
    pod.spec.unwrap().node_name.unwrap()
}
