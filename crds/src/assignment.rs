//! Assignment: the work of one leg. All workers of the leg read the same document.
//!
//! The document determines all parameters of the measurement, including the arms, their order, the chunks and the
//! deadlines. A worker reads only its rank from its environment.

mod many_to_many;
pub mod memory;
mod parameter_serving;
pub mod pilot;
mod segment_transfer;
mod starway;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use snafu::{Snafu, ensure};

pub use many_to_many::ManyToMany;
pub use parameter_serving::{Delivery, MulticastDelivery, SERVING_SLOTS, ServingWorkload};
pub use starway::CountedWorkload;

use crate::striping::StripingRule;
use crate::v1alpha1::{
    Alignment, Devices, Direction, MemoryKind, OpenLoop, PingPongOperation, Polling, RpcChannel, RpcPattern,
    TransferBuffers, TransferOperation, TransportSpec,
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
    /// Maximum duration of a single case, in seconds.
    pub case_deadline_seconds: u32,
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
    /// Library and provider of the arms of `process`.
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
    /// Kind of memory that both workers use.
    pub memory: MemoryKind,
    /// Method by which a worker waits for completions. If unset, the worker chooses a method based on the number of
    /// available CPUs and records its choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub polling: Option<Polling>,
    /// Workload of the scenario.
    pub workload: Workload,
    /// Largest message or transfer size of the scenario, in bytes. Buffers are allocated once, for this size.
    pub max_size_bytes: u64,
}

/// Workload of a scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum Workload {
    /// Ping-pong with one message in flight.
    PingPong(PingPongWorkload),
    /// Transfers with many messages in flight.
    Transfer(TransferWorkload),
    /// Calls between isolated processes.
    Rpc(RpcWorkload),
    /// Distribution of a tensor to processes whose memory is measured.
    MemoryFootprint(FootprintWorkload),
    /// One trainer that publishes parameters to several workers.
    ParameterServing(ServingWorkload),
}

/// Ping-pong workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PingPongWorkload {
    /// Operation that sends a message.
    pub operation: PingPongOperation,
    /// Number of measured round trips, or duration of the measurement.
    pub measured: Extent,
    /// Number of warm-up round trips, or duration of the warm-up.
    pub warmup: Extent,
}

/// Transfer workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TransferWorkload {
    /// Operation that each transfer posts.
    pub operation: TransferOperation,
    /// Maximum number of transfers in flight per thread.
    pub window: u32,
    /// Number of transfers posted together in one burst.
    pub batch: u32,
    /// Number of initiator threads.
    pub threads: u32,
    /// Direction of the transfers between the workers of a pair.
    pub direction: Direction,
    /// Whether the transfers in flight have separate buffers.
    pub buffers: TransferBuffers,
    /// Intended start times of the measured transfers; unset for a closed loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_loop: Option<OpenLoop>,
    /// Whether a flush of the endpoint follows every transfer and is part of its sample, if the library has flushes.
    /// Requires a window of 1.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub flush: bool,
    /// Whether the initiator sends pings beside its transfers, and also before them, while the fabric is idle. Requires
    /// a single thread.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ping: bool,
    /// Whether every burst of writes is followed by a burst of reads of the memory that it has written. Requires writes
    /// in one direction in a closed loop, and a window that equals the batch.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub read_back: bool,
    /// Whether each thread uses the CPUs and the memory of one NUMA node, in turn, and every transfer in flight has
    /// memory of its own, however much that is. The first burst of the warm-up is timed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub segments: bool,
    /// Number of measured transfers per thread, or duration of the measurement.
    pub measured: Extent,
    /// Number of warm-up transfers per thread, or duration of the warm-up.
    pub warmup: Extent,
}

/// Calls between isolated processes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RpcWorkload {
    /// Which calls a sample consists of.
    pub pattern: RpcPattern,
    /// Number of calls of a sample, each nested in the one before. The initiator makes the first, and the processes
    /// alternate.
    pub hops: u32,
    /// Largest payload that is sent over a transport, in bytes; 0 if no arm calls over a transport.
    pub message_bytes: u64,
    /// Maximum duration of a case, in seconds.
    pub timeout_seconds: u32,
    /// Number of measured samples.
    pub measured: Extent,
    /// Number of warm-up samples.
    pub warmup: Extent,
}

