//! What runs say, as Prometheus reads it from the operator that leads.

use crds::v1alpha1::BenchmarkRun;
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use super::cluster::{client, kubeconfig, leave, namespace, run, until};
use super::operator::Operator;

/// A run that ended, as its operator leaves it.
fn ended() -> Value {
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
            "p50Nanos": 4130,
        }],
        "comparisons": [{
            "scenario": "small", "sizeBytes": 64, "arm": "fi-inject", "metric": "LatencyP50", "primary": true,
            "negativeControl": false, "rounds": 6, "effectPpm": -62_000, "verdict": "Improved",
        }],
        "execution": {"finishedAt": "2026-03-01T11:00:00Z"},
    })
}

#[tokio::test]
async fn results_are_given_by_the_leader_and_vanish_with_the_run() {
    let client = client().await;
    let namespace = namespace(&client).await;
    let runs: Api<BenchmarkRun> = Api::namespaced(client.clone(), &namespace);
    runs.create(&PostParams::default(), &run("done")).await.unwrap();
    let status = Patch::Merge(json!({"status": ended()}));
    runs.patch_status("done", &PatchParams::default(), &status)
        .await
        .unwrap();

    let of_run = format!("run_namespace=\"{namespace}\",run=\"done\"");
    let of_arm = format!("{of_run},scenario=\"small\",size_bytes=\"64\",arm=\"fi-inject\"");
    let latency = format!("fabricbench_arm_latency_seconds{{{of_arm},quantile=\"0.5\"}}");
    let verdict =
        format!("fabricbench_comparison_verdict{{{of_arm},metric=\"LatencyP50\",verdict=\"Improved\"}}");
    let outcome = format!("fabricbench_run_outcome{{{of_run},outcome=\"Passed\"}}");

    let leader = Operator::start(&kubeconfig(), &namespace);
    until(|| async { leader.metrics().contains_key(&latency).then_some(()) }).await;
    let follower = Operator::start(&kubeconfig(), &namespace);
    follower.ready().await;
    let given = leader.metrics();
    assert_eq!(
        (given[&latency], given[&verdict], given[&outcome]),
        (4.13e-6, 1.0, 1.0)
    );
    assert!(
        follower
            .metrics()
            .keys()
            .all(|name| !name.contains("run_namespace")),
        "who waits for its turn knows of no run"
    );

    runs.delete("done", &DeleteParams::default()).await.unwrap();
    until(|| async {
        let left = leader.metrics();
        assert!(left.contains_key("fabricbench_runs_without_series"));
        (!left.keys().any(|name| name.contains(&of_run))).then_some(())
    })
    .await;
    drop((leader, follower));
    leave(&client, &namespace).await;
}
