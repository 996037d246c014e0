//! Tests that the leader exports the runs' result metrics.

use crds::v1alpha1::BenchmarkRun;
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use super::start;
use test_support::cluster::{client, create_namespace, delete_namespace, kubeconfig, run, until};

/// Returns the status of a finished run.
fn finished_status() -> Value {
    json!({
        "observedGeneration": 1,
        "conditions": [{
            "type": "Complete", "status": "True", "reason": "AllBlocksMeasured", "message": "m",
            "lastTransitionTime": "2026-03-01T11:00:00Z",
        }],
        "state": "Complete",
        "outcome": "Passed",
        "progress": {"blocksDone": 12, "blocksTotal": 12, "text": "12/12"},
        "results": [{
            "scenario": "small", "sizeBytes": 64, "arm": "fi-inject", "validRounds": 6, "validity": "Valid",
            "values": {"latencyP50Nanos": 4130},
        }, {
            // As an earlier release wrote it.
            "scenario": "calls", "sizeBytes": 8, "arm": "earlier", "validRounds": 6, "validity": "Valid", "p50Nanos": 5120,
            "call": {"payload": "SmallInt", "section": "Successful", "hops": 2, "meanNanos": 6000},
        }],
        "comparisons": [{
            "scenario": "small", "sizeBytes": 64, "arm": "fi-inject", "metric": "LatencyP50", "primary": true,
            "negativeControl": false, "rounds": 6, "effectPpm": -62_000, "verdict": "Improved",
        }],
        "execution": {"finishedAt": "2026-03-01T11:00:00Z"},
    })
}

#[tokio::test]
async fn leader_exports_results_until_the_run_is_deleted() {
    let client = client().await;
    let namespace = create_namespace(&client).await;
    let runs: Api<BenchmarkRun> = Api::namespaced(client.clone(), &namespace);
    runs.create(&PostParams::default(), &run("done")).await.unwrap();
    let status = Patch::Merge(json!({"status": finished_status()}));
    runs.patch_status("done", &PatchParams::default(), &status)
        .await
        .unwrap();

    let run_labels = format!("run_namespace=\"{namespace}\",run=\"done\"");
    let arm_labels = format!("{run_labels},scenario=\"small\",size_bytes=\"64\",arm=\"fi-inject\"");
    let latency = format!("fabricbench_arm_latency_seconds{{{arm_labels},quantile_level=\"0.5\"}}");
    let verdict =
        format!("fabricbench_comparison_verdict{{{arm_labels},metric=\"LatencyP50\",verdict=\"Improved\"}}");
    let outcome = format!("fabricbench_run_outcome{{{run_labels},outcome=\"Passed\"}}");

    let leader = start::with_election(&kubeconfig(), &namespace);
    until(|| async { leader.metrics().contains_key(&latency).then_some(()) }).await;
    let follower = start::with_election(&kubeconfig(), &namespace);
    follower.ready().await;
    let exported = leader.metrics();
    assert_eq!(
        (exported[&latency], exported[&verdict], exported[&outcome]),
        (4.13e-6, 1.0, 1.0)
    );
    let earlier = format!("{run_labels},scenario=\"calls\",size_bytes=\"8\",arm=\"earlier\"");
    let p50 = format!("fabricbench_arm_latency_seconds{{{earlier},quantile_level=\"0.5\"}}");
    let mean = format!("fabricbench_arm_call_seconds{{{earlier},statistic=\"mean\"}}");
    assert_eq!((exported[&p50], exported[&mean]), (5.12e-6, 6e-6));
    assert!(
        follower
            .metrics()
            .keys()
            .all(|name| !name.contains("run_namespace")),
        "a standby replica must not export runs"
    );

    runs.delete("done", &DeleteParams::default()).await.unwrap();
    until(|| async {
        let metrics = leader.metrics();
        assert!(metrics.contains_key("fabricbench_runs_without_series"));
        (!metrics.keys().any(|name| name.contains(&run_labels))).then_some(())
    })
    .await;
    drop((leader, follower));
    delete_namespace(&client, &namespace).await;
}
