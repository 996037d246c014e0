//! Parameter serving between pods, over UCX and libfabric.

use crds::units::Duration;
use crds::v1alpha1::{BenchmarkRun, FabricProof, ServingMode};

use super::example::{example, result};
use super::nodes::reserve_nodes;
use super::test_namespace::TestNamespace;

/// Returns the example's scenarios that use the fabric, in one run with two short rounds. The pods share no directory.
fn suite() -> BenchmarkRun {
    let mut suite = example("parameter-serving");
    suite.spec.scenarios.retain(|scenario| {
        let serving = scenario.parameter_serving.as_ref().unwrap();
        serving.mode != ServingMode::Filesystem
    });
    shorten(&mut suite);
    suite
}

/// Reduces `run` to two short rounds.
pub fn shorten(run: &mut BenchmarkRun) {
    for scenario in &mut run.spec.scenarios {
        let serving = scenario.parameter_serving.as_mut().unwrap();
        let millis = |count| Duration(std::time::Duration::from_millis(count));
        serving.sizes = vec![crds::units::Size(1_000_000)];
        (serving.post_period, serving.max_time) = (millis(250), millis(1500));
    }
    run.spec.sampling.rounds = Some(2);
}

#[tokio::test]
async fn parameters_are_served_between_pods() {
    let nodes = reserve_nodes().await;
    let namespace = TestNamespace::new(&nodes).await;
    let _operator = namespace.operator();
    let run = suite();
    assert_eq!(run.spec.scenarios.len(), 2);
    namespace.create(&run).await;
    let status = namespace.wait_for_completion("parameter-serving").await;
    for arm in ["ucx", "libfabric"] {
        for scenario in ["push", "pull"] {
            let found = result(&status, scenario, arm);
            println!("{scenario} {arm}: {:?} ns, {:?}", found.p50_nanos, found.serving);
            let serving = found.serving.as_ref().unwrap();
            assert_eq!(serving.workers, 4);
            assert_eq!(serving.push_p50_nanos.is_some(), scenario == "push");
            assert!(serving.post_lag_ppm.is_some(), "{serving:?}");
            assert_eq!(
                (found.valid_rounds, found.fabric),
                (2, Some(FabricProof::Verified)),
                "{found:?}"
            );
        }
    }
    namespace.delete().await;
}
