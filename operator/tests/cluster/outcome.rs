//! Follows a run from `kubectl apply` to its verdicts. The run has the five variants from the NIXL procedures, and its
//! workers request EFA devices and GPUs on two nodes.

use crds::quantity::Quantity;
use crds::record::CaseResult;
use crds::units::Size;
use crds::v1alpha1::{BenchmarkRun, BenchmarkRunStatus, FabricProof, MemoryKind};
use fabricbench_operator::run_controller::build::names;
use fabricbench_operator::run_controller::record_chain::ChainReader;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::PostParams;
use serde_json::Value;
use tokio::task::spawn_blocking;

use super::nodes::reserve_nodes;
use super::start;
use super::test_namespace::{TIMEOUT, TestNamespace, planned, reports};
use super::testbed::kubectl;
use test_support::cluster::root;

/// Returns the example, adapted to the test nodes: TCP instead of EFA, heap memory, and fewer and shorter cases.
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
async fn all_variants_in_the_procedures_get_verdicts() {
    let nodes = reserve_nodes().await;
    let namespace = TestNamespace::new(&nodes).await;
    let _operator = namespace.cluster_operator().await;
    let run = namespace.on_nodes(&example());
    let name = run.metadata.name.clone().unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    serde_json::to_writer(&file, &run).unwrap();
    let path = file.path().to_str().unwrap();
    kubectl(&["apply", "-n", &namespace.name, "-f", path]);
    let timeout = format!("--timeout={}s", TIMEOUT.as_secs());
    let target = format!("bench/{name}");
    let arguments = [
        "wait".to_owned(),
        "-n".to_owned(),
        namespace.name.clone(),
        "--for=condition=Complete".to_owned(),
        timeout,
        target.clone(),
    ];
    // kubectl runs in another thread, because the operator's proxy runs in this thread.
    let wait = spawn_blocking(move || kubectl(&arguments.each_ref().map(String::as_str)));
    wait.await.unwrap();

    let status = namespace.wait_for_completion(&name).await;
    println!("{}", kubectl(&["get", "bench", "-n", &namespace.name]));
    println!(
        "{}",
        kubectl(&["get", "bench", "-n", &namespace.name, "-o", "wide"])
    );
    println!("{}", kubectl(&["describe", "-n", &namespace.name, &target]));
    let mut nodes = status.placement.clone().unwrap().nodes;
    nodes.dedup();
    assert_eq!(nodes.len(), 2, "the workers must run on distinct hosts");
    assert_eq!(
        status.execution.as_ref().unwrap().attempts.len(),
        1,
        "a single image requires a single leg"
    );
    let fabric = status.fabric.as_ref().unwrap();
    assert_eq!(fabric.proof, FabricProof::Verified, "{}", fabric.reason);
    assert!(
        !status.comparisons.is_empty() && !status.expectations.is_empty() && status.environment.is_some()
    );
    let coalesced = status.results.iter().filter(|result| result.arm == "coalesce");
    assert!(coalesced.clone().any(|result| !result.optimizations.is_empty()));
    assert_equals_report(&namespace, &name, &status);
    print_times(&namespace, &name, &status).await;
    assert_appended_records_are_noticed(&namespace, &name).await;
    namespace.delete().await;
}

/// Checks that the status equals the output of `fabricbench report`, which evaluates the stored records.
fn assert_equals_report(namespace: &TestNamespace, name: &str, status: &BenchmarkRunStatus) {
    let output = start::fabricbench()
        .args([
            "report",
            &format!("{}/{name}", namespace.name),
            "--format",
            "json",
        ])
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{errors}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let warnings = report["warnings"].to_string();
    assert!(
        !warnings.contains("was changed"),
        "the status is intact: {warnings}"
    );
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
        assert_eq!(one["rounds"], comparison.rounds);
        let interval = &one["interval"];
        for (reported, stated) in [
            (&one["effect"]["percent"], comparison.effect_ppm),
            (&interval["lowerPercent"], comparison.lower_ppm),
            (&interval["upperPercent"], comparison.upper_ppm),
        ] {
            let ppm = reported.as_f64().map(|percent| (percent * 1e4).round() as i64);
            assert_eq!(ppm, stated, "{comparison:?} {one:#}");
        }
        compared += 1;
    }
    println!("{compared} comparisons in the status equal those in the report");
    assert_results_equal(&report, status);
}