/// Distribution of a tensor to processes whose memory is measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FootprintWorkload {
    /// Number of consumers.
    pub consumers: u32,
    /// Number of distributions to all consumers, after one for warm-up.
    pub distributions: u32,
    /// Maximum duration of a case, in seconds.
    pub timeout_seconds: u32,
    /// Number of measured operations: one for each consumer and distribution.
    pub measured: Extent,
}

/// Amount of work: a number of operations or a duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum Extent {
    /// Number of operations.
    Iterations(u32),
    /// Duration in nanoseconds.
    DurationNanos(u64),
    /// As many operations as it takes to fill the measured window. [`pilot`] cases determine the number before the
    /// first round; if all of them fail, the minimum number is used.
    #[serde(rename_all = "camelCase")]
    FillWindow {
        /// Minimum number of operations.
        min_iterations: u32,
        /// Minimum length of the window, in nanoseconds.
        min_window_nanos: u64,
    },
}

/// Number of operations that every arm performs in one scenario at one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OperationCount {
    /// Index of the scenario.
    pub scenario: u32,
    /// Message or transfer size, in bytes.
    pub size_bytes: u64,
    /// Number of measured operations per thread.
    pub iterations: u32,
}

/// Arm with all defaults resolved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ArmAssignment {
    /// Name of the arm in records: the name of the variant or of a control arm.
    pub name: String,
    /// Index of the instrument process of the arm.
    pub process: u32,
    /// Largest message that is injected, in bytes. If unset, inject calls are not used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inject_max_bytes: Option<u64>,
    /// Maximum number of posts per doorbell. If unset, FI_MORE is not used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doorbell_max_batch: Option<u32>,
    /// Striping of transfers over rails.
    pub striping: StripingRule,
    /// Channel of the calls in scenarios with calls.
    #[serde(default, skip_serializing_if = "is_transport")]
    pub channel: RpcChannel,
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

/// Error parsing an assignment.
#[derive(Debug, Snafu)]
pub enum AssignmentError {
    /// The assignment is too large.
    #[snafu(display("the assignment is {length} bytes long; the maximum is {MAX_ASSIGNMENT_BYTES}"))]
    TooLong {
        /// Size of the assignment, in bytes.
        length: usize,
    },
    /// The assignment is not valid JSON or does not match the schema.
    #[snafu(display("the assignment cannot be parsed: {source}"))]
    Syntax {
        /// Parser error.
        source: serde_json::Error,
    },
    /// The assignment has an unsupported version.
    #[snafu(display(
        "the assignment has version {version}, but this runner supports only version {ASSIGNMENT_VERSION}"
    ))]
    Version {
        /// Version of the assignment.
        version: u32,
    },
    /// A field is inconsistent with the rest of the assignment.
    #[snafu(display("assignment.{field}: {reason}"))]
    Inconsistent {
        /// Path of the field.
        field: String,
        /// Reason why the field is invalid.
        reason: String,
    },
}

impl Workload {
    /// Whether both workers of a pair post operations.
    pub fn is_bidirectional(&self) -> bool {
        matches!(self, Self::Transfer(transfer) if transfer.direction == Direction::Bidirectional)
    }

    /// Whether every burst of writes is followed by a burst of reads of the same memory.
    pub fn reads_back(&self) -> bool {
        matches!(self, Self::Transfer(transfer) if transfer.read_back)
    }

    /// Whether each thread uses one NUMA node, and every transfer in flight has memory of its own.
    pub fn has_segments(&self) -> bool {
        matches!(self, Self::Transfer(transfer) if transfer.segments)
    }

    /// Number of threads of a pair that post operations: those of the initiator, and also those of the target if both
    /// workers post.
    pub fn posters(&self) -> u32 {
        memory::threads(self).saturating_mul(if self.is_bidirectional() { 2 } else { 1 })
    }

    /// Whether the channel of an arm determines how it passes the payload.
    pub fn uses_channels(&self) -> bool {
        matches!(self, Self::Rpc(_) | Self::MemoryFootprint(_))
    }

    /// Whether the payload of an arm with `channel` stays on the machine of the initiator, outside its transport.
    pub fn is_off_fabric(&self, channel: RpcChannel) -> bool {
        match self {
            Self::Rpc(_) => !channel.is_transport(),
            Self::MemoryFootprint(_) => true,
            Self::PingPong(_) | Self::Transfer(_) | Self::ParameterServing(_) => false,
        }
    }

