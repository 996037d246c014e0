//! What the campaign tells the workers of one leg to do. The same document goes to every worker.
//!
//! Nothing is left to choose: arms, order, chunks and deadlines are all in it. A worker knows its rank from
//! its environment and everything else from here.

pub mod memory;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use snafu::{Snafu, ensure};

use crate::striping::StripingRule;
use crate::v1alpha1::{Direction, MemoryKind, PingPongOperation, Polling, TransferOperation, TransportSpec};

/// Version of this document; a worker refuses any other.
pub const ASSIGNMENT_VERSION: u32 = 1;
/// Longest document a worker reads, in bytes: the limit of a ConfigMap.
pub const MAX_ASSIGNMENT_BYTES: usize = 1024 * 1024;

/// What one leg measures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Assignment {
    /// [`ASSIGNMENT_VERSION`].
    pub version: u32,
    /// Which run, plan, leg and attempt this is.
    pub identity: LegIdentity,
    /// Number of workers; ranks are 0 to this minus 1, and rank 0 is the coordinator.
    pub workers: u32,
    /// Where the workers meet.
    pub rendezvous: Rendezvous,
    /// The library and provider of every arm.
    pub transport: TransportSpec,
    /// Rails and processors of each rank; empty where each worker chooses by its own hardware.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bindings: Vec<RankBinding>,
    /// The instrument processes each worker starts in every round; arms refer to them by index.
    pub processes: Vec<InstrumentProcess>,
    /// The scenarios; blocks refer to them by index.
    pub scenarios: Vec<ScenarioAssignment>,
    /// The arms; blocks refer to them by index.
    pub arms: Vec<ArmAssignment>,
    /// What is to be measured, in this order. Finished blocks of an earlier attempt are left out.
    pub rounds: Vec<RoundAssignment>,
    /// Longest time a single case may take, in seconds.
    pub case_deadline_seconds: u32,
}

/// Which run, plan, leg and attempt something belongs to. Part of every rendezvous message.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LegIdentity {
    /// Name of the run.
    pub run: String,
    /// UID of the run.
    pub uid: String,
    /// SHA-256 of the plan, in hexadecimal.
    pub plan_hash: String,
    /// Number of the leg in the plan.
    pub leg: u32,
    /// Number of this execution of the leg, from 1.
    pub attempt: u32,
}

/// Where the workers meet: the coordinator listens, the others connect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Rendezvous {
    /// Host name or address of the coordinator, as the others reach it.
    pub host: String,
    /// Address the coordinator binds.
    pub bind: String,
    /// TCP port.
    pub port: u16,
    /// How long the coordinator waits for all workers, in seconds.
    pub timeout_seconds: u32,
}

/// Rails and processors of one rank.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RankBinding {
    /// For each rail its source address (tcp) or device name (efa, verbs); empty: chosen by the worker.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rails: Vec<String>,
    /// Processors the instruments of this rank may use; empty: those the process is allowed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cpus: Vec<u32>,
}

/// One instrument process of a worker: arms that differ only in their tuning share it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct InstrumentProcess {
    /// Environment variables on top of the worker's.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Folder whose libraries are opened instead of the system's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub library: Option<String>,
}

/// One scenario with everything decided.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ScenarioAssignment {
    /// Name in records.
    pub name: String,
    /// Memory of both sides.
    pub memory: MemoryKind,
    /// How a side waits for completions; chosen by the worker from its processors where left out, and recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub polling: Option<Polling>,
    /// What is done with it.
    pub workload: Workload,
    /// Largest size of the scenario in bytes; buffers are made for it once.
    pub max_size_bytes: u64,
}

/// What a scenario does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum Workload {
    /// One message there and back again, one at a time.
    PingPong(PingPongWorkload),
    /// Many messages in flight.
    Transfer(TransferWorkload),
}

/// A ping-pong.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PingPongWorkload {
    /// How a message is sent.
    pub operation: PingPongOperation,
    /// Measured round trips.
    pub measured: Extent,
    /// Round trips before them.
    pub warmup: Extent,
}

/// A transfer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TransferWorkload {
    /// What is posted.
    pub operation: TransferOperation,
    /// Most transfers in flight for each thread.
    pub window: u32,
    /// Transfers posted together.
    pub batch: u32,
    /// Initiator threads.
    pub threads: u32,
    /// Which sides post.
    pub direction: Direction,
    /// Measured transfers of each thread.
    pub measured: Extent,
    /// Transfers before them.
    pub warmup: Extent,
}

/// How much is done: a number of operations or a length of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum Extent {
    /// So many operations.
    Iterations(u32),
    /// For so many nanoseconds.
    DurationNanos(u64),
}

/// One arm with everything decided.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ArmAssignment {
    /// Name in records: the variant's, or that of a control arm.
    pub name: String,
    /// Index of its instrument process.
    pub process: u32,
    /// Largest message injected; no inject calls where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inject_max_bytes: Option<u64>,
    /// Most posts for one doorbell; FI_MORE is never used where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doorbell_max_batch: Option<u32>,
    /// How a transfer is spread over rails.
    pub striping: StripingRule,
}

