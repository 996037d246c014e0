//! Tests parameter serving by multicast between two network namespaces. Their link drops every hundredth datagram.
//! Requires `ip`, `tc` and `iptables`. Without root privileges, the test is skipped with a message.

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
    ArmAssignment, Delivery, InstrumentProcess, MulticastDelivery, RankBinding, ScenarioAssignment,
    ServingWorkload, Workload,
};
use crds::striping::{StripingPolicy, StripingRule};
use crds::v1alpha1::{Devices, Libfabric, LibfabricProvider, MemoryKind, RpcChannel, TransportSpec};

use leg::{Leg, measurements};
use namespaces::{Namespaces, can_create_namespaces, output};

/// Multicast group. The routing table of each namespace selects the rail for this group.
const GROUP: &str = "239.255.7.13";
const PORT: u16 = 17_782;
const WORKERS: u32 = 3;
const SIZE_BYTES: u64 = 200_000;
/// Size of a datagram, small enough that datagrams are not fragmented.
const DATAGRAM_BYTES: u32 = 1400;
const DATAGRAMS_PER_VERSION: u64 = SIZE_BYTES.div_ceil(DATAGRAM_BYTES as u64);

/// Runs the command line `arguments` in the namespace of `side` and returns its standard output.
fn run_in(namespaces: &Namespaces, side: usize, arguments: &[&str]) -> String {
    output(
        "ip",
        &[&["netns", "exec", namespaces.name(side)], arguments].concat(),
    )
}

/// Number of datagrams that the receiving namespace dropped.
fn dropped(namespaces: &Namespaces) -> u64 {
    let rules = run_in(
        namespaces,
        1,
        &["iptables", "--list", "INPUT", "--verbose", "--numeric", "--exact"],
    );
    let rule = rules
        .lines()
        .find(|line| line.contains("DROP") && line.contains(GROUP))
        .unwrap();
    rule.split_whitespace().next().unwrap().parse().unwrap()
}

fn leg(namespaces: &Namespaces) -> Leg {
    Leg {
        rendezvous: (namespaces.rendezvous_address(0), 17_901),
        transport: TransportSpec::Libfabric(Libfabric {
            provider: LibfabricProvider::Tcp,
            rails: 1,
        }),
        bindings: (0..2)
            .map(|side| RankBinding {
                rails: vec![namespaces.rail_address(side, 0)],
                cpus: Vec::new(),
            })
            .collect(),
        devices: Devices::default(),
        process: InstrumentProcess::default(),
        scenario: ScenarioAssignment {
            name: "multicast".to_owned(),
            memory: MemoryKind::Heap,
            target_memory: None,
            polling: None,
            workload: Workload::ParameterServing(ServingWorkload {
                delivery: Delivery::Multicast(MulticastDelivery {
                    group: format!("{GROUP}:{PORT}"),
                    destination: format!("{GROUP}:{PORT}"),
                    interface: None,
                    datagram_bytes: DATAGRAM_BYTES,
                    bytes_per_second: Some(15_000_000),
                }),
                workers: WORKERS,
                push_nanos: 20_000_000,
                pull_nanos: 20_000_000,
                post_nanos: 200_000_000,
                step_nanos: 5_000_000,
                max_version: 500,
                max_time_nanos: 1_000_000_000,
            }),
            max_size_bytes: SIZE_BYTES,
        },
        arms: vec![ArmAssignment {
            name: "multicast".to_owned(),
            process: 0,
            inject_max_bytes: None,
            doorbell_max_batch: None,
            channel: RpcChannel::Transport,
            arguments: Vec::new(),
            striping: StripingRule {
                policy: StripingPolicy::Nixl,
                threshold_bytes: 1 << 20,
                min_chunk_bytes: 16 << 10,
            },
        }],
    }
}

#[test]
fn datagrams_that_a_link_drops_are_counted_exactly() {
    if !can_create_namespaces("datagrams_that_a_link_drops_are_counted_exactly") {
        return;
    }
    let namespaces = Namespaces::with_rails(1, "200mbit");
    for side in 0..2 {
        run_in(
            &namespaces,
            side,
            &[
                "ip",
                "route",
                "add",
                "239.0.0.0/8",
                "dev",
                &namespaces.rail_interface(0),
            ],
        );
    }
    let every_hundredth =
        "--append INPUT --protocol udp --match statistic --mode nth --every 100 --packet 99 --jump DROP";
    let rule: Vec<&str> = ["iptables", "--destination", GROUP]
        .into_iter()
        .chain(every_hundredth.split(' '))
        .collect();
    run_in(&namespaces, 1, &rule);

    let records = leg(&namespaces).run(|rank| namespaces.runner(rank));
    let report = measurements(&records)["multicast"]
        .target
        .serving
        .as_ref()
        .unwrap();
    let dropped = dropped(&namespaces);
    println!("{} versions, {dropped} datagrams dropped", report.published);
    assert!(dropped >= 20, "{dropped}");
    assert_eq!(report.workers.len(), WORKERS as usize);
    for worker in &report.workers {
        let datagrams = worker.datagrams.unwrap();
        println!("{datagrams:?}");
        assert_eq!(datagrams.sent, DATAGRAMS_PER_VERSION * report.published);
        assert_eq!((datagrams.lost, datagrams.duplicates), (dropped, 0));
        assert_eq!(datagrams.received + datagrams.lost, datagrams.sent);
        assert!(datagrams.incomplete_versions > 0 && datagrams.incomplete_versions <= dropped);
    }
}
