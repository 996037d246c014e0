//! A small leg whose two workers are runner processes.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crds::assignment::{
    ASSIGNMENT_VERSION, ArmAssignment, Assignment, AttemptIdentity, BlockAssignment, InstrumentProcess, Pass,
    RankBinding, Rendezvous, RoundAssignment, ScenarioAssignment,
};
use crds::record::{CaseResult, Chain, Measurement, Record};
use crds::v1alpha1::{Alignment, Devices, TransportSpec};

/// Leg that measures one scenario at its largest size, once with each arm.
pub struct Leg {
    /// Address and port of rank 0.
    pub rendezvous: (String, u16),
    pub transport: TransportSpec,
    /// Rails of each rank. If empty, the workers choose the rails.
    pub bindings: Vec<RankBinding>,
    pub devices: Devices,
    pub process: InstrumentProcess,
    pub scenario: ScenarioAssignment,
    pub arms: Vec<ArmAssignment>,
}

impl Leg {
    /// Runs the leg and returns the records. `binary` returns the command that starts the runner for a rank.
    ///
    /// # Panics
    /// Panics if a worker fails. The message contains the standard error of both workers.
    pub fn run(self, binary: impl Fn(usize) -> Command) -> Vec<Record> {
        let assignment = serde_json::to_vec(&self.assignment()).unwrap();
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&assignment).unwrap();
        let peer = start(binary(1), 1, file.path(), Stdio::null());
        let coordinator = start(binary(0), 0, file.path(), Stdio::piped());
        let outputs = [coordinator, peer].map(|worker| worker.wait_with_output().unwrap());
        let stderr = outputs
            .each_ref()
            .map(|worker| String::from_utf8_lossy(&worker.stderr));
        assert!(
            outputs.iter().all(|worker| worker.status.success()),
            "{stderr:#?}"
        );
        let mut chain = Chain::default();
        let stream = String::from_utf8_lossy(&outputs[0].stdout);
        stream.lines().map(|line| chain.read(line).unwrap()).collect()
    }

    fn assignment(self) -> Assignment {
        let order: Vec<_> = (0..self.arms.len() as u32).collect();
        let block = BlockAssignment {
            block: 0,
            pass: Pass::Measure,
            scenario: 0,
            size_bytes: self.scenario.max_size_bytes,
            order: order.clone(),
        };
        Assignment {
            version: ASSIGNMENT_VERSION,
            identity: AttemptIdentity {
                run: "leg".into(),
                uid: "1e9".into(),
                plan_hash: "1e9".into(),
                leg: 0,
                attempt: 1,
            },
            workers: 2,
            many_to_many: None,
            rendezvous: Rendezvous {
                host: self.rendezvous.0.clone(),
                bind: self.rendezvous.0,
                port: self.rendezvous.1,
                timeout_seconds: 60,
            },
            transport: self.transport,
            devices: self.devices,
            align: Alignment::None,
            bindings: self.bindings,
            processes: vec![self.process],
            scenarios: vec![self.scenario],
            arms: self.arms,
            operation_counts: Vec::new(),
            rounds: vec![RoundAssignment {
                round: 1,
                process_order: vec![0],
                arm_order: order,
                blocks: vec![block],
            }],
            case_deadline_seconds: 60,
            assessed_variables: None,
        }
    }
}

fn start(mut binary: Command, rank: u32, assignment: &Path, stdout: Stdio) -> Child {
    binary
        .args(["worker", "--parent", &std::process::id().to_string()])
        .args(["--rank", &rank.to_string(), "--assignment"])
        .arg(assignment)
        .stdin(Stdio::null())
        .stdout(stdout)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Returns the measurement of each arm.
///
/// # Panics
/// Panics if a case was not measured.
pub fn measurements(records: &[Record]) -> BTreeMap<&str, &Measurement> {
    let cases = records.iter().filter_map(|record| match record {
        Record::Case(case) => Some(case),
        _ => None,
    });
    cases
        .map(|case| match &case.result {
            CaseResult::Measured(measurement) => (case.arm.as_str(), &**measurement),
            other => unreachable!("{} was not measured: {other:?}", case.arm),
        })
        .collect()
}
