//! What workers say to each other. Pure.
//!
//! The coordinator gives [`Command`]s, a worker answers each with the [`Report`] of the same step, in order.

use crds::assignment::{LegIdentity, Pass};
use crds::record::{
    CaseFailure, ColdRecord, EndRecord, FabricFacts, HostEnvironment, IntegrityReport, SideReport,
    WarningReason,
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// Version of these messages; workers of one leg must agree.
pub const PROTOCOL_VERSION: u32 = 1;
/// Longest first message of a connection, in bytes: one worker's environment, from who may be a stranger.
pub const MAX_HELLO_BYTES: usize = 64 * 1024;
/// Longest message between workers that know each other, in bytes: one arm's offer with 64 rails fits four times.
pub const MAX_MESSAGE_BYTES: usize = 1024 * 1024;

/// A message with where it belongs.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Envelope<M> {
    /// Run, plan, leg and attempt.
    pub identity: LegIdentity,
    /// Rank of the sender.
    pub rank: u32,
    /// What is said.
    pub message: M,
}

/// First message of a worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WorkerHello {
    /// [`PROTOCOL_VERSION`].
    pub protocol: u32,
    /// Version of the runner.
    pub runner_version: String,
    /// The worker's machine and limits.
    pub environment: HostEnvironment,
    /// Identity of the running kernel: equal for workers of one machine, whatever containers they are in.
    pub boot_id: String,
    /// Processors the worker may use.
    pub cpus: Vec<u32>,
}

/// The coordinator's answer to it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Answer {
    /// All are there; these are the receiver's processors.
    Welcome(WorkerCpus),
    /// The sender does not belong here.
    Refused {
        /// Why.
        reason: Refusal,
        /// In words.
        message: String,
    },
    /// The meeting failed.
    Cancelled(CaseFailure),
}

/// What a worker may run its instruments on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WorkerCpus {
    /// The processors; empty where the kernel shows none.
    pub cpus: Vec<u32>,
    /// Workers that use some of them, this one included.
    pub sharers: u32,
}

/// Why someone is not let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Refusal {
    /// Speaks another version.
    OtherVersion,
    /// Belongs to another run.
    OtherRun,
    /// Belongs to another plan of this run.
    OtherPlan,
    /// Belongs to another leg or attempt.
    OtherAttempt,
    /// Claims a rank that this leg does not have, or the coordinator's.
    RankOutOfRange,
    /// Claims the rank of a worker that is there.
    RankTaken,
    /// Sent no message of ours.
    Garbage,
    /// Sent more than a first message may be long.
    TooLong,
    /// Sent no whole message in time.
    TooSlow,
    /// Came while too many others were being looked at.
    TooMany,
}

/// What the coordinator tells a worker to do.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Command {
    /// Nothing; the coordinator is alive.
    Heartbeat,
    /// Start the instruments of a round, by its index in the assignment, and open its arms. Answered by
    /// [`Report::Opened`] for each arm, then [`Report::RoundOpened`].
    OpenRound {
        /// Index in the assignment's rounds.
        index: u32,
    },
    /// Make a peer's endpoints known to an arm. Not answered by itself.
    Connect {
        /// Index of the arm.
        arm: u32,
        /// Rank of the peer.
        peer: u32,
        /// The peer's [`Opened`] offer, as its instrument wrote it.
        offer: Box<RawValue>,
    },
    /// All peers are said. Answered by [`Report::Connected`].
    ConnectDone,
    /// Reach a peer on every rail. Answered by [`Report::Done`].
    Probe(PeerCase),
    /// Get ready for a case. Answered by [`Report::Ready`].
    Prepare(CaseOrder),
    /// Run the case that was prepared. Answered by [`Report::Done`].
    Go,
    /// End the instruments. Answered by [`Report::RoundEnded`].
    CloseRound,
    /// The attempt is over.
    Leave(EndRecord),
}

/// An arm, a peer, and which side this worker is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PeerCase {
    /// Index of the arm.
    pub arm: u32,
    /// Rank of the peer.
    pub peer: u32,
    /// Whether this worker posts first.
    pub initiator: bool,
}

/// One case of one worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CaseOrder {
    /// Number of the case, another one for every case of a coordinator: what is left of a failed case is never taken
    /// for this one's.
    pub number: u32,
    /// With which arm, with whom, on which side.
    pub with: PeerCase,
    /// Index of the scenario.
    pub scenario: u32,
    /// Whether bytes are checked or times are taken.
    pub pass: Pass,
    /// Message or transfer size in bytes.
    pub size_bytes: u64,
    /// Seed of the byte pattern, the same on both sides.
    pub seed: u64,
}

/// What a worker answers.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Report {
    /// Nothing; the worker is alive.
    Heartbeat,
    /// What came of one arm.
    Opened {
        /// Index of the arm.
        arm: u32,
        /// Its endpoints, or why there are none.
        result: Result<Box<Opened>, CaseFailure>,
    },
    /// All arms of the round are said.
    RoundOpened,
    /// All peers are connected, but for these.
    Connected {
        /// Which are not.
        failures: Vec<NotConnected>,
    },
    /// The case can be begun, or why not.
    Ready(Result<(), CaseFailure>),
    /// What this side of a case or probe saw.
    Done {
        /// What came of it.
        result: Result<Side, CaseFailure>,
        /// Evidence lines of the optimizations.
        evidence: Vec<String>,
    },
    /// The instruments have ended.
    RoundEnded {
        /// What the arms cost before their first measured operation.
        cold: Vec<ColdRecord>,
    },
    /// Something a reader of the records must know.
    Warning {
        /// What kind.
        reason: WarningReason,
        /// In words.
        message: String,
    },
    /// The worker ends.
    Leaving(CaseFailure),
}

/// One arm's endpoints at one worker.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Opened {
    /// What peers need to reach it; only instruments look inside.
    pub offer: Box<RawValue>,
    /// What the library returned.
    pub facts: FabricFacts,
}

/// A peer that an arm could not be connected to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NotConnected {
    /// Index of the arm.
    pub arm: u32,
    /// Rank of the peer.
    pub peer: u32,
    /// Why.
    pub failure: CaseFailure,
}

/// What one side saw.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Side {
    /// The peer answered on every rail.
    Reached,
    /// Times were taken.
    Measured(Box<SideReport>),
    /// Bytes were checked, at the side where they arrived.
    Checked(IntegrityReport),
}
