use crds::assignment::AttemptIdentity;
use crds::record::{HelloRecord, HostEnvironment, InterfaceDelta, Posted, PostingCounters, SideReport};

use super::*;
use crate::collect::FromStream;
use crate::fixture::failed_case;
use crate::validate::validate;

const RUN: &str = "apiVersion: fabricbench.dev/v1alpha1\nkind: BenchmarkRun\nmetadata: {name: test}\nspec:\n  \
                   baseline: a\n  transport: {libfabric: {provider: tcp, rails: 1}}\n  placement: {workers: 4}\n  \
                   variants: [{name: a}, {name: b, inject: {maxBytes: 64}}]\n  scenarios: [{name: s, transfer: \
                   {sizes: [64], operation: Send}}]\n";

/// Payload of a case, in bytes.
const PAYLOAD: u64 = 1_000_000;
/// Length of a window, in nanoseconds.
const WINDOW: u64 = 10_000_000;

/// Hello record of a worker. All workers are on the same host.
fn hello(rank: u32) -> FromStream<HelloRecord> {
    let identity = AttemptIdentity {
        run: "test".to_owned(),
        uid: String::new(),
        plan_hash: String::new(),
        leg: 0,
        attempt: 1,
    };
    let environment = HostEnvironment {
        hostname: "host".to_owned(),
        ..HostEnvironment::default()
    };
    let record = HelloRecord {
        version: 1,
        identity,
        rank,
        workers: 4,
        runner_version: String::new(),
        started_at: String::new(),
        environment,
    };
    FromStream {
        leg: 0,
        attempt: 1,
        record,
    }
}

/// A case of one pair, in which both workers report that the interface counted `counted` bytes in each direction.
fn case(initiator: u32, started_nanos: u64, counted: u64) -> Case {
    let side = |posted| SideReport {
        window_nanos: WINDOW,
        posted,
        interfaces: vec![InterfaceDelta {
            name: "eth0".to_owned(),
            rails: vec![0],
            tx_bytes: counted,
            rx_bytes: counted,
            tx_packets: None,
            rx_packets: None,
            software: None,
            retransmits: None,
            interval_nanos: WINDOW,
            line_bits_per_second: None,
        }],
        ..SideReport::default()
    };
    let posted = Posted {
        payload_bytes: PAYLOAD,
        counters: PostingCounters {
            bytes_per_rail: vec![PAYLOAD],
            ..PostingCounters::default()
        },
        ..Posted::default()
    };
    Case {
        block: 1,
        round: 1,
        restart: 0,
        initiator,
        target: initiator + 1,
        started_nanos,
        outcome: CaseResult::Measured(Box::new(Measurement {
            initiator: side(Some(posted)),
            target: side(None),
        })),
        ..failed_case()
    }
}

/// The proof of each case.
fn proofs(cases: Vec<Case>) -> Vec<FabricProof> {
    let run = crate::fixture::run_from_yaml(RUN);
    let plan = crate::plan::plan(&validate(&run).unwrap()).unwrap();
    let reports = Reports {
        hellos: (0..4).map(hello).collect(),
        cases,
        ..Reports::default()
    };
    let proofs = prove(&plan, &reports, &EndpointIndex::new(&plan, &reports));
    let cases = proofs.cases.into_iter().flatten();
    cases.map(|case| case.proof).collect()
}

#[test]
fn pairs_that_share_an_interface_are_verified_if_one_reading_covers_all_payloads() {
    let verified = vec![case(0, 0, 2 * PAYLOAD), case(2, 0, 2 * PAYLOAD)];
    assert_eq!(proofs(verified), [FabricProof::Verified; 2]);
}

#[test]
fn fabric_is_declared_but_not_verified_if_windows_overlap_partially() {
    // Each reading covers the payload of its own pair and half of the other pair's payload.
    let counted = PAYLOAD * 3 / 2;
    let overlapping = vec![case(0, 0, counted), case(2, WINDOW / 2, counted)];
    assert_eq!(proofs(overlapping), [FabricProof::Declared; 2]);
}

#[test]
fn reading_below_the_payload_of_its_own_pair_contradicts_the_fabric() {
    let lost = vec![case(0, 0, 2 * PAYLOAD), case(2, WINDOW / 2, PAYLOAD / 2)];
    let proofs = proofs(lost);
    assert_eq!(proofs[1], FabricProof::Contradicted);
}

#[test]
fn pairs_that_run_one_after_another_have_separate_proofs() {
    let separate = vec![case(0, 0, PAYLOAD), case(2, 2 * WINDOW, PAYLOAD)];
    assert_eq!(proofs(separate), [FabricProof::Verified; 2]);
}

/// The proof of the only case, whose interface counted `counted` bytes.
fn proofs_of(counted: u64, others: Vec<Case>) -> Proofs {
    let mut cases = vec![case(0, 0, counted)];
    cases.extend(others);
    proofs_on((0..4).map(hello).collect(), cases)
}

/// The proofs of `cases`, whose workers sent `hellos`.
fn proofs_on(hellos: Vec<FromStream<HelloRecord>>, cases: Vec<Case>) -> Proofs {
    let run = crate::fixture::run_from_yaml(RUN);
    let plan = crate::plan::plan(&validate(&run).unwrap()).unwrap();
    let reports = Reports {
        hellos,
        cases,
        ..Reports::default()
    };
    prove(&plan, &reports, &EndpointIndex::new(&plan, &reports))
}

fn only_proof(counted: u64, others: Vec<Case>) -> CaseProof {
    proofs_of(counted, others).cases[0].clone().unwrap()
}

