//! Tests of throughput over several rails. The workers run in two network namespaces that are connected by four
//! rate-limited rails.
//!
//! The throughput of rate-limited rails is reproducible to within one percent even on a noisy machine, so doubling the
//! number of rails must nearly double the throughput. Requires `ip` and `tc` (Debian package iproute2) and libfabric.
//! Without root privileges, the tests are skipped with a message.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    missing_docs,
    reason = "a test that prints its measurements"
)]

#[path = "common/leg.rs"]
mod leg;
#[path = "rails/namespaces.rs"]
mod namespaces;

use crds::assignment::{
    ArmAssignment, Extent, InstrumentProcess, RankBinding, ScenarioAssignment, TransferWorkload, Workload,
};
use crds::record::{Measurement, Record, SideReport};
use crds::striping::{StripingPolicy, StripingRule};
use crds::v1alpha1::{Devices, Libfabric, LibfabricProvider, MemoryKind, TransferOperation, TransportSpec};

use leg::{Leg, measurements};
use namespaces::{Namespaces, can_create_namespaces};

const KIB: u64 = 1024;
const RATE: &str = "200mbit";

fn arm(name: &str, policy: StripingPolicy) -> ArmAssignment {
    ArmAssignment {
        name: name.to_owned(),
        process: 0,
        inject_max_bytes: None,
        doorbell_max_batch: None,
        channel: crds::v1alpha1::RpcChannel::Transport,
        arguments: Vec::new(),
        striping: StripingRule {
            policy,
            threshold_bytes: 16 * KIB,
            min_chunk_bytes: 16 * KIB,
        },
    }
}

/// Measures writes over the tcp provider, with one worker in each namespace.
fn measure(
    namespaces: &Namespaces,
    rails: usize,
    size_bytes: u64,
    measured: Extent,
    arms: Vec<ArmAssignment>,
) -> Vec<Record> {
    run(namespaces, leg(namespaces, rails, size_bytes, measured, arms))
}

/// Returns a leg in which one thread posts writes over the tcp provider.
fn leg(
    namespaces: &Namespaces,
    rails: usize,
    size_bytes: u64,
    measured: Extent,
    arms: Vec<ArmAssignment>,
) -> Leg {
    Leg {
        rendezvous: (namespaces.rendezvous_address(0), 17_900),
        transport: TransportSpec::Libfabric(Libfabric {
            provider: LibfabricProvider::Tcp,
            rails: rails as u32,
        }),
        bindings: (0..2)
            .map(|side| RankBinding {
                rails: (0..rails)
                    .map(|rail| namespaces.rail_address(side, rail))
                    .collect(),
                cpus: Vec::new(),
            })
            .collect(),
        devices: Devices::default(),
        process: InstrumentProcess::default(),
        scenario: ScenarioAssignment {
            name: "writes".to_owned(),
            memory: MemoryKind::Heap,
            target_memory: None,
            polling: None,
            workload: Workload::Transfer(TransferWorkload {
                batch: 4,
                // The warm-up is long enough to drain the token buckets, so that only the rate limits the throughput.
                warmup: Extent::DurationNanos(400_000_000),
                ..TransferWorkload::new(TransferOperation::Write, 8, measured)
            }),
            max_size_bytes: size_bytes,
        },
        arms,
    }
}

/// Runs `leg` with one worker in each namespace.
fn run(namespaces: &Namespaces, leg: Leg) -> Vec<Record> {
    leg.run(|rank| namespaces.runner(rank))
}

/// Asserts that the interface of each rail counted the bytes that `side` posted, and returns the posted bytes by rail.
fn check_posted_bytes(side: &SideReport) -> Vec<u64> {
    let counters = &side.posted.as_ref().unwrap().counters;
    assert_interface_traffic(side, counters.rails_used as usize, &counters.bytes_per_rail);
    counters.bytes_per_rail.clone()
}

