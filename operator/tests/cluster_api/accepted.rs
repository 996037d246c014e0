//! Tests that the operator needs few writes to create the first Job of a new run, and then writes nothing until
//! something changes.

use std::time::Instant;

use crds::v1alpha1::{BenchmarkRun, State};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, Service};
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use serde_json::json;

use super::start;
use test_support::cluster::{all, client, condition, create_namespace, run, until};
use test_support::proxy::Proxy;

#[tokio::test]
async fn creates_the_first_job_with_few_writes_and_then_stays_idle() {
    let client = client().await;
    let namespace = create_namespace(&client).await;
    let proxy = Proxy::open(&client).await;
    let operator = start::with_election(&proxy.kubeconfig, &namespace);
    operator.ready().await;
    let runs: Api<BenchmarkRun> = Api::namespaced(client.clone(), &namespace);
    until(|| async { (operator.metric("fabricbench_leading") == 1.0).then_some(()) }).await;
    let idle = operator.memory_kib("VmRSS");

    let start = Instant::now();
    runs.create(&PostParams::default(), &run("first")).await.unwrap();
    let job = until(|| async { all::<Job>(&client, &namespace).await.pop() }).await;
    println!(
        "first Job after {:?}; resident memory before: {idle} KiB",
        start.elapsed()
    );
    let is_pending = |run: &BenchmarkRun| {
        run.status
            .as_ref()?
            .state
            .filter(|state| *state == State::Pending)
    };
    let pending = until(|| async {
        let run = runs.get("first").await.ok()?;
        is_pending(&run).map(|_| run)
    })
    .await;
    let writes = proxy.writes();
    println!("{} writes: {writes:#?}", writes.len());
    assert!(
        writes.len() <= 5,
        "the first Job must not need more than five writes"
    );
    assert_eq!(condition(&pending, "Accepted"), Some("True"));
    let owner = job.metadata.owner_references.unwrap().remove(0);
    assert_eq!(Some(owner.uid), pending.metadata.uid);
    assert_eq!(
        all::<ConfigMap>(&client, &namespace)
            .await
            .iter()
            .filter(|map| { map.metadata.owner_references.is_some() })
            .count(),
        1
    );
    assert_eq!(all::<Service>(&client, &namespace).await.len(), 1);

    let reconciliations = || operator.metric("fabricbench_reconcile_duration_seconds_count");
    let before = reconciliations();
    let label = json!({"metadata": {"labels": {"seen": "yes"}}});
    runs.patch("first", &PatchParams::default(), &Patch::Merge(label))
        .await
        .unwrap();
    until(|| async { (reconciliations() > before).then_some(()) }).await;
    assert_eq!(
        proxy.writes(),
        writes,
        "a reconciliation without changes must not write"
    );

    runs.delete("first", &DeleteParams::default()).await.unwrap();
    until(|| async { runs.get_opt("first").await.unwrap().is_none().then_some(()) }).await;
    let last = proxy.writes().pop().unwrap();
    assert!(
        last.starts_with("PATCH") && last.ends_with("/benchmarkruns/first"),
        "{last}"
    );
}

#[tokio::test]
async fn status_identifies_the_field_of_an_invalid_run() {
    let client = client().await;
    let namespace = create_namespace(&client).await;
    let proxy = Proxy::open(&client).await;
    let _operator = start::with_election(&proxy.kubeconfig, &namespace);
    let runs: Api<BenchmarkRun> = Api::namespaced(client.clone(), &namespace);
    let mut bad = run("bad");
    // The schema cannot detect that both variants have the same settings.
    bad.spec.variants[1].inject = None;
    runs.create(&PostParams::default(), &bad).await.unwrap();
    let rejected = until(|| async {
        let run = runs.get("bad").await.ok()?;
        (condition(&run, "Accepted") == Some("False")).then_some(run)
    })
    .await;
    let status = rejected.status.unwrap();
    assert!(
        status.conditions[0].message.contains("spec.variants[1]"),
        "{:?}",
        status.conditions
    );
    assert_eq!(status.state, Some(State::Failed));
    assert!(all::<Job>(&client, &namespace).await.is_empty());
}
