//! Tests of the CPUs to which the measuring threads are pinned.

use crds::assignment::{Assignment, Extent, RpcWorkload, TransferMode, TransferWorkload, Workload};
use crds::v1alpha1::{ManyToMany, MemoryKind, PingPongOperation, Polling, RpcPattern, TransferOperation};
use rustix::thread::{CpuSet, sched_getaffinity};

use super::fixture::{BASELINE, Pair, assignment, ping_pong, transfer};
use crate::arm_endpoints::{ArmEndpoints, Buffers, layout, open_config};
use crate::memory::Memory;
use crate::test_transport::TestTransport;
use crate::topology::fixture::Tree;

fn allowed_cpus() -> Vec<u32> {
    let allowed = sched_getaffinity(None).unwrap();
    let cpus = (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu));
    cpus.map(|cpu| cpu as u32).collect()
}

#[test]
fn threads_with_host_memory_are_pinned_near_the_named_nics() {
    let cpus = allowed_cpus();
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

/// The simulated sysfs places the last CPU on another node, which is wrong on most machines. On those machines, the
/// memory of that CPU's threads is rejected.
#[test]
fn segment_threads_are_distributed_across_nodes_and_their_memory_is_checked() {
    let cpus = allowed_cpus();
    let [first, .., last] = cpus[..] else {
        println!(
            "skipped segment_threads_are_distributed_across_nodes_and_their_memory_is_checked: this process may use \
             only one CPU"
        );
        return;
    };
    // No machine has this node.
    const OTHER: u32 = 1000;
    let memory = Memory::allocate(MemoryKind::Heap, 4096).unwrap();
    let real = memory.numa_nodes();
    let tree = Tree::new();
    tree.file("sys/devices/system/node/online", &format!("0,{OTHER}"));
    tree.file("sys/devices/system/node/node0/cpulist", &first.to_string());
    let file = format!("sys/devices/system/node/node{OTHER}/cpulist");
    tree.file(&file, &last.to_string());
    let open = |segments: bool| {
        let workload = TransferWorkload {
            threads: 4,
            mode: match segments {
                true => TransferMode::Segments {
                    read_back: false,
                    second_memory: None,
                },
                false => TransferMode::Plain,
            },
            ..transfer(TransferOperation::Read, 1, 1, 1)
        };
        let scenario = Pair::new(Workload::Transfer(workload), BASELINE, 1, 64).scenario;
        let assignment = assignment(&scenario, &BASELINE, 1);
        ArmEndpoints::<TestTransport>::open_below(
            tree.roots(),
            &BASELINE,
            &assignment,
            &open_config(&BASELINE, &assignment, 0),
            Polling::Yield,
            &cpus,
            &mut Buffers::new(&assignment, 0),
        )
        .unwrap()
    };
    let segments = open(true);
    assert_eq!(segments.facts().pinned_cpus, [first, last, first, last]);
    assert_eq!(segments.facts().thread_numa_nodes, [0, OTHER, 0, OTHER]);
    let failure = segments.memory_failures[0]
        .as_ref()
        .map(|failure| failure.message.as_str());
    let is_refused = failure.is_some_and(|message| {
        message.contains(&format!(
            "but the node assigned to this thread of the segment is {OTHER}"
        ))
    });
    assert_eq!(is_refused, !real.is_empty(), "{failure:?}");
    let others = open(false);
    assert!(others.facts().thread_numa_nodes.is_empty());
    assert_eq!(others.memory_failures, [None]);
}

#[test]
fn an_assignment_with_one_thread_and_no_other_process_uses_the_main_thread() {
    let uses_main_thread = |workload: Workload, many_to_many| {
        let scenario = Pair::new(workload, BASELINE, 1, 64).scenario;
        let assignment = Assignment {
            many_to_many,
            ..assignment(&scenario, &BASELINE, 1)
        };
        layout::uses_main_thread(&assignment)
    };
    let incast = ManyToMany {
        senders: 1,
        receivers: 1,
    };
    let transfer = |threads| {
        Workload::Transfer(TransferWorkload {
            threads,
            ..transfer(TransferOperation::Write, 1, 1, 1)
        })
    };
    assert!(uses_main_thread(ping_pong(PingPongOperation::Send, 1), None));
    assert!(uses_main_thread(transfer(1), None));
    assert!(!uses_main_thread(transfer(2), None));
    assert!(!uses_main_thread(transfer(1), Some(incast)));
    let calls = Workload::Rpc(RpcWorkload {
        gpu: None,
        pattern: RpcPattern::Call,
        hops: 1,
        message_bytes: 64,
        timeout_seconds: 10,
        open_loop: None,
        measured: Extent::Iterations(1),
        warmup: Extent::Iterations(1),
    });
    assert!(!uses_main_thread(calls, None));
}