/// One repeat of everything, in fresh instrument processes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RoundAssignment {
    /// Number of the round, from 1; the integrity pass is round 0.
    pub round: u32,
    /// Whether bytes are checked or times are taken; never both.
    pub pass: Pass,
    /// Order in which the instrument processes are started.
    pub process_order: Vec<u32>,
    /// Order in which the arms of a process open their endpoints.
    pub arm_order: Vec<u32>,
    /// The blocks, in order.
    pub blocks: Vec<BlockAssignment>,
}

/// What a round is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum Pass {
    /// Every byte is checked, no time is reported.
    Integrity,
    /// Times are taken, no byte is looked at.
    Measure,
}

/// All arms of one scenario and size in one round, back to back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BlockAssignment {
    /// Number of the block in the plan; never used twice in a run.
    pub block: u32,
    /// Index of the scenario.
    pub scenario: u32,
    /// Size in bytes.
    pub size_bytes: u64,
    /// Indexes of the arms, in the order they run.
    pub order: Vec<u32>,
}

/// Why an assignment cannot be used.
#[derive(Debug, Snafu)]
pub enum AssignmentError {
    /// Longer than a ConfigMap can hold.
    #[snafu(display("the assignment has {length} bytes, more than {MAX_ASSIGNMENT_BYTES}"))]
    TooLong {
        /// Its length in bytes.
        length: usize,
    },
    /// Not JSON, or not of these types.
    #[snafu(display("the assignment cannot be read: {source}"))]
    Syntax {
        /// What the parser says.
        source: serde_json::Error,
    },
    /// Written for another runner.
    #[snafu(display("the assignment has version {version}, this runner reads version {ASSIGNMENT_VERSION}"))]
    Version {
        /// Its version.
        version: u32,
    },
    /// An index or number that leads nowhere.
    #[snafu(display("assignment.{field}: {reason}"))]
    Inconsistent {
        /// Which field.
        field: String,
        /// What is wrong with it.
        reason: String,
    },
}

impl Assignment {
    /// Reads and checks an assignment.
    ///
    /// # Errors
    /// When it is too long, not JSON, of another version, or refers to something it does not contain.
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
        let rails = self.transport.rails();
        require((2..=64).contains(&self.workers), "workers", "must be 2 to 64")?;
        require((1..=64).contains(&rails), "transport.rails", "must be 1 to 64")?;
        require(!self.arms.is_empty(), "arms", "must not be empty")?;
        require(
            self.bindings.is_empty() || self.bindings.len() == self.workers as usize,
            "bindings",
            "must be empty or one for each worker",
        )?;
        for binding in &self.bindings {
            let fits = binding.rails.is_empty() || binding.rails.len() == rails as usize;
            require(fits, "bindings[].rails", "must be empty or one for each rail")?;
        }
        for arm in &self.arms {
            require(
                (arm.process as usize) < self.processes.len(),
                "arms[].process",
                "is no process",
            )?;
        }
        for scenario in &self.scenarios {
            if let Workload::Transfer(transfer) = &scenario.workload {
                let bounded = (1..=4096).contains(&transfer.window)
                    && (1..=transfer.window).contains(&transfer.batch)
                    && (1..=64).contains(&transfer.threads);
                require(
                    bounded,
                    "scenarios[].workload",
                    "window, batch or threads out of bounds",
                )?;
            }
        }
        self.rounds.iter().try_for_each(|round| self.check_round(round))
    }

    fn check_round(&self, round: &RoundAssignment) -> Result<(), AssignmentError> {
        let orders_all = |order: &[u32], count: usize| {
            let mut sorted = order.to_vec();
            sorted.sort_unstable();
            sorted.iter().copied().eq(0..count as u32)
        };
        let processes = orders_all(&round.process_order, self.processes.len());
        require(processes, "rounds[].processOrder", "must name every process once")?;
        require(
            orders_all(&round.arm_order, self.arms.len()),
            "rounds[].armOrder",
            "must name every arm once",
        )?;
        for block in &round.blocks {
            let Some(scenario) = self.scenarios.get(block.scenario as usize) else {
                return require(false, "rounds[].blocks[].scenario", "is no scenario");
            };
            let fits = block.size_bytes <= scenario.max_size_bytes;
            require(
                fits,
                "rounds[].blocks[].sizeBytes",
                "is above the scenario's maxSizeBytes",
            )?;
            let known = block.order.iter().all(|arm| (*arm as usize) < self.arms.len());
            require(
                known && !block.order.is_empty(),
                "rounds[].blocks[].order",
                "must name arms",
            )?;
        }
        Ok(())
    }
}

fn require(holds: bool, field: &str, reason: &str) -> Result<(), AssignmentError> {
    ensure!(holds, InconsistentSnafu { field, reason });
    Ok(())
}
