//! The Starway examples between pods, over UCX and libfabric.

use crds::quantity::Quantity;
use crds::units::Size;
use crds::v1alpha1::{BenchmarkRun, FabricProof, MemoryKind, ScenarioWorkload};

use super::example::{example, result};
use super::nodes::reserve_nodes;
use super::test_namespace::TestNamespace;

/// Returns all scenarios from the examples in one run with two rounds. The array is smaller than in the example, so
/// that the pods need less memory.
fn suite() -> BenchmarkRun {
    let mut runs = [
        "pingpong-flag",
        "small-messages",
        "streaming-duplex",
        "large-array",
    ]
    .map(|name| example(&format!("starway-{name}")));
    let scenarios = runs.each_mut().map(|run| run.spec.scenarios.remove(0));
    let [mut suite, ..] = runs;
    suite.metadata.name = Some("starway".to_owned());
    suite.spec.scenarios = scenarios.into();
    for scenario in &mut suite.spec.scenarios {
        if let Some(large_array) = &mut scenario.large_array {
            large_array.sizes = vec![Size(32 << 20)];
        }
        assert_eq!(scenario.memory, MemoryKind::Heap);
    }
    suite.spec.sampling.rounds = Some(2);
    suite
}

#[tokio::test]
async fn starway_scenarios_run_between_pods() {
    let nodes = reserve_nodes().await;
    let namespace = TestNamespace::new(&nodes).await;
    let _operator = namespace.operator();
    let run = suite();
    let kinds: Vec<_> = run
        .spec
        .scenarios
        .iter()
        .filter_map(|one| one.workload())
        .collect();
    let kinds: Vec<_> = kinds.into_iter().map(ScenarioWorkload::field).collect();
    assert_eq!(
        kinds,
        ["pingpongFlag", "smallMessages", "streamingDuplex", "largeArray"]
    );
    namespace.create(&run).await;
    let status = namespace.wait_for_completion("starway").await;
    let result = |scenario, arm| result(&status, scenario, arm);
    for arm in ["ucx", "libfabric"] {
        let flag = result("pingpong-flag", arm);
        println!("{arm}: flag {:?} ns", flag.value(Quantity::MeanRoundTripNanos));
        assert!(flag.value(Quantity::MeanRoundTripNanos).is_some(), "{flag:?}");
        let messages = result("small-messages", arm);
        println!(
            "{arm}: {:?} messages/s",
            messages.value(Quantity::CompletionsPerSecond)
        );
        assert!(
            messages.value(Quantity::CompletionsPerSecond).is_some(),
            "{messages:?}"
        );
        let duplex = result("streaming-duplex", arm);
        println!("{arm}: {:?}", duplex.values);
        for quantity in [Quantity::DirectionsBalancePpm, Quantity::PingLoadedP99Nanos] {
            assert!(duplex.value(quantity).is_some(), "{duplex:?}");
        }
        let array = result("large-array", arm);
        println!("{arm}: {:?}", array.values);
        let flush = array.value(Quantity::FlushP50Nanos);
        assert_eq!(flush.is_some(), arm == "ucx", "{array:?}");
    }
    for result in &status.results {
        assert_eq!(
            (result.valid_rounds, result.fabric),
            (2, Some(FabricProof::Verified)),
            "{result:?}"
        );
    }
    namespace.delete().await;
}