fn bytes_per_second(measurement: &Measurement) -> f64 {
    let posted = measurement.initiator.posted.as_ref().unwrap();
    posted.payload_bytes as f64 / posted.elapsed_nanos as f64 * 1e9
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[test]
fn throughput_scales_with_two_and_four_rails() {
    if !can_create_namespaces("throughput_scales_with_two_and_four_rails") {
        return;
    }
    let namespaces = Namespaces::with_rails(4, RATE);
    let mut rates = [Vec::new(), Vec::new(), Vec::new()];
    // The measurements are interleaved, so that a period in which the machine is slow affects all of them.
    for _ in 0..3 {
        for (index, rails) in [1, 2, 4].into_iter().enumerate() {
            let records = measure(
                &namespaces,
                rails,
                1024 * KIB,
                Extent::DurationNanos(1_500_000_000),
                vec![arm("nixl", StripingPolicy::Nixl)],
            );
            rates[index].push(bytes_per_second(measurements(&records)["nixl"]));
        }
    }
    let [one, two, four] = rates.map(median);
    println!(
        "1, 2, 4 rails at {RATE} each: {:.1}, {:.1}, {:.1} MB/s",
        one / 1e6,
        two / 1e6,
        four / 1e6
    );
    println!("x{:.2} with 2, x{:.2} with 4", two / one, four / one);
    assert!(
        two / one >= 1.85,
        "2 rails reach only {:.2} times the throughput of 1 rail",
        two / one
    );
    assert!(
        four / one >= 3.5,
        "4 rails reach only {:.2} times the throughput of 1 rail",
        four / one
    );
}

#[test]
fn coalescing_uses_two_rails_at_32_kib_and_four_at_64_kib() {
    if !can_create_namespaces("coalescing_uses_two_rails_at_32_kib_and_four_at_64_kib") {
        return;
    }
    let namespaces = Namespaces::with_rails(4, RATE);
    for (size_bytes, coalesced_rails) in [(32 * KIB, 2), (64 * KIB, 4)] {
        let arms = vec![
            arm("nixl", StripingPolicy::Nixl),
            arm("coalesce", StripingPolicy::NixlCoalesce),
        ];
        let records = measure(&namespaces, 4, size_bytes, Extent::Iterations(400), arms);
        for (arm, rails) in [("nixl", 4), ("coalesce", coalesced_rails)] {
            let posted = check_posted_bytes(&measurements(&records)[arm].initiator);
            println!("{size_bytes} B, {arm}: posted on rails {posted:?}");
            assert_eq!(posted.iter().filter(|bytes| **bytes > 0).count(), rails);
        }
    }
}

/// Asserts that each interface has sent at least the payload of its rail, and that unused interfaces have sent almost
/// no bytes.
fn assert_interface_traffic(side: &SideReport, used: usize, posted: &[u64]) {
    assert_eq!(
        side.interfaces.len(),
        posted.len(),
        "each rail must have a separate interface"
    );
    let busiest = posted.iter().max().copied().unwrap_or(0);
    for interface in &side.interfaces {
        let rail = interface.rails[0] as usize;
        println!(
            "  {}: sent {} for {} posted",
            interface.name, interface.tx_bytes, posted[rail]
        );
        assert!(interface.tx_bytes >= posted[rail]);
    }
    let unused = side
        .interfaces
        .iter()
        .filter(|interface| interface.tx_bytes < busiest / 20)
        .count();
    assert_eq!(unused, posted.len() - used, "interfaces without traffic");
}

#[test]
fn threads_on_different_gpus_use_the_rails_of_their_gpu() {
    if !can_create_namespaces("threads_on_different_gpus_use_the_rails_of_their_gpu") {
        return;
    }
    let namespaces = Namespaces::with_rails(4, RATE);
    // Which rails a GPU uses does not depend on the memory, so the test uses host memory instead of GPU memory.
    let with_threads = |threads: u32| {
        let arms = vec![arm("nixl", StripingPolicy::Nixl)];
        let mut leg = leg(&namespaces, 2, 64 * KIB, Extent::Iterations(200), arms);
        leg.bindings.clear();
        leg.devices.gpus = vec![0, 1];
        leg.devices.nics = (0..4).map(|rail| namespaces.rail_interface(rail)).collect();
        let Workload::Transfer(transfer) = &mut leg.scenario.workload else {
            panic!("expected a transfer scenario");
        };
        transfer.threads = threads;
        let records = run(&namespaces, leg);
        let posted = check_posted_bytes(&measurements(&records)["nixl"].initiator);
        println!("{threads} threads posted on rails {posted:?}");
        posted
    };
    // Each thread posts 200 transfers of 64 KiB, with half of the bytes on each of its two rails.
    let bytes = 200 * 32 * KIB;
    assert_eq!(with_threads(1), [bytes; 2]);
    assert_eq!(with_threads(2), [bytes; 4]);
    assert_eq!(with_threads(3), [2 * bytes, 2 * bytes, bytes, bytes]);
}
