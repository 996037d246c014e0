//! Runs the call and memory footprint examples in pods.

use crds::quantity::Quantity;
use crds::units::Size;
use crds::v1alpha1::{ArmResult, BenchmarkRun, BenchmarkRunStatus, CallSection, FabricProof};

use super::example::{self, example};
use super::nodes::reserve_nodes;
use super::test_namespace::TestNamespace;

/// Number of samples of a call in a round.
const SAMPLES: u32 = 20;

/// Returns the example with two rounds and few samples of each call.
fn short_example(name: &str) -> BenchmarkRun {
    let mut run = example(name);
    run.spec.sampling.rounds = Some(2);
    for scenario in &mut run.spec.scenarios {
        if let Some(calls) = &mut scenario.rpc {
            calls.iterations = Some(SAMPLES);
        }
    }
    run
}

fn result<'a>(status: &'a BenchmarkRunStatus, scenario: &str, size_bytes: u64, arm: &str) -> &'a ArmResult {
    let mut results = status.results.iter();
    let found = results
        .find(|one| (one.scenario.as_str(), one.size_bytes, one.arm.as_str()) == (scenario, size_bytes, arm));
    found.unwrap_or_else(|| panic!("no result for {scenario} {size_bytes} {arm}: {status:#?}"))
}

/// Asserts that every arm has a result in every scenario.
fn assert_all_measured(run: &BenchmarkRun, status: &BenchmarkRunStatus) {
    for scenario in &run.spec.scenarios {
        for variant in &run.spec.variants {
            example::result(status, &scenario.name, &variant.name);
        }
    }
}

fn assert_successful(one: &ArmResult) {
    let call = one.call.unwrap();
    assert_eq!(
        (call.section, one.valid_rounds),
        (CallSection::Successful, 2),
        "{one:?}"
    );
}

#[tokio::test]
async fn calls_stay_in_a_pod_or_cross_the_fabric() {
    let nodes = reserve_nodes().await;
    let namespace = TestNamespace::new(&nodes).await;
    let _operator = namespace.operator();
    let run = short_example("rpc");
    namespace.create(&run).await;
    let status = namespace.wait_for_completion("rpc").await;
    assert_all_measured(&run, &status);
    for one in &status.results {
        assert_successful(one);
        assert_eq!(one.fabric, None, "{one:?}");
    }
    let p50 = |arm| {
        result(&status, "large-data", 50_000_000, arm)
            .value(Quantity::LatencyP50Nanos)
            .unwrap()
    };
    assert!(p50("shared-memory") * 5 < p50("unix-socket"));
    let run = short_example("rpc-transports");
    namespace.create(&run).await;
    let status = namespace.wait_for_completion("rpc-transports").await;
    assert_all_measured(&run, &status);
    for one in &status.results {
        assert_successful(one);
        let is_local =
            ["unix-socket", "tcp", "local"].contains(&one.arm.as_str()) || one.arm.starts_with("control");
        let expected = (!is_local).then_some(FabricProof::Verified);
        assert_eq!(one.fabric, expected, "{one:?}");
        println!(
            "{} {} {}: {:?}",
            one.scenario, one.size_bytes, one.arm, one.values
        );
    }
    namespace.delete().await;
}

#[tokio::test]
async fn consumers_in_a_pod_share_a_tensor() {
    let nodes = reserve_nodes().await;
    let namespace = TestNamespace::new(&nodes).await;
    let _operator = namespace.operator();
    let mut run = short_example("memory-footprint");
    run.spec.scenarios.truncate(2);
    for scenario in &mut run.spec.scenarios {
        if let Some(footprint) = &mut scenario.memory_footprint {
            footprint.sizes = vec![Size(1 << 20), Size(8 << 20)];
        }
    }
    namespace.create(&run).await;
    let status = namespace.wait_for_completion("memory-footprint").await;
    assert_all_measured(&run, &status);
    for one in &status.results {
        let found = one.footprint.unwrap();
        println!("{} {} {}: {found:?}", one.scenario, one.size_bytes, one.arm);
        assert_eq!(
            (found.section, one.valid_rounds),
            (CallSection::Successful, 2),
            "{one:?}"
        );
        let copies = one.value(Quantity::FootprintTensorBytes).unwrap() as f64 / one.size_bytes as f64;
        let expected = if one.arm == "shared" {
            1.0
        } else {
            f64::from(found.consumers) + 1.0
        };
        assert!((copies / expected - 1.0).abs() < 0.01, "{one:?}");
    }
    namespace.delete().await;
}
