//! From `kubectl apply` to the verdict: the five tunings of the NIXL procedures on two nodes with EFA and GPU requests.

use std::process::Command;

use crds::units::Size;
use crds::v1alpha1::{BenchmarkRun, BenchmarkRunStatus, FabricProof, MemoryKind};
use fabricbench_operator::campaign::collect::Outcome;
use fabricbench_operator::manifest;
use serde_json::Value;

use super::campaign::{PATIENCE, Place, planned, reports};
use super::cluster::{kubeconfig, root};
use super::testbed::kubectl;

/// The example, smaller: TCP instead of EFA, ordinary memory, what the nodes have, fewer and shorter cases.
fn example() -> BenchmarkRun {
    let examples = root().join("examples");
    let overlay = manifest::load_overlay(&examples.join("overlays/local-tcp.yaml")).unwrap();
    let file = examples.join("nixl-optimizations.yaml");
    let mut run = manifest::load(&file, Some(&overlay)).unwrap().remove(0);
    let spec = &mut run.spec;
    (spec.resources.gpus, spec.resources.efas) = (8, 32);
    spec.resources.hugepages_2mi = Some(Size(8 << 20));
    for scenario in &mut spec.scenarios {
        assert_eq!(scenario.memory, MemoryKind::Heap);
        if let Some(ping_pong) = &mut scenario.ping_pong {
            ping_pong.iterations = Some(200);
            ping_pong.warmup = Some(20);
        }
        if let Some(transfer) = &mut scenario.transfer {
            transfer.sizes.retain(|size| size.0 <= 1 << 20);
            transfer.iterations = Some(100);
            transfer.warmup = Some(10);
        }
    }
    spec.sampling.rounds = Some(6);
    run
}

#[tokio::test]
async fn the_five_tunings_of_the_procedures_get_their_verdicts() {
    let place = Place::new().await;
    let _operator = place.operator_of_all();
    let run = example();
    let name = run.metadata.name.clone().unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    serde_json::to_writer(&file, &run).unwrap();
    let path = file.path().to_str().unwrap();
    kubectl(&["apply", "-n", &place.namespace, "-f", path]);
    let patience = format!("--timeout={}s", PATIENCE.as_secs());
    let target = format!("bench/{name}");
    kubectl(&[
        "wait",
        "-n",
        &place.namespace,
        "--for=condition=Complete",
        &patience,
        &target,
    ]);

    let status = place.completed(&name).await;
    println!("{}", kubectl(&["get", "bench", "-n", &place.namespace]));
    println!(
        "{}",
        kubectl(&["get", "bench", "-n", &place.namespace, "-o", "wide"])
    );
    println!("{}", kubectl(&["describe", "-n", &place.namespace, &target]));
    let mut nodes = status.placement.clone().unwrap().nodes;
    nodes.dedup();
    assert_eq!(nodes.len(), 2, "distinct hosts");
    assert_eq!(
        status.execution.as_ref().unwrap().attempts.len(),
        1,
        "one image, one leg"
    );
    let fabric = status.fabric.as_ref().unwrap();
    assert_eq!(fabric.proof, FabricProof::Verified, "{}", fabric.reason);
    assert!(
        !status.comparisons.is_empty() && !status.expectations.is_empty() && status.environment.is_some()
    );
    let coalesced = status.results.iter().filter(|result| result.arm == "coalesce");
    assert!(coalesced.clone().any(|result| !result.optimizations.is_empty()));
    same_as_reported(&place, &name, &status);
    times(&place, &name, &status).await;
    place.leave().await;
}

/// The same numbers that `fabricbench report` derives from the kept records.
fn same_as_reported(place: &Place, name: &str, status: &BenchmarkRunStatus) {
    let output = Command::new(env!("CARGO_BIN_EXE_fabricbench"))
        .args([
            "report",
            &format!("{}/{name}", place.namespace),
            "--format",
            "json",
        ])
        .env("KUBECONFIG", kubeconfig())
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{errors}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["planHash"].as_str(), status.plan_hash.as_deref());
    assert_eq!(report["verdict"].as_str(), status.verdict.as_deref());
    let reported = report["comparisons"].as_array().unwrap();
    let mut compared = 0;
    for comparison in &status.comparisons {
        let same = |one: &&Value| {
            one["scenarioName"] == comparison.scenario
                && one["armName"] == comparison.arm
                && one["sizeBytes"] == comparison.size_bytes
                && one["metric"] == comparison.metric.to_string()
        };
        let one = reported
            .iter()
            .find(same)
            .unwrap_or_else(|| panic!("{comparison:?} is not in the report"));
        let verdict = serde_json::to_value(comparison.verdict).unwrap();
        assert_eq!(
            one.get("verdict").unwrap_or(&Value::Null),
            &verdict,
            "{comparison:?} {one:#}"
        );
        compared += 1;
    }
    println!("{compared} comparisons in the status, each as reported");
}

/// How long the workers ran, and how much of that was measuring.
async fn times(place: &Place, name: &str, status: &BenchmarkRunStatus) {
    let run = place.runs.get(name).await.unwrap();
    let (plan, lines) = (planned(&run), place.lines(&run).await);
    let cases = reports(&run, &plan, &lines).cases;
    let windows = cases.iter().map(|case| match &case.outcome {
        Outcome::Measured(measured) => measured.initiator.window_nanos,
        _ => 0,
    });
    let seconds = windows.sum::<u64>() as f64 / 1e9;
    let execution = status.execution.as_ref().unwrap();
    println!(
        "{} cases: workers ran for {} s, {seconds:.1} s of them in measured windows",
        cases.len(),
        execution.active_seconds
    );
}
