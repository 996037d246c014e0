//! Record stream: JSON lines that worker 0 writes to standard output.
//!
//! Every line has the form `{"seq":N,"chain":"…","record":{"kind":…}}` and is at most 16 KiB long. `seq` starts at 0.
//! `chain` is the hexadecimal SHA-256 hash of the concatenation of the previous chain value (32 zero bytes at the
//! start), the sequence number (8 bytes, big endian) and the bytes of `record` as written. Every prefix of a stream can
//! therefore be verified: truncated, reordered, duplicated or edited lines are detected, and all lines before them
//! remain valid.

mod case;
mod claim;
mod command_log;
mod configuration;
mod contention;
mod durations;
mod environment;
mod hardware;
mod line;
mod line_rate;
mod observations;
mod serving;

use serde::{Deserialize, Serialize};

pub use case::{
    CallReport, CaseFailure, CaseRecord, CaseResult, CommandReport, ExclusiveQuantiles, FailureReason,
    FootprintReport, IntegrityReport, InterfaceDelta, Measurement, Mismatch, OpenLoopReport, Posted,
    PostingCounters, PrintedRange, SideReport, Simultaneous, SoftwareDevice,
};
pub use claim::{ClaimRecord, ClaimedDevice};
pub use command_log::{CommandLog, CommandProgram, LogLine, LogLineKind, LogStream};
pub use configuration::{
    ConfigurationRecord, LoadedFile, MAX_CONFIGURATION_RECORDS, MAX_RECORDED_FILES, MAX_RECORDED_VARIABLES,
    VariableFacts, VariableKnowledge,
};
pub use contention::{CpuContention, ForeignCpu, MAX_FOREIGN_CPU_SHARE, MAX_RUN_QUEUE_SHARE};
pub use durations::Durations;
pub use environment::{
    ClockFacts, ColdRecord, EndpointsRecord, FabricFacts, HostEnvironment, InjectLimits, LibraryFacts,
    Locality, MemoryFacts, OffloadFacts, ProtocolUse, ProtocolsRecord, RailFacts,
};
pub use hardware::{GpuClocks, HardwareFacts, NicFacts, RdmaCoreFacts};
pub use line::{Chain, ChainWriter, LineError, MAX_LINE_BYTES, hex};
pub use line_rate::LINE_RATE_TOLERANCE;
pub use observations::{Observations, Observed};
pub use serving::{DatagramReport, OriginalStaleness, PostedStaleness, ServingReport, WorkerReport};

use crate::assignment::AttemptIdentity;

/// Version of the record stream format. Readers reject all other versions.
pub const RECORD_VERSION: u32 = 1;
/// Maximum size of the stream of one leg, in bytes. The planner splits legs or rejects a plan that would exceed it.
pub const MAX_STREAM_BYTES: u64 = 8 * 1024 * 1024;

/// One record of the stream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum Record {
    /// Worker and its environment. The stream starts with the record of rank 0, followed by the records of the other
    /// workers.
    Hello(Box<HelloRecord>),
    /// Endpoints of an arm on one worker. The record is repeated if the endpoints change between rounds.
    Endpoints(Box<EndpointsRecord>),
    /// Setup cost of an arm on one worker in one round, before the first measured operation.
    Cold(ColdRecord),
    /// Protocols that the library used for an arm on one worker. Written only if the library reports them.
    Protocols(Box<ProtocolsRecord>),
    /// Files that the processes of arms loaded, and what these files know about the environment variables of the arms.
    Configuration(Box<ConfigurationRecord>),
    /// Devices that a claim of a worker obtained. Written by the operator, outside the stream of worker 0.
    Claim(Box<ClaimRecord>),
    /// Result of a case on one pair of workers.
    Case(Box<CaseRecord>),
    /// End of a block. The records of all cases of the block precede this record.
    Block(BlockRecord),
    /// Warning for readers of the results.
    Warning(WarningRecord),
    /// Last record of the stream.
    End(EndRecord),
}

/// Worker and its environment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct HelloRecord {
    /// Version of the record stream format.
    pub version: u32,
    /// Run, plan, leg and attempt that the stream belongs to.
    pub identity: AttemptIdentity,
    /// Rank of the worker.
    pub rank: u32,
    /// Number of workers.
    pub workers: u32,
    /// Runner version.
    pub runner_version: String,
    /// Time at which the stream started (RFC 3339, UTC).
    pub started_at: String,
    /// Machine and resource limits of the worker.
    pub environment: HostEnvironment,
}

/// End of a block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct BlockRecord {
    /// Index of the block in the plan.
    pub block: u32,
    /// Number of case records of the block.
    pub cases: u32,
}

/// Warning for readers of the results.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct WarningRecord {
    /// Rank of the worker that the warning concerns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<u32>,
    /// Category of the warning.
    pub reason: WarningReason,
    /// Human-readable message of at most 4 KiB.
    pub message: String,
}

/// Category of a warning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
pub enum WarningReason {
    /// Message that the test procedures require as evidence that an optimization was active, written once per size.
    Evidence,
    /// Output of an instrument or of its libraries.
    LibraryOutput,
    /// A record was shortened or a warning was omitted because of a size limit.
    Limit,
    /// The environment differs from that of the previous round.
    EnvironmentChanged,
    /// A worker disconnected or could not be reached.
    WorkerLost,
    /// A connection to the rendezvous was rejected because it did not belong to this attempt.
    UnknownPeerRefused,
    /// An instrument process was killed or exited with an error.
    Killed,
}

/// End of a stream. The termination message of worker 0 contains a copy of this record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct EndRecord {
    /// Number of blocks completed in this attempt.
    pub blocks: u32,
    /// Whether all blocks of the assignment are complete.
    pub complete: bool,
    /// Failure that left the stream incomplete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<CaseFailure>,
}
