//! Parameter serving between pods, over UCX and libfabric, and by multicast.

use crds::quantity::Quantity;
use crds::units::Duration;
use crds::v1alpha1::{BenchmarkRun, FabricProof, ServingMode};

use super::example::{example, result};
use super::nodes::{reserve_cluster, reserve_nodes};
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
            println!("{scenario} {arm}: {:?}", found.values);
            assert_eq!(found.value(Quantity::ServingWorkers), Some(4));
            assert_eq!(
                found.value(Quantity::ServingPushP50Nanos).is_some(),
                scenario == "push"
            );
            assert!(found.value(Quantity::ServingPostLagPpm).is_some(), "{found:?}");
            assert_eq!(
                (found.valid_rounds, found.fabric),
                (2, Some(FabricProof::Verified)),
                "{found:?}"
            );
        }
    }
    namespace.delete().await;
}

#[tokio::test]
async fn multicast_reaches_workers_on_another_node() {
    // The bridges of all nodes flood multicast packets to all pods, whose interfaces count them. The interfaces of other
    // runs would be shared.
    let nodes = reserve_cluster().await;
    let namespace = TestNamespace::new(&nodes).await;
    let _operator = namespace.operator();
    let mut run = example("parameter-serving-multicast-pods");
    shorten(&mut run);
    // 1 MB every 30 ms needs 33 MB/s, so a limit of 30 MB/s delays every version, as in the example.
    for scenario in &mut run.spec.scenarios {
        let serving = scenario.parameter_serving.as_mut().unwrap();
        serving.workers = Some(vec![1, 2]);
        if let Some(multicast) = &mut serving.multicast {
            multicast.rate = Some(crds::units::Size(30_000_000));
        }
    }
    namespace.create(&run).await;
    let status = namespace
        .wait_for_completion("parameter-serving-multicast-pods")
        .await;
    for workers in [1, 2] {
        let [multicast, push] =
            ["multicast", "push"].map(|mode| result(&status, &format!("{mode}-{workers}"), "tcp"));
        println!("{workers} workers: {:?}, {:?}", multicast.values, push.values);
        assert_eq!(
            (multicast.value(Quantity::ServingWorkers), multicast.valid_rounds),
            (Some(workers), 2),
            "{multicast:?}"
        );
        assert!(
            multicast.value(Quantity::ServingDatagramsSent).unwrap() > 0,
            "{multicast:?}"
        );
        // No version arrives faster than the limit allows, although writes over the fabric do.
        assert!(
            multicast.value(Quantity::ServingPushP50Nanos).unwrap() >= 33_000_000,
            "{multicast:?}"
        );
        assert!(
            push.value(Quantity::LatencyP50Nanos).unwrap()
                < multicast.value(Quantity::LatencyP50Nanos).unwrap(),
            "{push:?}"
        );
    }
    namespace.delete().await;
}