/// An editor of the namespace appends records to those of a finished run, with the digests of the operator.
async fn assert_appended_records_are_noticed(namespace: &TestNamespace, name: &str) {
    let run = namespace.runs.get(name).await.unwrap();
    let maps: Api<ConfigMap> = Api::namespaced(namespace.client.clone(), &namespace.name);
    let uid = run.metadata.uid.as_deref().unwrap();
    let mut reader = ChainReader::new(uid, None);
    while let Some(part) = maps.get_opt(&names::records(uid, reader.next())).await.unwrap() {
        reader.read(&part, |_| {}).unwrap();
    }
    let (_, parts) = reader.finish().unwrap().appended(b"forged\n").unwrap();
    let forged = parts.last().unwrap().part.config_map(&run);
    let map = forged.metadata.name.clone().unwrap();
    maps.replace(&map, &PostParams::default(), &forged).await.unwrap();
    let source = format!("{}/{name}", namespace.name);
    let output = start::fabricbench().args(["report", &source]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(3), "{text}");
    assert!(
        text.contains("not trusted, because the records were changed"),
        "{text}"
    );
}

/// Checks each arm's values at each size, and the fabric byte counts.
fn assert_results_equal(report: &Value, status: &BenchmarkRunStatus) {
    let reported = report["results"].as_array().unwrap();
    let measured = reported.iter().filter(|one| one["cases"] != 0);
    assert_eq!(measured.count(), status.results.len());
    for result in &status.results {
        let same = |one: &&Value| {
            one["scenarioName"] == result.scenario
                && one["armName"] == result.arm
                && one["sizeBytes"] == result.size_bytes
        };
        let one = reported.iter().find(same).unwrap();
        assert_eq!(
            one["validRounds"].as_array().unwrap().len(),
            result.valid_rounds as usize
        );
        for (field, value) in [
            ("iterations", result.value(Quantity::Iterations)),
            ("minNanos", result.value(Quantity::LatencyMinNanos)),
            ("maxNanos", result.value(Quantity::LatencyMaxNanos)),
        ] {
            // A status that would be too long omits values.
            if value.is_some() || status.omitted_values.is_none() {
                assert_eq!(one[field].as_i64(), value, "{field} of {one:#}");
            }
        }
        let median = |metric: &str| one["metrics"][metric]["median"].as_f64();
        let rate = median("Throughput").map(|rate| rate.round() as i64);
        assert_eq!(rate, result.value(Quantity::BytesPerSecond), "{one:#}");
        let proof = serde_json::to_value(result.fabric).unwrap();
        assert_eq!(one["fabric"]["proof"], proof);
    }
    let fabric = status.fabric.as_ref().unwrap();
    assert_eq!(report["fabric"]["countedBytes"].as_u64(), fabric.counted_bytes);
    assert_eq!(
        report["fabric"]["payloadBytes"].as_u64(),
        Some(fabric.payload_bytes)
    );
}

/// Prints how long the workers ran and how much of that time was in measured windows.
async fn print_times(namespace: &TestNamespace, name: &str, status: &BenchmarkRunStatus) {
    let run = namespace.runs.get(name).await.unwrap();
    let (plan, lines) = (planned(&run), namespace.lines(&run).await);
    let cases = reports(&run, &plan, &lines).cases;
    let windows = cases.iter().map(|case| match &case.outcome {
        CaseResult::Measured(measured) => measured.initiator.window_nanos,
        _ => 0,
    });
    let seconds = windows.sum::<u64>() as f64 / 1e9;
    let execution = status.execution.as_ref().unwrap();
    println!(
        "{} cases: workers ran for {} s, {seconds:.1} s of that in measured windows",
        cases.len(),
        execution.active_seconds
    );
}