    /// Number of measured operations, or duration of the measurement.
    pub fn measured(&self) -> Extent {
        match self {
            Self::PingPong(work) => work.measured,
            Self::Transfer(work) => work.measured,
            Self::Rpc(work) => work.measured,
            Self::MemoryFootprint(work) => work.measured,
            Self::ParameterServing(work) => Extent::DurationNanos(work.max_time_nanos),
        }
    }

    /// Number of warm-up operations, or duration of the warm-up.
    pub fn warmup(&self) -> Extent {
        match self {
            Self::PingPong(work) => work.warmup,
            Self::Transfer(work) => work.warmup,
            Self::ParameterServing(_) => Extent::Iterations(0),
            Self::Rpc(work) => work.warmup,
            Self::MemoryFootprint(_) => Extent::Iterations(0),
        }
    }

    /// Whether the flows of the many-to-many pattern can use the workload. Their windows are opened and closed at the same
    /// time, so the workload must be a unidirectional closed loop that lasts for a duration.
    pub fn suits_many_to_many(&self) -> bool {
        matches!(self, Self::Transfer(transfer)
            if transfer.direction == Direction::Unidirectional
                && transfer.open_loop.is_none()
                && !transfer.flush
                && !transfer.ping
                && !transfer.segments
                && !transfer.read_back
                && matches!(transfer.measured, Extent::DurationNanos(_)))
    }

    /// Replaces the number of measured operations or the duration of the measurement. Parameter serving has limits of
    /// its own, which do not change.
    pub fn set_measured(&mut self, measured: Extent) {
        match self {
            Self::PingPong(work) => work.measured = measured,
            Self::Transfer(work) => work.measured = measured,
            Self::Rpc(work) => work.measured = measured,
            Self::MemoryFootprint(work) => work.measured = measured,
            Self::ParameterServing(_) => {}
        }
    }

    /// The workload, if it is parameter serving.
    pub fn serving(&self) -> Option<&ServingWorkload> {
        match self {
            Self::ParameterServing(serving) => Some(serving),
            Self::PingPong(_) | Self::Transfer(_) | Self::Rpc(_) | Self::MemoryFootprint(_) => None,
        }
    }
}

impl Assignment {
    /// Whether the threads of the workers are distributed over the NUMA nodes. All scenarios share the threads.
    pub fn spreads_threads(&self) -> bool {
        self.scenarios
            .iter()
            .any(|scenario| scenario.workload.has_segments())
    }

    /// Parses and checks an assignment.
    ///
    /// # Errors
    /// The assignment is too large, is not valid JSON, has an unsupported version, or is inconsistent.
    pub fn parse(bytes: &[u8]) -> Result<Self, AssignmentError> {
        ensure!(
            bytes.len() <= MAX_ASSIGNMENT_BYTES,
            TooLongSnafu { length: bytes.len() }
        );
        let assignment: Self =
            serde_json::from_slice(bytes).map_err(|source| AssignmentError::Syntax { source })?;
        assignment.check()?;
        Ok(assignment)
    }