#[test]
fn counts_far_above_the_payload_are_shared_with_the_factor() {
    let found = only_proof(1226 * PAYLOAD, Vec::new());
    assert_eq!(found.proof, FabricProof::Shared);
    assert!(
        found.reason.contains("1226 times the payload of 1000000"),
        "{}",
        found.reason
    );
    let found = only_proof(PAYLOAD * 3 / 2, Vec::new());
    assert_eq!(found.proof, FabricProof::Shared);
    assert!(
        found.reason.contains(", 1.50 times the payload"),
        "{}",
        found.reason
    );
}

/// Bytes that a case and the control messages of `sides` sides explain: 2 percent of the payload, headers of the packets in both
/// directions, and two records and a heartbeat for each side.
fn most_bytes(sides: u64) -> u64 {
    PAYLOAD + PAYLOAD / 50 + 2 * PAYLOAD / 1024 * 128 + sides * (2 * 16 * 1024 + 2048)
}

#[test]
fn repeated_packets_and_records_are_not_other_traffic() {
    let most = most_bytes(2);
    assert_eq!(only_proof(most, Vec::new()).proof, FabricProof::Verified);
    assert_eq!(only_proof(most + 1, Vec::new()).proof, FabricProof::Shared);
}

/// Machines from the same image may have the same name. Their interfaces are not the same ones.
#[test]
fn machines_with_the_same_name_have_different_interfaces() {
    let proofs = |namespaces: [&str; 4], cases: Vec<Case>| {
        let mut hellos: Vec<_> = (0..4).map(hello).collect();
        for (hello, namespace) in hellos.iter_mut().zip(namespaces) {
            hello.record.environment.network_namespace = Some(namespace.to_owned());
        }
        let proofs = proofs_on(hellos, cases).cases.into_iter().flatten();
        proofs.map(|case| case.proof).collect::<Vec<_>>()
    };
    // The interface of an initiator only sends, and that of a target only receives.
    let between = |initiator| {
        let mut case = case(initiator, 0, PAYLOAD);
        if let CaseResult::Measured(measured) = &mut case.outcome {
            measured.initiator.interfaces[0].rx_bytes = 0;
            measured.target.interfaces[0].tx_bytes = 0;
        }
        case
    };
    let machines = proofs(["a/1", "b/1", "c/1", "d/1"], vec![between(0), between(2)]);
    assert_eq!(machines, [FabricProof::Verified; 2]);
    let namespaces = proofs(["a/1", "a/2", "a/3", "a/4"], vec![between(0), between(2)]);
    assert_eq!(namespaces, [FabricProof::Verified; 2]);
    // An interface that both pairs use must count the payload of both.
    let shared = proofs(["a/1"; 4], vec![case(0, 0, PAYLOAD), case(2, 0, PAYLOAD)]);
    assert_eq!(shared, [FabricProof::Declared; 2]);
}

/// The records of all workers arrive on the coordinator's host, while its own pair still measures.
#[test]
fn records_of_other_hosts_are_not_other_traffic_on_the_coordinators_host() {
    let most = most_bytes(4);
    let proof = |coordinators: &str, started_nanos| {
        let mut hellos: Vec<_> = (0..4).map(hello).collect();
        hellos[0].record.environment.hostname = coordinators.to_owned();
        for rank in [2, 3] {
            hellos[rank].record.environment.hostname = format!("host-{rank}");
        }
        let own = Case {
            initiator: 1,
            target: 0,
            ..case(0, 0, most)
        };
        let other = case(2, started_nanos, PAYLOAD);
        proofs_on(hellos, vec![own, other]).cases[0]
            .clone()
            .unwrap()
            .proof
    };
    assert_eq!(proof("host", 0), FabricProof::Verified);
    // A case that starts at another time is not coordinated at the same time.
    assert_eq!(proof("host", 2 * WINDOW), FabricProof::Shared);
    // On a host without the coordinator, only the messages of its own workers arrive.
    assert_eq!(proof("coordinator", 0), FabricProof::Shared);
}

#[test]
fn traffic_beside_a_case_without_measurements_is_not_attributed() {
    let failed = Case {
        block: 1,
        round: 1,
        restart: 0,
        initiator: 2,
        target: 3,
        ..failed_case()
    };
    let found = proofs_of(2 * PAYLOAD, vec![failed]);
    assert_eq!(found.foreign_bytes[0], None);
    let proof = found.cases[0].clone().unwrap();
    assert_eq!(proof.proof, FabricProof::Declared);
    assert!(proof.reason.contains("without measurements"), "{}", proof.reason);
    let alone = proofs_of(2 * PAYLOAD, Vec::new());
    assert!(alone.foreign_bytes[0].is_some_and(|bytes| bytes > PAYLOAD / 2));
}

#[test]
fn warm_ups_of_concurrent_pairs_are_not_other_traffic() {
    let counted = 4 * PAYLOAD;
    let warming = vec![case(0, 0, counted), case(2, 0, counted)];
    assert_eq!(proofs(warming), [FabricProof::Verified; 2]);
    let counted = 6 * PAYLOAD;
    let shared = vec![case(0, 0, counted), case(2, 0, counted)];
    assert_eq!(proofs(shared), [FabricProof::Shared; 2]);
}

#[test]
fn shared_is_the_weakest_proof_except_for_a_contradiction() {
    let mut proofs = [
        FabricProof::Verified,
        FabricProof::Declared,
        FabricProof::Contradicted,
        FabricProof::Shared,
    ];
    proofs.sort_unstable();
    assert_eq!(
        proofs,
        [
            FabricProof::Contradicted,
            FabricProof::Shared,
            FabricProof::Declared,
            FabricProof::Verified,
        ]
    );
}
