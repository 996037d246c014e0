//! Tests of the CPUs to which the measuring threads are pinned.

use crds::v1alpha1::{PingPongOperation, Polling};
use rustix::thread::{CpuSet, sched_getaffinity};

use super::fixture::{BASELINE, Pair, assignment, ping_pong};
use crate::arm_endpoints::{ArmEndpoints, Buffers, open_config};
use crate::test_transport::TestTransport;
use crate::topology::fixture::Tree;

#[test]
fn threads_with_host_memory_are_pinned_near_the_named_nics() {
    let allowed = sched_getaffinity(None).unwrap();
    let cpus: Vec<u32> = (0..CpuSet::MAX_CPU)
        .filter(|cpu| allowed.is_set(*cpu))
        .map(|cpu| cpu as u32)
        .collect();
    let [first, .., last] = cpus[..] else {
        println!(
            "skipped threads_with_host_memory_are_pinned_near_the_named_nics: this process may use only one CPU"
        );
        return;
    };
    let tree = Tree::new();
    tree.rdma("nic", "pci0000:80/0000:8f:00.0", 1, "100 Gb/sec (4X EDR)");
    tree.file("sys/devices/system/node/node1/cpulist", &last.to_string());
    let scenario = Pair::new(ping_pong(PingPongOperation::Send, 1), BASELINE, 1, 64).scenario;
    let pinned = |nics: &[&str]| {
        let mut assignment = assignment(&scenario, &BASELINE, 1);
        assignment.devices.nics = nics.iter().map(|name| (*name).to_owned()).collect();
        let endpoints = ArmEndpoints::<TestTransport>::open_below(
            tree.roots(),
            &BASELINE,
            &assignment,
            &open_config(&BASELINE, &assignment, 0),
            Polling::Yield,
            &cpus,
            &mut Buffers::new(&assignment, 0),
        );
        endpoints.unwrap().facts().pinned_cpus.clone()
    };
    assert_eq!(pinned(&["nic"]), [last]);
    assert_eq!(pinned(&[]), [first]);
}
