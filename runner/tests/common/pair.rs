//! Runs both workers of one arm in the test process.

use std::time::Duration;

use crds::assignment::{
    ASSIGNMENT_VERSION, ArmAssignment, Assignment, AttemptIdentity, InstrumentProcess, Pass, RankBinding,
    Rendezvous, ScenarioAssignment, Workload,
};
use crds::record::SideReport;
use crds::striping::{StripingPolicy, StripingRule};
use crds::v1alpha1::{Alignment, Devices, MemoryKind, Polling, TransportSpec};
use fabricbench_runner::arm_endpoints::{ArmEndpoints, Buffers, open_config};
use fabricbench_runner::scenario::{Case, Role, SideOutcome, run_case};
use fabricbench_runner::transport::Transport;

/// Two connected workers that run one arm.
pub struct Pair<T: Transport> {
    arm: ArmAssignment,
    initiator: ArmEndpoints<T>,
    target: ArmEndpoints<T>,
    number: u32,
}

/// Returns an arm that injects messages of up to `inject` bytes and rings the doorbell after at most `doorbell` posts.
pub fn arm(inject: Option<u64>, doorbell: Option<u32>) -> ArmAssignment {
    ArmAssignment {
        name: "arm".to_owned(),
        process: 0,
        inject_max_bytes: inject,
        doorbell_max_batch: doorbell,
        channel: crds::v1alpha1::RpcChannel::Transport,
        arguments: Vec::new(),
        striping: StripingRule {
            policy: StripingPolicy::Nixl,
            threshold_bytes: 16 * 1024,
            min_chunk_bytes: 16 * 1024,
        },
    }
}

/// Returns a scenario with heap memory.
pub fn scenario(workload: Workload) -> ScenarioAssignment {
    ScenarioAssignment {
        name: "scenario".to_owned(),
        memory: MemoryKind::Heap,
        target_memory: None,
        polling: None,
        workload,
        max_size_bytes: 64 * 1024,
    }
}

impl<T: Transport> Pair<T> {
    /// Opens and connects two workers for `scenarios`. Network transports use 127.0.0.1. `library` is the library
    /// directory; if it is `None`, the system's library is used.
    pub fn new(
        arm: ArmAssignment,
        scenarios: Vec<ScenarioAssignment>,
        transport: TransportSpec,
        polling: Polling,
        library: Option<String>,
    ) -> Self {
        let text = || "test".to_owned();
        let binding = RankBinding {
            rails: vec!["127.0.0.1".to_owned(); transport.rails() as usize],
            ..RankBinding::default()
        };
        let process = InstrumentProcess {
            library,
            ..InstrumentProcess::default()
        };
        let assignment = Assignment {
            version: ASSIGNMENT_VERSION,
            identity: AttemptIdentity {
                run: text(),
                uid: text(),
                plan_hash: text(),
                leg: 0,
                attempt: 1,
            },
            workers: 2,
            many_to_many: None,
            rendezvous: Rendezvous {
                host: text(),
                bind: text(),
                port: 0,
                timeout_seconds: 1,
            },
            transport,
            devices: Devices::default(),
            align: Alignment::None,
            bindings: vec![binding; 2],
            processes: vec![process],
            scenarios,
            arms: vec![arm.clone()],
            operation_counts: Vec::new(),
            rounds: Vec::new(),
            case_deadline_seconds: 60,
            assessed_variables: None,
        };
        let open = |rank| {
            let config = open_config(&arm, &assignment, rank);
            let mut buffers = Buffers::new(&assignment, rank);
            ArmEndpoints::open(&arm, &assignment, &config, polling, &[], &mut buffers).unwrap()
        };
        let (mut initiator, mut target) = (open(0), open(1));
        initiator.connect(1, &target.offer()).unwrap();
        target.connect(0, &initiator.offer()).unwrap();
        Self {
            arm,
            initiator,
            target,
            number: 0,
        }
    }

    /// Measures a case and returns the initiator's report.
    pub fn measure(&mut self, scenario: &ScenarioAssignment, size_bytes: u64) -> SideReport {
        match self.run(scenario, size_bytes, Pass::Measure).0 {
            SideOutcome::Measured(side) => *side,
            SideOutcome::Checked(_) => unreachable!("a measured case returned an integrity report"),
        }
    }

    /// Runs a case and returns the outcomes of both sides.
    pub fn run(
        &mut self,
        scenario: &ScenarioAssignment,
        size_bytes: u64,
        pass: Pass,
    ) -> (SideOutcome, SideOutcome) {
        self.number += 1;
        let case = |role, peer_rank| Case {
            number: self.number,
            scenario,
            pass,
            size_bytes,
            arm: &self.arm,
            role,
            peer_rank,
            deadline: Duration::from_secs(60),
            seed: 1,
            keep_samples: false,
            site: fabricbench_runner::scenario::CommandSite::default(),
        };
        let (initiator_case, target_case) = (case(Role::Initiator, 1), case(Role::Target, 0));
        let (initiator, target) = (&mut self.initiator, &mut self.target);
        std::thread::scope(|scope| {
            let other = scope.spawn(move || run_case(target, &target_case));
            let report = run_case(initiator, &initiator_case).unwrap();
            (report.outcome, other.join().unwrap().unwrap().outcome)
        })
    }
}
