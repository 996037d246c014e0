//! Opens the arms of one instrument process according to the assignment and the worker's CPUs. Sets the CPU affinity.

use std::time::Duration;

use crds::assignment::{ArmAssignment, Assignment, ScenarioAssignment};
use crds::record::{CaseFailure, FailureReason};
use crds::v1alpha1::Polling;
use rustix::thread::{CpuSet, sched_setaffinity};

use super::arm::Arm;
use super::cpus::available_cpus;
use super::failure::{from_transport, internal};
use super::open_arm::OpenArm;
use super::protocol::InstrumentParameters;
use super::select::{ArmRank, TransportFunctions, TransportSelector};
use crate::arm_endpoints::{Buffers, default_polling, open_config};
use crate::environment;
use crate::rendezvous::message::CaseOrder;
use crate::topology::SystemRoots;
use crate::transport::{OpenConfig, TransportError};

/// Opens the arms of one instrument process.
pub(super) struct Opener {
    assignment: Assignment,
    rank: u32,
    process: u32,
    round: u32,
    host: String,
    polling: Polling,
    /// Why the library of this process's arms cannot be loaded; `None` if it has been loaded.
    load_failure: Option<TransportError>,
    /// CPUs to which measuring threads are pinned; empty if other workers use the same CPUs.
    pinned: Vec<u32>,
    buffers: Buffers,
}

impl Opener {
    /// Binds this process to the CPUs of its worker, and chooses the default polling mode.
    ///
    /// # Errors
    /// Returns an error if the process cannot be bound to the CPUs, or the requested NUMA node has no CPU for this
    /// worker.
    pub(super) fn new(parameters: InstrumentParameters) -> Result<Self, CaseFailure> {
        let InstrumentParameters {
            assignment,
            rank,
            process,
            round,
            cpus,
            host,
        } = parameters;
        if let (Some(node), []) = (assignment.devices.numa_node, cpus.cpus.as_slice()) {
            return Err(no_cpu_on(node));
        }
        set_affinity(&cpus.cpus)?;
        let limit = environment::cpu_limit_millis(&SystemRoots::default());
        let polling = default_polling(available_cpus(&cpus, limit), &assignment, rank);
        let exclusive = cpus.overlapping_workers == 1;
        Ok(Self {
            buffers: Buffers::new(&assignment, rank),
            pinned: if exclusive { cpus.cpus } else { Vec::new() },
            assignment,
            rank,
            process,
            round,
            host,
            polling,
            load_failure: None,
        })
    }

    pub(super) fn rank(&self) -> u32 {
        self.rank
    }

    pub(super) fn round(&self) -> u32 {
        self.round
    }

    /// Assignment of the leg, without its rounds.
    pub(super) fn assignment(&self) -> &Assignment {
        &self.assignment
    }

    /// Indexes of the arms of this process, with the arms.
    pub(super) fn own_arms(&self) -> impl Iterator<Item = (u32, &ArmAssignment)> {
        let arms = (0..).zip(&self.assignment.arms);
        arms.filter(|(_, arm)| arm.process == self.process)
    }

    pub(super) fn case_deadline(&self) -> Duration {
        self.assignment.case_deadline()
    }

    /// Maximum duration of the case of `order` in this process.
    pub(super) fn case_limit(&self, order: &CaseOrder) -> Duration {
        let limits = self
            .assignment
            .case_limits(order.scenario, order.arm, order.size_bytes);
        limits.instrument
    }

    /// Returns the arm with index `index`.
    ///
    /// # Errors
    /// Returns an error if the arm does not exist or belongs to another process.
    pub(super) fn arm(&self, index: u32) -> Result<ArmAssignment, CaseFailure> {
        let arm = self.assignment.arms.get(index as usize);
        arm.filter(|arm| arm.process == self.process)
            .cloned()
            .ok_or_else(|| internal(&format!("arm {index} does not belong to this process")))
    }

    /// Returns the scenario with index `index`.
    ///
    /// # Errors
    /// Returns an error if the scenario does not exist.
    pub(super) fn scenario(&self, index: u32) -> Result<&ScenarioAssignment, CaseFailure> {
        let scenario = self.assignment.scenarios.get(index as usize);
        scenario.ok_or_else(|| internal(&format!("the assignment has no scenario {index}")))
    }

    /// Loads the library of this process's arms, which have the same environment. A failure is reported when an arm is
    /// opened.
    pub(super) fn load(&mut self, selector: &dyn TransportSelector) {
        let mut arms = self.assignment.arms.iter();
        let Some(arm) = arms.find(|arm| arm.process == self.process) else {
            return;
        };
        let config = open_config(arm, &self.assignment, self.rank);
        let loaded = self
            .select(selector, arm, &config)
            .and_then(|functions| (functions.load)(&config));
        self.load_failure = loaded.err();
    }

    /// Opens the endpoints and memory of `arm`.
    ///
    /// # Errors
    /// Returns an error if the arm's transport cannot be opened as configured.
    pub(super) fn open(
        &mut self,
        selector: &dyn TransportSelector,
        arm: &ArmAssignment,
    ) -> Result<Box<dyn Arm>, CaseFailure> {
        // Opening an arm allocates its memory first, which can be many GiB.
        if let Some(failure) = &self.load_failure {
            return Err(from_transport(failure.clone()));
        }
        let config = OpenConfig {
            // Nothing is measured in round 0, so counting may make posts slower.
            counts_protocols: self.round == 0,
            ..open_config(arm, &self.assignment, self.rank)
        };
        let functions = self.select(selector, arm, &config).map_err(from_transport)?;
        let opened = (functions.open)(OpenArm {
            config,
            polling: self.polling,
            arm,
            assignment: &self.assignment,
            cpus: &self.pinned,
            rank: self.rank,
            host: &self.host,
            buffers: &mut self.buffers,
        });
        opened.map_err(from_transport)
    }

    fn select(
        &self,
        selector: &dyn TransportSelector,
        arm: &ArmAssignment,
        config: &OpenConfig,
    ) -> Result<TransportFunctions, TransportError> {
        let at = ArmRank {
            arm: &arm.name,
            rank: self.rank,
        };
        selector.select(at, &config.spec)
    }
}

fn no_cpu_on(node: u32) -> CaseFailure {
    CaseFailure {
        reason: FailureReason::NoDevice,
        message: format!(
            "NUMA node {node} (spec.devices.numaNode) does not exist or has no CPU that this worker may use; choose another \
             NUMA node, or Kubernetes nodes whose CPU manager policy allows this one"
        ),
    }
}

/// Restricts this process to `cpus`, unless `cpus` is empty. Threads started by libraries inherit the restriction.
fn set_affinity(cpus: &[u32]) -> Result<(), CaseFailure> {
    if cpus.is_empty() {
        return Ok(());
    }
    let mut set = CpuSet::new();
    for cpu in cpus.iter().filter(|cpu| (**cpu as usize) < CpuSet::MAX_CPU) {
        set.set(*cpu as usize);
    }
    sched_setaffinity(None, &set).map_err(|error| CaseFailure {
        reason: FailureReason::OperationRejected,
        message: format!(
            "cannot bind the process to CPUs {cpus:?} (bindings[].cpus): {error}; use CPUs that the cgroup allows"
        ),
    })
}
