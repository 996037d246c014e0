//! The segment transfer examples between pods, over UCX and libfabric.

use crds::quantity::Quantity;
use crds::units;
use crds::v1alpha1::{ArmResult, BenchmarkRun, FabricProof};

use super::example::example;
use super::nodes::reserve_nodes;
use super::test_namespace::TestNamespace;

/// Returns the scenarios of both examples in one run with two short rounds.
fn suite() -> BenchmarkRun {
    let [mut suite, mut mix] = ["segment-transfer", "segment-transfer-mix"].map(example);
    suite.metadata.name = Some("segments".to_owned());
    suite.spec.scenarios.append(&mut mix.spec.scenarios);
    for scenario in &mut suite.spec.scenarios {
        let segment = scenario.segment_transfer.as_mut().unwrap();
        segment.duration = units::Duration(std::time::Duration::from_millis(200));
    }
    suite.spec.sampling.rounds = Some(2);
    suite
}

#[tokio::test]
async fn segment_transfers_run_between_pods() {
    let nodes = reserve_nodes().await;
    let namespace = TestNamespace::new(&nodes).await;
    let _operator = namespace.operator();
    let run = suite();
    namespace.create(&run).await;
    let status = namespace.wait_for_completion("segments").await;
    let of = |scenario: &str| -> Vec<&ArmResult> {
        let results = status.results.iter();
        results.filter(|one| one.scenario == scenario).collect()
    };
    for (scenario, sizes) in [("segment-read", 1), ("segment-mix", 3)] {
        let results = of(scenario);
        for arm in ["ucx", "libfabric"] {
            let of_arm = results.iter().filter(|one| one.arm == arm);
            assert_eq!(of_arm.count(), sizes, "{status:#?}");
        }
        for result in results {
            println!(
                "{scenario} {} B {}: {:?}",
                result.size_bytes, result.arm, result.values
            );
            assert_eq!(
                (result.valid_rounds, result.fabric),
                (2, Some(FabricProof::Verified)),
                "{result:?}"
            );
            assert!(
                result.value(Quantity::BytesPerSecond).is_some()
                    && result.value(Quantity::FirstBatchNanos).is_some(),
                "{result:?}"
            );
            assert_eq!(
                result.value(Quantity::ReadBackP50Nanos).is_some(),
                scenario == "segment-mix",
                "{result:?}"
            );
        }
    }
    namespace.delete().await;
}
