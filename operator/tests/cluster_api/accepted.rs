//! From `kubectl apply` to the first Job: what is written, how often, and when nothing is.

use std::time::Instant;

use crds::v1alpha1::{BenchmarkRun, State};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, Service};
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use serde_json::json;

use super::cluster::{all, client, condition, namespace, run, until};
use super::operator::Operator;
use super::proxy::Proxy;

#[tokio::test]
async fn a_run_gets_its_first_job_in_few_requests_and_then_nothing_is_written() {
    let client = client().await;
    let namespace = namespace(&client).await;
    let proxy = Proxy::open(&client).await;
    let operator = Operator::start(&proxy.kubeconfig, &namespace);
    operator.ready().await;
    let runs: Api<BenchmarkRun> = Api::namespaced(client.clone(), &namespace);
    until(|| async { (operator.metric("fabricbench_leading") == 1.0).then_some(()) }).await;
    let idle = operator.memory_kib("VmRSS");

    let began = Instant::now();
    runs.create(&PostParams::default(), &run("first")).await.unwrap();
    let job = until(|| async { all::<Job>(&client, &namespace).await.pop() }).await;
    println!(
        "first Job after {:?}; resident before: {idle} KiB",
        began.elapsed()
    );
    let is_pending = |run: &BenchmarkRun| {
        run.status
            .as_ref()?
            .state
            .filter(|state| *state == State::Pending)
    };
    let shown = until(|| async {
        let run = runs.get("first").await.ok()?;
        is_pending(&run).map(|_| run)
    })
    .await;
    let writes = proxy.writes();
    println!("{} writes: {writes:#?}", writes.len());
    assert!(
        writes.len() <= 5,
        "one more is left for the status that says that it runs"
    );
    assert_eq!(condition(&shown, "Accepted"), Some("True"));
    let owner = job.metadata.owner_references.unwrap().remove(0);
    assert_eq!(Some(owner.uid), shown.metadata.uid);
    assert_eq!(
        all::<ConfigMap>(&client, &namespace)
            .await
            .iter()
            .filter(|map| { map.metadata.owner_references.is_some() })
            .count(),
        1
    );
    assert_eq!(all::<Service>(&client, &namespace).await.len(), 1);

    let looks = || operator.metric("fabricbench_reconcile_duration_seconds_count");
    let before = looks();
    let label = json!({"metadata": {"labels": {"seen": "yes"}}});
    runs.patch("first", &PatchParams::default(), &Patch::Merge(label))
        .await
        .unwrap();
    until(|| async { (looks() > before).then_some(()) }).await;
    assert_eq!(
        proxy.writes(),
        writes,
        "a look that finds nothing new writes nothing"
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
async fn a_run_that_cannot_be_planned_is_told_the_field() {
    let client = client().await;
    let namespace = namespace(&client).await;
    let proxy = Proxy::open(&client).await;
    let _operator = Operator::start(&proxy.kubeconfig, &namespace);
    let runs: Api<BenchmarkRun> = Api::namespaced(client.clone(), &namespace);
    let mut bad = run("bad");
    // The schema cannot see that both variants would send the same bytes the same way.
    bad.spec.variants[1].inject = None;
    runs.create(&PostParams::default(), &bad).await.unwrap();
    let refused = until(|| async {
        let run = runs.get("bad").await.ok()?;
        (condition(&run, "Accepted") == Some("False")).then_some(run)
    })
    .await;
    let status = refused.status.unwrap();
    assert!(
        status.conditions[0].message.contains("spec.variants[1]"),
        "{:?}",
        status.conditions
    );
    assert_eq!(status.state, Some(State::Failed));
    assert!(all::<Job>(&client, &namespace).await.is_empty());
}
