//! Operators whose clock is wrong by an hour. They take all times from the API server.

use std::time::{Duration, Instant};

use crds::v1alpha1::{BenchmarkRun, State};
use jiff::Timestamp;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{DeleteParams, PostParams};
use kube::{Api, ResourceExt};
use serde_json::json;

use super::places::{create, create_pod};
use super::start;
use test_support::cluster::{all, client, condition, create_namespace, delete_namespace, run, until};
use test_support::proxy::Proxy;

/// An hour in seconds.
const HOUR: i64 = 3600;
/// Minimum time after which missing pods and pods that do not terminate are reported.
const OVERDUE_AFTER: Duration = Duration::from_secs(25);

#[tokio::test]
async fn no_deadline_depends_on_the_clock_of_the_operator() {
    let client = &client().await;
    let namespace = &create_namespace(client).await;
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}});
    create(client, namespace, account).await;
    let runs: &Api<BenchmarkRun> = &Api::namespaced(client.clone(), namespace);
    // The certificates of the test API server are less than an hour old, so a slow operator would reject them.
    let proxy = Proxy::open(client).await;
    let operator = |ahead: i64| start::with_clock_ahead(ahead, &proxy.kubeconfig, namespace);

    let slow = operator(-HOUR);
    runs.create(&PostParams::default(), &run("pods-missing"))
        .await
        .unwrap();
    let mut queued = run("pod-stuck");
    queued.spec.placement.queue_name = Some("queue".to_owned());
    runs.create(&PostParams::default(), &queued).await.unwrap();
    let created = Instant::now();
    let pending = until(|| async {
        let execution = runs.get("pods-missing").await.unwrap().status?.execution?;
        execution.attempts.first()?;
        execution.pending_since
    })
    .await;
    let since = runs
        .get("pods-missing")
        .await
        .unwrap()
        .creation_timestamp()
        .unwrap();
    let pending: Timestamp = pending.parse().unwrap();
    assert!(
        pending.duration_since(since.0).unsigned_abs() <= Duration::from_secs(30),
        "pending since {pending}, created at {}",
        since.0
    );
    let job = until(|| async {
        let uid = runs.get("pod-stuck").await.unwrap().uid().unwrap();
        let jobs: Vec<Job> = all(client, namespace).await;
        jobs.into_iter().find(|job| job.owner_references()[0].uid == uid)
    })
    .await;
    let pod = create_pod(client, &job, 0, Some("node")).await.unwrap();
    drop(slow);

    let _fast = operator(HOUR);
    let (missing, stuck) = tokio::join!(
        async {
            until(|| async {
                let run = runs.get("pods-missing").await.unwrap();
                let status = run.status.unwrap();
                assert_ne!(status.state, Some(State::Failed), "{:?}", status.conditions);
                let mut conditions = status.conditions.iter();
                conditions
                    .any(|condition| condition.message.contains("only 0 of 2 pods"))
                    .then_some(())
            })
            .await;
            created.elapsed()
        },
        async {
            runs.delete("pod-stuck", &DeleteParams::default()).await.unwrap();
            let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
            let deleted = Instant::now();
            pods.delete(&pod.name_any(), &DeleteParams::default().grace_period(1))
                .await
                .unwrap();
            until(|| async {
                let run = runs.get("pod-stuck").await.unwrap();
                (condition(&run, "CleanupBlocked") == Some("True")).then_some(())
            })
            .await;
            let blocked = deleted.elapsed();
            pods.delete(&pod.name_any(), &DeleteParams::default().grace_period(0))
                .await
                .unwrap();
            blocked
        },
    );
    println!("pods counted as missing after {missing:?}, a pod as stuck after {stuck:?}");
    assert!(missing >= OVERDUE_AFTER && stuck >= OVERDUE_AFTER);
    runs.delete("pods-missing", &DeleteParams::default())
        .await
        .unwrap();
    until(|| async {
        all::<BenchmarkRun>(client, namespace)
            .await
            .is_empty()
            .then_some(())
    })
    .await;
    delete_namespace(client, namespace).await;
}
