//! The incast example between pods, over libfabric and UCX.

use std::path::Path;

use crds::v1alpha1::{BenchmarkRun, FabricProof};

use super::test_namespace::TestNamespace;

/// The example with two rounds and three workers.
fn incast() -> BenchmarkRun {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/incast.yaml");
    // Serde's representation of enums differs between JSON, which the API server uses, and YAML.
    let document: serde_json::Value = serde_yaml::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let mut run: BenchmarkRun = serde_json::from_value(document).unwrap();
    run.spec.placement.senders = Some(2);
    run.spec.sampling.rounds = Some(2);
    run
}

#[tokio::test]
async fn flows_are_active_at_the_same_time_between_pods() {
    let namespace = TestNamespace::new().await;
    let _operator = namespace.operator();
    namespace.create(&incast()).await;
    let status = namespace.wait_for_completion("incast").await;
    for arm in ["libfabric", "ucx"] {
        let mut results = status.results.iter();
        let result = results.find(|result| result.arm == arm);
        let result = result.unwrap_or_else(|| panic!("no result of {arm}: {status:#?}"));
        println!("{arm}: {:?} B/s, {:?}", result.bytes_per_second, result.flows);
        assert_eq!(
            (result.valid_rounds, result.fabric),
            (2, Some(FabricProof::Verified)),
            "{result:?}"
        );
        let flows = result.flows.unwrap();
        assert!((500_000..=1_000_000).contains(&flows.fairness_ppm), "{flows:?}");
        assert!(
            flows.slowest_receiver_bytes_per_second > flows.fastest_bytes_per_second,
            "{flows:?}"
        );
    }
    let placement = status.placement.unwrap();
    assert_eq!(placement.nodes.len(), 3, "{placement:?}");
    namespace.delete().await;
}
