//! What worker 0 answers: a stream of JSON lines on its standard output.
//!
//! Every line is `{"seq":N,"chain":"…","record":{"kind":…}}`, under 16 KiB. `seq` counts from 0; `chain` is the
//! SHA-256 of the chain value before (32 zero bytes at the start), the sequence number (8 bytes, big endian) and
//! the bytes of `record` as written, in hexadecimal. So every prefix of a stream proves itself: what was cut off,
//! re-ordered, doubled or edited is seen, and everything before it still counts.

mod case;
mod environment;
mod line;

use serde::{Deserialize, Serialize};

pub use case::{
    CaseFailure, CaseRecord, CaseResult, ExclusiveQuantiles, FailureReason, IntegrityReport, InterfaceDelta,
    Measurement, Mismatch, Posted, PostingCounters, SideReport,
};
pub use environment::{
    ClockFacts, ColdRecord, EndpointsRecord, FabricFacts, HostEnvironment, InjectLimits, LibraryFacts,
    MemoryFacts, RailFacts,
};
pub use line::{Chain, ChainWriter, LineError, MAX_LINE_BYTES, hex};

use crate::assignment::LegIdentity;

/// Version of the record stream; a reader refuses any other.
pub const RECORD_VERSION: u32 = 1;
/// Most bytes of one leg's stream; the planner splits legs or refuses a plan that would exceed it.
pub const MAX_STREAM_BYTES: u64 = 8 * 1024 * 1024;

/// One record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum Record {
    /// First of the stream, for rank 0, then one for every other worker: who measures, and on what.
    Hello(Box<HelloRecord>),
    /// What the endpoints of an arm really are; once, and again whenever it changes from one round to the next.
    Endpoints(Box<EndpointsRecord>),
    /// What one arm cost before its first measured operation in a round, at one worker.
    Cold(ColdRecord),
    /// One case of one pair.
    Case(Box<CaseRecord>),
    /// The block before is complete: all its cases have a record.
    Block(BlockRecord),
    /// Something a reader must know.
    Warning(WarningRecord),
    /// Last of the stream.
    End(EndRecord),
}

/// Who measures, and on what.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct HelloRecord {
    /// [`RECORD_VERSION`].
    pub version: u32,
    /// Which run, plan, leg and attempt.
    pub identity: LegIdentity,
    /// Rank this record is of.
    pub rank: u32,
    /// Number of workers.
    pub workers: u32,
    /// Version of the runner.
    pub runner_version: String,
    /// When the stream was begun (RFC 3339, UTC).
    pub started_at: String,
    /// The worker's machine and limits.
    pub environment: HostEnvironment,
}

/// The end of a block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct BlockRecord {
    /// Number of the block in the plan.
    pub block: u32,
    /// Case records of it.
    pub cases: u32,
}

/// Something a reader must know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct WarningRecord {
    /// Worker it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<u32>,
    /// What kind.
    pub reason: WarningReason,
    /// In words; at most 4 KiB.
    pub message: String,
}

/// Kinds of warnings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
pub enum WarningReason {
    /// The evidence line of an optimization, as the test procedures word it; once for each size.
    Evidence,
    /// What an instrument or the libraries it loads printed.
    LibraryOutput,
    /// A limit of this machine stands in the way of good numbers.
    Limit,
    /// Something differs from the round before.
    EnvironmentChanged,
    /// A worker left or could not be reached.
    WorkerLost,
    /// Someone at the rendezvous who does not belong to this attempt was refused.
    UnknownPeerRefused,
    /// A process had to be killed.
    Killed,
}

/// The end of a stream. Repeated in the termination message of worker 0.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct EndRecord {
    /// Blocks completed in this attempt.
    pub blocks: u32,
    /// Whether all blocks of the assignment were.
    pub complete: bool,
    /// Why not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<CaseFailure>,
}
