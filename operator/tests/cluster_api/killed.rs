//! Kills the operator at every write until the first Job is recorded, either before or after the API server executes
//! the write. The next operator completes the work without duplicating objects.

use crds::names;
use crds::v1alpha1::BenchmarkRun;
use futures::{StreamExt, stream};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, Service};
use kube::Api;
use kube::api::PostParams;

use super::start;
use test_support::cluster::{TIMEOUT, all, client, create_namespace, run, until};
use test_support::proxy::{KillPoint, Moment, Proxy};

/// Number of writes until the status contains the Job: finalizer, Service, ConfigMap, Job and status. For a run with a
/// queue, the Job is written first.
const WRITES: usize = 5;
/// Number of operators that are killed at the same time. Each has its own namespace.
const CONCURRENT: usize = 4;

#[tokio::test]
async fn recovers_after_being_killed_at_any_write() {
    let client = &client().await;
    let kills = [None, Some("queue")].into_iter().flat_map(|queue| {
        (0..WRITES).flat_map(move |write| {
            [Moment::Before, Moment::After].map(|moment| check_kill_at(client, queue, write, moment))
        })
    });
    stream::iter(kills)
        .for_each_concurrent(CONCURRENT, |kill| kill)
        .await;
}

async fn check_kill_at(client: &kube::Client, queue: Option<&str>, write: usize, moment: Moment) {
    let namespace = create_namespace(client).await;
    let proxy = Proxy::open(client).await;
    let mut operator = start::without_election(&proxy.kubeconfig, &namespace);
    operator.ready().await;
    proxy.kill_at(KillPoint {
        kind: None,
        index: write,
        moment,
        pid: operator.id(),
    });
    let runs: Api<BenchmarkRun> = Api::namespaced(client.clone(), &namespace);
    let mut run = run("killed");
    run.spec.placement.queue_name = queue.map(str::to_owned);
    runs.create(&PostParams::default(), &run).await.unwrap();
    assert!(!operator.wait(TIMEOUT).await.success());
    assert!(
        proxy.has_killed(),
        "{queue:?} write {write} {moment:?} did not occur"
    );

    let _next = start::without_election(&proxy.kubeconfig, &namespace);
    let recorded = until(|| async {
        let status = runs.get("killed").await.ok()?.status?;
        status.execution?.attempts.pop()
    })
    .await;
    let jobs: Vec<Job> = all(client, &namespace).await;
    assert_eq!(jobs.len(), 1, "{queue:?} write {write} {moment:?}");
    assert_eq!(jobs[0].metadata.uid.as_ref(), Some(&recorded.job_uid));
    assert_eq!((recorded.leg, recorded.attempt), (0, 1));
    let maps: Vec<ConfigMap> = all(client, &namespace).await;
    assert_eq!(
        maps.iter()
            .filter(|map| map.metadata.owner_references.is_some())
            .count(),
        1
    );
    assert_eq!(all::<Service>(client, &namespace).await.len(), 1);
    let run = runs.get("killed").await.unwrap();
    assert_eq!(
        run.metadata.finalizers.as_deref(),
        Some(&[names::FINALIZER.to_owned()][..])
    );
}
