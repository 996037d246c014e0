//! Runs in a queue whose workers claim devices from drivers of Dynamic Resource Allocation.

use crds::v1alpha1::{Alignment, State};
use kube::api::DeleteParams;

use super::super::dra::claims;
use super::super::nodes::reserve_nodes;
use super::super::test_namespace::TestNamespace;
use super::super::testbed::{Testbed, undo};
use super::configuration::Configuration;
use super::queues::{GANG_CPUS, GPUS, NICS, Queues};
use super::{execution, long, queued, wait_until_running, wait_until_waiting};
use test_support::cluster::until;

/// Drivers of simulated devices on all nodes, which stop when this value is dropped.
struct Drivers;

impl Drivers {
    async fn start() -> Self {
        let drivers = Self;
        Testbed::lock().await.run(&["dra", "up"]);
        drivers
    }
}

impl Drop for Drivers {
    fn drop(&mut self) {
        undo(&["dra", "down"]);
    }
}

/// The quota has the devices of one gang, and the CPUs of two. Kueue 0.17 admits no claim with an alignment.
#[tokio::test]
#[ignore = "needs Kueue: .ci/operator-test kueue"]
async fn run_waits_for_the_quota_of_the_devices_that_it_claims() {
    let nodes = reserve_nodes().await;
    let _drivers = Drivers::start().await;
    let _configured = Configuration::device_classes().await;
    let namespace = TestNamespace::new(&nodes).await;
    let queues = Queues::with_devices(&namespace.name, 2 * GANG_CPUS, 2);
    let _operator = namespace.operator();
    let (mut first, mut second, mut aligned) = (long("first"), queued("second", 1), queued("aligned", 1));
    for run in [&mut first, &mut second] {
        run.spec.resources.claims = Some(claims(1, [None, None], Alignment::None));
    }
    aligned.spec.resources.claims = Some(claims(1, [None, None], Alignment::PciRoot));
    namespace.create(&first).await;
    wait_until_running(&namespace, "first", 1).await;
    // Kueue writes the usage after the admission.
    until(|| async {
        let usage = [GPUS, NICS].map(|devices| queues.usage(devices));
        (usage == ["2", "2"].map(|total| Some(total.to_owned()))).then_some(())
    })
    .await;

    namespace.create(&second).await;
    wait_until_waiting(&namespace, "second", "WaitingForAdmission").await;
    let reason = queues.wait_for_reason("insufficient unused quota").await;
    println!("{reason}");
    assert_eq!(namespace.status("first").await.state, Some(State::Running));
    namespace.wait_for_completion("first").await;
    let second = execution(&namespace.wait_for_completion("second").await);
    assert_eq!(
        (second.attempts.len(), second.disruptions, second.preemptions),
        (1, 0, 0),
        "{second:#?}"
    );
    queues.await_released().await;

    namespace.create(&aligned).await;
    wait_until_waiting(&namespace, "aligned", "WaitingForAdmission").await;
    let reason = queues
        .wait_for_reason("device constraints (MatchAttribute) are not supported")
        .await;
    println!("{reason}");
    namespace
        .runs
        .delete("aligned", &DeleteParams::default())
        .await
        .unwrap();
    namespace.wait_for_deletion("aligned").await;
    queues.await_released().await;
    namespace.delete().await;
}
