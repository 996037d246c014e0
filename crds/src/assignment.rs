//! Assignment: the work of one leg. All workers of the leg read the same document.
//!
//! The document specifies all parameters of the measurement, including the arms, their order, the chunks and the
//! deadlines. A worker reads only its rank from its environment.

mod check;
mod limits;
pub mod memory;
pub mod pilot;
mod slots;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use check::AssignmentError;
pub use limits::{CaseLimits, GRACE, MAX_DURATION};
pub use slots::SLOT_ALIGNMENT;

use crate::striping::StripingRule;
use crate::v1alpha1::{Alignment, Devices, ManyToMany, MemoryKind, Polling, RpcChannel, TransportSpec};
pub use crate::workload::{
    COMMAND_PORTS, CommandWorkload, CountedWorkload, Delivery, Extent, FootprintWorkload, MulticastDelivery,
    OperationCount, PingPongWorkload, RpcWorkload, SERVING_SLOTS, ServingWorkload, Tool, TransferMode,
    TransferWorkload, Workload, WorkloadProperties,
};

/// Version of the assignment format. Workers reject all other versions.
pub const ASSIGNMENT_VERSION: u32 = 1;
/// Maximum size of an assignment, in bytes. It equals the size limit of a ConfigMap.
pub const MAX_ASSIGNMENT_BYTES: usize = 1024 * 1024;

/// Work of one leg.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Assignment {
    /// Version of the assignment.
    pub version: u32,
    /// Run, plan, leg and attempt that the assignment belongs to.
    pub identity: AttemptIdentity,
    /// Number of workers. Ranks start at 0, and rank 0 is the coordinator.
    pub workers: u32,
    /// Senders and receivers of the many-to-many pattern. If unset, every pair of workers exchanges data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub many_to_many: Option<ManyToMany>,
    /// Address, port and timeout of the rendezvous.
    pub rendezvous: Rendezvous,
    /// Library and provider of the processes that do not set a transport.
    pub transport: TransportSpec,
    /// GPUs, NICs and the NUMA node that every worker uses.
    #[serde(default, skip_serializing_if = "Devices::is_default")]
    pub devices: Devices,
    /// Required position of each NIC relative to the memory that it accesses.
    #[serde(default, skip_serializing_if = "Alignment::is_none")]
    pub align: Alignment,
    /// Rails and CPUs of each rank. If empty, each worker chooses them from its hardware.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bindings: Vec<RankBinding>,
    /// Instrument processes that each worker starts in every round. Arms refer to them by index.
    pub processes: Vec<InstrumentProcess>,
    /// Scenarios. Blocks refer to them by index.
    pub scenarios: Vec<ScenarioAssignment>,
    /// Arms. Blocks refer to them by index.
    pub arms: Vec<ArmAssignment>,
    /// Operation counts from the spec, or from pilot cases in earlier legs and attempts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub operation_counts: Vec<OperationCount>,
    /// Rounds to measure, in order. Blocks that an earlier attempt finished are omitted.
    pub rounds: Vec<RoundAssignment>,
    /// Maximum duration of a case whose scenario does not need more time, in seconds.
    pub case_deadline_seconds: u32,
    /// Environment variables that variants of the run set, in this leg or in others. If set, the workers record which
    /// files their processes load, and what these files know about the variables. Unset if all variants share a process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assessed_variables: Option<Vec<String>>,
}

/// Identity of an attempt. Every rendezvous message contains it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AttemptIdentity {
    /// Name of the run.
    pub run: String,
    /// UID of the run.
    pub uid: String,
    /// SHA-256 hash of the plan, in hexadecimal.
    pub plan_hash: String,
    /// Index of the leg in the plan.
    pub leg: u32,
    /// Attempt number within the leg, starting at 1.
    pub attempt: u32,
}

/// Rendezvous of the workers: the coordinator listens on a TCP port, and the other workers connect to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Rendezvous {
    /// Host name or address at which the other workers reach the coordinator.
    pub host: String,
    /// Address to which the coordinator binds.
    pub bind: String,
    /// TCP port of the coordinator.
    pub port: u16,
    /// Maximum time that the coordinator waits for all workers, in seconds.
    pub timeout_seconds: u32,
}

