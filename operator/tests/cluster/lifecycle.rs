//! Tests that suspend, resume, edit and delete runs, and tests for deadlines and TTLs.

use std::time::Instant;

use crds::v1alpha1::State;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, Service};
use kube::api::DeleteParams;
use serde_json::json;

use super::faults::MAX_RECOVERY;
use super::nodes::{reserve_nodes, share_nodes};
use super::test_namespace::{TIMEOUT, TestNamespace, blocks_done, condition, with_rounds};
use test_support::cluster::{all, run, until_within};

#[tokio::test]
async fn suspend_deletes_pods_and_resume_measures_missing_blocks() {
    let nodes = share_nodes().await;
    let namespace = TestNamespace::new(&nodes).await;
    let _operator = namespace.operator();
    namespace.create(&with_rounds("suspended", 30)).await;
    namespace.wait_for_blocks("suspended", 2).await;
    namespace
        .patch("suspended", json!({"spec": {"suspend": true}}))
        .await
        .unwrap();
    until_within(TIMEOUT, || async {
        let status = namespace.status("suspended").await;
        let pods_gone = namespace
            .pods
            .list(&Default::default())
            .await
            .unwrap()
            .items
            .is_empty();
        (status.state == Some(State::Suspended) && pods_gone).then_some(())
    })
    .await;
    let status = namespace.status("suspended").await;
    assert_eq!(condition(&status, "Suspended").unwrap().0, "True");
    let before = (
        blocks_done(&status),
        status.execution.as_ref().unwrap().active_seconds,
    );
    assert!(before.0 >= 2, "finished blocks must be retained");
    assert_eq!(
        status.execution.as_ref().unwrap().active_since,
        None,
        "a suspended run must not accumulate active time"
    );
    namespace
        .patch("suspended", json!({"spec": {"suspend": false}}))
        .await
        .unwrap();
    let status = namespace.wait_for_completion("suspended").await;
    println!(
        "suspended after {} of {} blocks, {} s",
        before.0,
        blocks_done(&status),
        before.1
    );
    assert_eq!(status.execution.unwrap().attempts.len(), 2);
    namespace.delete().await;
}

#[tokio::test]
async fn spec_is_immutable_and_deletion_removes_all_objects() {
    let nodes = share_nodes().await;
    let namespace = TestNamespace::new(&nodes).await;
    let _operator = namespace.operator();
    namespace.create(&with_rounds("deleted", 30)).await;
    namespace.wait_for_blocks("deleted", 1).await;
    let error = namespace
        .patch("deleted", json!({"spec": {"sampling": {"rounds": 31}}}))
        .await;
    let error = error.unwrap_err().to_string();
    println!("edited: {error}");
    assert!(
        error.contains("suspend"),
        "the message must name the mutable fields: {error}"
    );
    namespace
        .patch(
            "deleted",
            json!({"spec": {"runPolicy": {"ttlSecondsAfterFinished": 3600}}}),
        )
        .await
        .unwrap();

    namespace
        .runs
        .delete("deleted", &DeleteParams::default())
        .await
        .unwrap();
    until_within(TIMEOUT, || async {
        // The run must continue to exist as long as any of its pods exist.
        let deleted = namespace.runs.get_opt("deleted").await.unwrap().is_none();
        let pods = namespace.pods.list(&Default::default()).await.unwrap().items;
        assert!(!deleted || pods.is_empty());
        deleted.then_some(())
    })
    .await;
    until_within(TIMEOUT, || async {
        let remaining = all::<Job>(&namespace.client, &namespace.name).await.len()
            + all::<Service>(&namespace.client, &namespace.name).await.len()
            + all::<ConfigMap>(&namespace.client, &namespace.name)
                .await
                .iter()
                .filter(|map| map.metadata.owner_references.is_some())
                .count();
        (remaining == 0).then_some(())
    })
    .await;
    namespace.delete().await;
}

#[tokio::test]
async fn namespace_with_an_active_run_can_be_deleted() {
    let nodes = reserve_nodes().await;
    let namespace = TestNamespace::new(&nodes).await;
    let (_proxy, operator) = namespace.cluster_operator().await;
    namespace.create(&with_rounds("namespace", 30)).await;
    namespace.wait_for_blocks("namespace", 1).await;
    let started = Instant::now();
    namespace.delete_with_runs().await;
    println!("the namespace is gone after {:?}", started.elapsed());
    assert!(started.elapsed() < MAX_RECOVERY);
    operator.ready().await;
}

#[tokio::test]
async fn finished_run_keeps_its_pods_until_the_ttl() {
    let nodes = share_nodes().await;
    let namespace = TestNamespace::new(&nodes).await;
    let _operator = namespace.operator();
    namespace.create(&run("finished")).await;
    namespace.wait_for_completion("finished").await;
    let log = namespace.worker(0).await.unwrap().metadata.name.unwrap();
    let log = namespace.pods.logs(&log, &Default::default()).await.unwrap();
    assert!(log.starts_with("{\"seq\":0"), "the log must be readable");
    namespace
        .patch(
            "finished",
            json!({"spec": {"runPolicy": {"ttlSecondsAfterFinished": 1}}}),
        )
        .await
        .unwrap();
    namespace.wait_for_deletion("finished").await;
    namespace.delete().await;
}

#[tokio::test]
async fn run_fails_at_its_deadline_and_keeps_records() {
    let nodes = share_nodes().await;
    let namespace = TestNamespace::new(&nodes).await;
    let _operator = namespace.operator();
    let mut run = with_rounds("slow", 60);
    run.spec.run_policy.active_deadline_seconds = 10;
    run.spec.scenarios[0].ping_pong.as_mut().unwrap().iterations = Some(20_000);
    namespace.create(&run).await;
    let status = namespace.wait_for_end("slow").await;
    let (_, reason, message) = condition(&status, "Failed").unwrap();
    println!("{reason}: {message}; {} blocks stored", blocks_done(&status));
    assert_eq!(
        (status.state, reason.as_str()),
        (Some(State::Failed), "DeadlineExceeded")
    );
    let run = namespace.runs.get("slow").await.unwrap();
    assert!(blocks_done(&status) > 0 && !namespace.lines(&run).await.is_empty());
    namespace.delete().await;
}
