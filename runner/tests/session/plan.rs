//! Assignments for tests.

use std::net::TcpListener;

use crds::assignment::{
    ASSIGNMENT_VERSION, ArmAssignment, Assignment, AttemptIdentity, BlockAssignment, Extent,
    InstrumentProcess, Pass, PingPongWorkload, RankBinding, Rendezvous, RoundAssignment, ScenarioAssignment,
    TransferWorkload, Workload,
};
use crds::striping::{StripingPolicy, StripingRule};
use crds::v1alpha1::{
    Alignment, Devices, Libfabric, LibfabricProvider, Loopback, MemoryKind, PingPongOperation,
    TransferOperation, TransportSpec,
};

/// Returns the assignment of a small campaign with an integrity round, `rounds` measured rounds, two scenarios and two
/// arms.
pub fn assignment(workers: u32, transport: TransportSpec, rounds: u32) -> Assignment {
    let mut next_block = 0;
    let mut round = |round: u32| RoundAssignment {
        round,
        process_order: vec![0],
        arm_order: vec![1, 0],
        blocks: [(0, 64), (1, 64 * 1024)]
            .map(|(scenario, size_bytes)| {
                next_block += 1;
                BlockAssignment {
                    block: next_block - 1,
                    pass: if round == 0 {
                        Pass::Integrity
                    } else {
                        Pass::Measure
                    },
                    scenario,
                    size_bytes,
                    order: vec![next_block % 2, 1 - next_block % 2],
                }
            })
            .into(),
    };
    Assignment {
        version: ASSIGNMENT_VERSION,
        identity: AttemptIdentity {
            run: "session".into(),
            uid: "5e551017".into(),
            plan_hash: "ab12".into(),
            leg: 0,
            attempt: 1,
        },
        workers,
        many_to_many: None,
        rendezvous: Rendezvous {
            host: "127.0.0.1".into(),
            bind: "127.0.0.1".into(),
            port: free_port(),
            timeout_seconds: 60,
        },
        devices: Devices::default(),
        align: Alignment::None,
        bindings: bindings(workers, &transport),
        transport,
        processes: vec![InstrumentProcess::default()],
        scenarios: vec![ping_pong(Extent::Iterations(100)), transfer()],
        arms: vec![arm("baseline", None), arm("fi-inject", Some(128))],
        operation_counts: Vec::new(),
        rounds: (0..=rounds).map(&mut round).collect(),
        case_deadline_seconds: 30,
        assessed_variables: None,
    }
}

/// Returns the loopback transport with two rails.
pub fn loopback() -> TransportSpec {
    TransportSpec::Loopback(Loopback { rails: 2 })
}

/// Returns a libfabric transport with two rails, or with one rail for shm.
pub fn libfabric(provider: LibfabricProvider) -> TransportSpec {
    let rails = if provider == LibfabricProvider::Shm { 1 } else { 2 };
    TransportSpec::Libfabric(Libfabric { provider, rails })
}

/// Replaces the second block of every round with a block of scenario 2, which takes longer than any test. The first
/// block is not changed.
pub fn endless(mut assignment: Assignment) -> Assignment {
    assignment.case_deadline_seconds = 120;
    assignment.scenarios.push(ScenarioAssignment {
        name: "endless".into(),
        ..ping_pong(Extent::DurationNanos(60_000_000_000))
    });
    for round in &mut assignment.rounds {
        for block in &mut round.blocks {
            block.pass = Pass::Measure;
        }
        round.blocks[1].scenario = 2;
        round.blocks[1].size_bytes = 64;
    }
    assignment
}

pub fn arm(name: &str, inject_max_bytes: Option<u64>) -> ArmAssignment {
    ArmAssignment {
        name: name.into(),
        process: 0,
        inject_max_bytes,
        doorbell_max_batch: None,
        channel: crds::v1alpha1::RpcChannel::Transport,
        arguments: Vec::new(),
        striping: StripingRule {
            policy: StripingPolicy::Nixl,
            threshold_bytes: 16 * 1024,
            min_chunk_bytes: 16 * 1024,
        },
    }
}

fn ping_pong(measured: Extent) -> ScenarioAssignment {
    ScenarioAssignment {
        name: "small".into(),
        memory: MemoryKind::Heap,
        target_memory: None,
        polling: None,
        workload: Workload::PingPong(PingPongWorkload {
            operation: PingPongOperation::Send,
            measured,
            warmup: Extent::Iterations(10),
        }),
        max_size_bytes: 64,
    }
}

fn transfer() -> ScenarioAssignment {
    ScenarioAssignment {
        name: "large".into(),
        memory: MemoryKind::Heap,
        target_memory: None,
        polling: None,
        workload: Workload::Transfer(TransferWorkload {
            batch: 2,
            warmup: Extent::Iterations(10),
            ..TransferWorkload::new(TransferOperation::Write, 4, Extent::Iterations(100))
        }),
        max_size_bytes: 64 * 1024,
    }
}

/// Binds tcp rails to the loopback address. Shared-memory rails have no address.
fn bindings(workers: u32, transport: &TransportSpec) -> Vec<RankBinding> {
    let addressed = matches!(transport, TransportSpec::Libfabric(Libfabric { provider, .. })
        if *provider != LibfabricProvider::Shm);
    let rails = if addressed {
        vec!["127.0.0.1".into(); 2]
    } else {
        Vec::new()
    };
    let binding = RankBinding {
        rails,
        cpus: Vec::new(),
    };
    vec![binding; workers as usize]
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}