/// Rails and CPUs of one rank.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RankBinding {
    /// Source address (tcp) or device name (efa, verbs) of each rail. If empty, the worker chooses the rails.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rails: Vec<String>,
    /// CPUs that the instruments of this rank may use. If empty, they may use all CPUs allowed for the process.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cpus: Vec<u32>,
}

/// Instrument process of a worker. Arms that differ only in their tuning share a process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct InstrumentProcess {
    /// Environment variables that are set in addition to those of the worker.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Directory whose libraries are loaded instead of the system libraries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub library: Option<String>,
    /// Library and provider of the arms of this process, if they differ from those of the assignment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transport: Option<TransportSpec>,
}

impl Assignment {
    /// Whether the worker threads are distributed over the NUMA nodes. All scenarios share the threads.
    pub fn spreads_threads(&self) -> bool {
        self.scenarios
            .iter()
            .any(|scenario| scenario.workload.has_segments())
    }

    /// Library and provider of the arms in `process`.
    pub fn transport_of<'a>(&'a self, process: &'a InstrumentProcess) -> &'a TransportSpec {
        process.transport.as_ref().unwrap_or(&self.transport)
    }
}

/// Scenario with all defaults resolved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ScenarioAssignment {
    /// Name of the scenario in records.
    pub name: String,
    /// Kind of memory of both workers' buffers, unless `targetMemory` is set.
    pub memory: MemoryKind,
    /// Kind of memory of the target's buffers, if it differs from the initiator's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_memory: Option<MemoryKind>,
    /// How a worker waits for completions. If unset, the worker chooses based on the number of available CPUs and
    /// records its choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub polling: Option<Polling>,
    /// Workload of the scenario.
    pub workload: Workload,
    /// Largest message or transfer size of the scenario, in bytes. Buffers are allocated once, for this size.
    pub max_size_bytes: u64,
}

/// Arm with all defaults resolved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ArmAssignment {
    /// Name of the arm in records: the name of the variant or of a control arm.
    pub name: String,
    /// Index of the arm's instrument process.
    pub process: u32,
    /// Largest message that is injected, in bytes. If unset, inject calls are not used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inject_max_bytes: Option<u64>,
    /// Maximum number of posts per doorbell. If unset, FI_MORE is not used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doorbell_max_batch: Option<u32>,
    /// Striping of transfers over rails.
    pub striping: StripingRule,
    /// Channel that the calls of `rpc` scenarios use. Ignored in other scenarios.
    #[serde(default, skip_serializing_if = "is_transport")]
    pub channel: RpcChannel,
    /// Arguments of the arm in command scenarios.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<String>,
}

fn is_transport(channel: &RpcChannel) -> bool {
    channel.is_transport()
}

/// One repetition of all scenarios in new instrument processes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RoundAssignment {
    /// Round number. Round 0 contains the integrity pass and the pilot; measured rounds start at 1.
    pub round: u32,
    /// Indexes of the instrument processes, in the order in which they are started.
    pub process_order: Vec<u32>,
    /// Indexes of the arms, in the order in which the arms of a process open their endpoints.
    pub arm_order: Vec<u32>,
    /// Blocks of the round, in order.
    pub blocks: Vec<BlockAssignment>,
}

/// Purpose of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum Pass {
    /// Every transferred byte is verified. Times are not reported.
    Integrity,
    /// Each arm runs once on each pair, to determine the number of operations in the measured cases. The times are not
    /// included in the results.
    Pilot,
    /// Times are measured. Transferred bytes are not verified.
    Measure,
}

/// Block: all arms at one size of one scenario in one round, measured back to back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BlockAssignment {
    /// Index of the block in the plan, unique within the run.
    pub block: u32,
    /// Purpose of the block.
    pub pass: Pass,
    /// Index of the scenario.
    pub scenario: u32,
    /// Message or transfer size, in bytes.
    pub size_bytes: u64,
    /// Indexes of the arms, in the order in which they are measured.
    pub order: Vec<u32>,
}
