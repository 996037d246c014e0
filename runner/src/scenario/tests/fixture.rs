//! Two workers with one arm, connected by the test transport.

use std::time::Duration;

use crds::assignment::{
    ArmAssignment, Assignment, AttemptIdentity, Extent, InstrumentProcess, Pass, PingPongWorkload,
    Rendezvous, RoundAssignment, ScenarioAssignment, TransferWorkload, Workload,
};
use crds::record::{CaseFailure, IntegrityReport, SideReport};
use crds::striping::{StripingPolicy, StripingRule};
use crds::v1alpha1::{
    Alignment, Devices, Loopback, MemoryKind, PingPongOperation, Polling, TransferOperation, TransportSpec,
};

use crate::arm_endpoints::{ArmEndpoints, Buffers, open_config};
use crate::scenario::{Case, CaseReport, Role, SideOutcome, run_case};
use crate::test_transport::{Faults, LoggedPost, TestTransport};

pub const BASELINE: ArmAssignment = ArmAssignment {
    name: String::new(),
    process: 0,
    inject_max_bytes: None,
    doorbell_max_batch: None,
    channel: crds::v1alpha1::RpcChannel::Transport,
    arguments: Vec::new(),
    striping: StripingRule {
        policy: StripingPolicy::Nixl,
        threshold_bytes: 16 * 1024,
        min_chunk_bytes: 16 * 1024,
    },
};

/// Endpoints of an arm on two connected workers.
pub struct Pair {
    pub initiator: ArmEndpoints<TestTransport>,
    pub target: ArmEndpoints<TestTransport>,
    pub arm: ArmAssignment,
    pub scenario: ScenarioAssignment,
    /// Deadline of the initiator. The target's deadline is later, so that the initiator's failure names its own cause.
    pub deadline: Duration,
    pub number: u32,
}

pub type BothResults<T> = (Result<T, CaseFailure>, Result<T, CaseFailure>);

pub fn ping_pong(operation: PingPongOperation, iterations: u32) -> Workload {
    Workload::PingPong(PingPongWorkload {
        operation,
        measured: Extent::Iterations(iterations),
        warmup: Extent::Iterations(5),
    })
}

pub fn transfer(operation: TransferOperation, window: u32, batch: u32, iterations: u32) -> TransferWorkload {
    TransferWorkload {
        batch,
        warmup: Extent::Iterations(7),
        ..TransferWorkload::new(operation, window, Extent::Iterations(iterations))
    }
}

/// Creates an assignment with one scenario and one arm.
pub fn assignment(scenario: &ScenarioAssignment, arm: &ArmAssignment, rails: u32) -> Assignment {
    Assignment {
        version: crds::assignment::ASSIGNMENT_VERSION,
        identity: AttemptIdentity {
            run: "test".to_owned(),
            uid: "test".to_owned(),
            plan_hash: "test".to_owned(),
            leg: 0,
            attempt: 1,
        },
        workers: 2,
        many_to_many: None,
        rendezvous: Rendezvous {
            host: "localhost".to_owned(),
            bind: "127.0.0.1".to_owned(),
            port: 0,
            timeout_seconds: 1,
        },
        transport: TransportSpec::Loopback(Loopback { rails }),
        devices: Devices::default(),
        align: Alignment::None,
        bindings: Vec::new(),
        processes: vec![InstrumentProcess::default()],
        scenarios: vec![scenario.clone()],
        arms: vec![arm.clone()],
        operation_counts: Vec::new(),
        rounds: Vec::<RoundAssignment>::new(),
        case_deadline_seconds: 10,
        assessed_variables: None,
    }
}

impl Pair {
    /// Creates two connected workers with `rails` rails, for sizes up to `max_size_bytes`.
    pub fn new(workload: Workload, arm: ArmAssignment, rails: u32, max_size_bytes: u64) -> Self {
        Self::with_target_memory(None, workload, arm, rails, max_size_bytes)
    }

    /// Creates two connected workers, of which the initiator has ordinary memory.
    pub fn with_target_memory(
        target_memory: Option<MemoryKind>,
        workload: Workload,
        arm: ArmAssignment,
        rails: u32,
        max_size_bytes: u64,
    ) -> Self {
        let scenario = ScenarioAssignment {
            name: "test".to_owned(),
            memory: MemoryKind::Heap,
            target_memory,
            polling: None,
            workload,
            max_size_bytes,
        };
        let assignment = assignment(&scenario, &arm, rails);
        let open = |rank| {
            let config = open_config(&arm, &assignment, rank);
            let mut buffers = Buffers::new(&assignment, rank);
            ArmEndpoints::open(&arm, &assignment, &config, Polling::Yield, &[], &mut buffers).unwrap()
        };
        let (mut initiator, mut target) = (open(0), open(1));
        initiator.connect(1, &target.offer()).unwrap();
        target.connect(0, &initiator.offer()).unwrap();
        Self {
            initiator,
            target,
            arm,
            scenario,
            deadline: Duration::from_secs(20),
            number: 0,
        }
    }

    /// Sets the faults that one side's transport injects.
    pub fn set_faults(&mut self, role: Role, faults: &Faults) {
        let endpoints = match role {
            Role::Initiator => &mut self.initiator,
            Role::Target => &mut self.target,
        };
        for thread in &mut endpoints.threads {
            thread.transport.faults = faults.clone();
        }
    }

    /// Returns the initiator's payload posts since the previous call.
    pub fn take_log(&mut self) -> Vec<LoggedPost> {
        let threads = self.initiator.threads.iter_mut();
        threads
            .flat_map(|thread| std::mem::take(&mut thread.transport.log))
            .collect()
    }

    /// Runs both sides of a case.
    pub fn run(&mut self, pass: Pass, size_bytes: u64) -> BothResults<CaseReport> {
        self.number += 1;
        let case = |role, peer_rank| Case {
            number: self.number,
            scenario: &self.scenario,
            pass,
            size_bytes,
            arm: &self.arm,
            role,
            peer_rank,
            deadline: match role {
                Role::Initiator => self.deadline,
                Role::Target => 2 * self.deadline,
            },
            seed: 42,
            keep_samples: false,
            site: crate::scenario::CommandSite::default(),
        };
        let (initiator_case, target_case) = (case(Role::Initiator, 1), case(Role::Target, 0));
        let (initiator, target) = (&mut self.initiator, &mut self.target);
        std::thread::scope(|scope| {
            let target = scope.spawn(move || run_case(target, &target_case));
            (run_case(initiator, &initiator_case), target.join().unwrap())
        })
    }

    /// Runs a measured case and returns the reports of both sides.
    pub fn measure(&mut self, size_bytes: u64) -> (SideReport, SideReport) {
        let (initiator, target) = self.run(Pass::Measure, size_bytes);
        let side = |report: Result<CaseReport, CaseFailure>| match report.unwrap().outcome {
            SideOutcome::Measured(side) => *side,
            SideOutcome::Checked(_) => panic!("a measured case returned an integrity report"),
        };
        (side(initiator), side(target))
    }

    /// Runs an integrity case and returns the reports of both sides.
    pub fn check(&mut self, size_bytes: u64) -> (IntegrityReport, IntegrityReport) {
        let (initiator, target) = self.run(Pass::Integrity, size_bytes);
        let report = |report: Result<CaseReport, CaseFailure>| match report.unwrap().outcome {
            SideOutcome::Checked(report) => report,
            SideOutcome::Measured(_) => panic!("an integrity case returned a measurement"),
        };
        (report(initiator), report(target))
    }
}
