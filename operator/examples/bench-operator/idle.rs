//! Measures the operator when it has no work.

use std::time::Duration;

use crds::v1alpha1::BenchmarkRun;
use futures::{StreamExt, stream};
use kube::api::{Patch, PatchParams};
use serde_json::json;

use super::concurrent_runs::MAX_CONCURRENT_REQUESTS;
use super::counters::{
    cpu_seconds, reconciliations, requests, resident_mib, since, wait_until_settled, writes,
};
use super::results::{Goal, Results};
use super::test_cluster::TestCluster;
use test_support::cluster::until;
use test_support::operator::Operator;

/// Changes run labels to trigger reconciliations, and counts the writes. There should be none.
pub async fn unchanged_runs(cluster: &TestCluster, operator: &Operator, runs: usize, results: &mut Results) {
    let api = cluster.api::<BenchmarkRun>();
    wait_until_settled(operator).await;
    let (before, sent) = (reconciliations(operator), requests(operator));
    let label = Patch::Merge(json!({"metadata": {"labels": {"seen": "yes"}}}));
    let patches = (0..runs / 10).map(|number| {
        let (api, label) = (&api, &label);
        async move {
            let name = format!("run-{number}");
            api.patch_metadata(&name, &PatchParams::default(), label)
                .await
                .unwrap();
        }
    });
    stream::iter(patches)
        .buffer_unordered(MAX_CONCURRENT_REQUESTS)
        .collect::<()>()
        .await;
    let expected = before + (runs / 10) as f64;
    until(|| async { (reconciliations(operator) >= expected).then_some(()) }).await;
    wait_until_settled(operator).await;
    let written = writes(&since(&sent, &requests(operator)));
    let what = format!("writes by {} reconciliations without changes", runs / 10);
    results.add(what, Goal::AtMost(0.0), written);
}

/// Starts an operator for all existing runs, and measures it for `seconds` while it has no work.
pub async fn measure_idle(cluster: &TestCluster, seconds: u64, results: &mut Results) {
    let operator = cluster.start_with_lease();
    until(|| async { (operator.metric("fabricbench_leading") == 1.0).then_some(()) }).await;
    operator.ready().await;
    results.add(
        "resident memory after a restart with all runs, MiB",
        Goal::AtMost(22.0),
        resident_mib(&operator).await,
    );
    let (cpu, sent) = (cpu_seconds(&operator), requests(&operator));
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    let cpu = cpu_seconds(&operator) - cpu;
    results.add(format!("CPU time while idle for {seconds} s, s"), Goal::None, cpu);
    for (verb, count) in since(&sent, &requests(&operator)) {
        let goal = match verb.as_str() {
            // Renewing the Lease takes one get and one update every five seconds.
            "get" | "update" => Goal::AtMost(seconds as f64 / 5.0 + 1.0),
            "watch" => Goal::None,
            _ => Goal::AtMost(0.0),
        };
        results.add(format!("  requests: {verb}"), goal, count);
    }
}