    fn check(&self) -> Result<(), AssignmentError> {
        ensure!(
            self.version == ASSIGNMENT_VERSION,
            VersionSnafu {
                version: self.version
            }
        );
        if let Some(pattern) = self.many_to_many {
            require(
                pattern.senders >= 1 && pattern.receivers >= 1 && pattern.workers() == self.workers,
                "manyToMany",
                "must have at least one sender and one receiver, and as many of both as there are workers",
            )?;
            require(
                self.scenarios
                    .iter()
                    .all(|scenario| scenario.workload.suits_many_to_many()),
                "scenarios[].workload",
                "must be a unidirectional closed loop with a duration, because of manyToMany",
            )?;
        }
        let rails = self.transport.rails();
        require((2..=64).contains(&self.workers), "workers", "must be 2 to 64")?;
        require((1..=64).contains(&rails), "transport.rails", "must be 1 to 64")?;
        require(!self.arms.is_empty(), "arms", "must not be empty")?;
        require(
            self.bindings.is_empty() || self.bindings.len() == self.workers as usize,
            "bindings",
            "must be empty or have one element per worker",
        )?;
        for binding in &self.bindings {
            let fits = binding.rails.is_empty() || binding.rails.len() == rails as usize;
            require(
                fits,
                "bindings[].rails",
                "must be empty or have one element per rail",
            )?;
        }
        let nics = u64::from(rails) * u64::from(self.devices.groups());
        require(
            self.devices.nics.is_empty() || self.devices.nics.len() as u64 == nics,
            "devices.nics",
            "must be empty or have one element per rail of each GPU",
        )?;
        for arm in &self.arms {
            require(
                (arm.process as usize) < self.processes.len(),
                "arms[].process",
                "is not a valid process index",
            )?;
        }
        for scenario in &self.scenarios {
            if let Workload::Rpc(rpc) = &scenario.workload {
                let bounded = (1..=65).contains(&rpc.hops) && (1..=3600).contains(&rpc.timeout_seconds);
                require(
                    bounded,
                    "scenarios[].workload",
                    "hops or timeoutSeconds is out of bounds",
                )?;
            }
            if let Workload::MemoryFootprint(footprint) = &scenario.workload {
                let bounded = (1..=100).contains(&footprint.consumers)
                    && (2..=1000).contains(&footprint.distributions)
                    && (1..=3600).contains(&footprint.timeout_seconds);
                require(
                    bounded,
                    "scenarios[].workload",
                    "consumers, distributions or timeoutSeconds is out of bounds",
                )?;
            }
            if let Workload::Transfer(transfer) = &scenario.workload {
                let bounded = (1..=4096).contains(&transfer.window)
                    && (1..=transfer.window).contains(&transfer.batch)
                    && (1..=64).contains(&transfer.threads);
                require(
                    bounded,
                    "scenarios[].workload",
                    "window, batch or threads is out of bounds",
                )?;
                require(
                    !transfer.flush || transfer.window == 1,
                    "scenarios[].workload.flush",
                    "requires a window of 1",
                )?;
                let reads_back = transfer.operation == TransferOperation::Write
                    && transfer.direction == Direction::Unidirectional
                    && transfer.window == transfer.batch
                    && transfer.open_loop.is_none()
                    && !transfer.flush;
                require(
                    !transfer.read_back || reads_back,
                    "scenarios[].workload.readBack",
                    "requires writes in one direction in a closed loop, and a window that equals the batch",
                )?;
                require(
                    !transfer.ping || transfer.threads == 1,
                    "scenarios[].workload.ping",
                    "requires a single thread",
                )?;
            }
            if let Workload::ParameterServing(serving) = &scenario.workload {
                let periods = [
                    serving.push_nanos,
                    serving.pull_nanos,
                    serving.post_nanos,
                    serving.step_nanos,
                    serving.max_time_nanos,
                ];
                require(
                    (1..=64).contains(&serving.workers) && serving.max_version > 0 && !periods.contains(&0),
                    "scenarios[].workload",
                    "workers, maxVersion or a period is out of bounds",
                )?;
            }
        }
        self.rounds.iter().try_for_each(|round| self.check_round(round))
    }

    fn check_round(&self, round: &RoundAssignment) -> Result<(), AssignmentError> {
        let is_permutation = |order: &[u32], count: usize| {
            let mut sorted = order.to_vec();
            sorted.sort_unstable();
            sorted.iter().copied().eq(0..count as u32)
        };
        require(
            is_permutation(&round.process_order, self.processes.len()),
            "rounds[].processOrder",
            "must contain every process index exactly once",
        )?;
        require(
            is_permutation(&round.arm_order, self.arms.len()),
            "rounds[].armOrder",
            "must contain every arm index exactly once",
        )?;
        for block in &round.blocks {
            let Some(scenario) = self.scenarios.get(block.scenario as usize) else {
                return require(
                    false,
                    "rounds[].blocks[].scenario",
                    "is not a valid scenario index",
                );
            };
            let fits = block.size_bytes <= scenario.max_size_bytes;
            require(
                fits,
                "rounds[].blocks[].sizeBytes",
                "exceeds maxSizeBytes of the scenario",
            )?;
            let known = block.order.iter().all(|arm| (*arm as usize) < self.arms.len());
            require(
                known && !block.order.is_empty(),
                "rounds[].blocks[].order",
                "must be a non-empty list of arm indexes",
            )?;
        }
        Ok(())
    }
}

fn require(holds: bool, field: &str, reason: &str) -> Result<(), AssignmentError> {
    ensure!(holds, InconsistentSnafu { field, reason });
    Ok(())
}
