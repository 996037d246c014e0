//! Messages between workers. Pure.
//!
//! The coordinator sends [`Command`]s; a worker answers each with the [`Report`] of the same step, in order.

use crds::assignment::{LegIdentity, Pass};
use crds::record::{
    CaseFailure, ColdRecord, EndRecord, FabricFacts, HostEnvironment, IntegrityReport, SideReport,
    WarningReason,
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// Version of these messages; equal for all workers of a leg.
pub const PROTOCOL_VERSION: u32 = 1;
/// Longest first message of a connection, in bytes: the environment of one worker. Kept small because the sender may be
/// unknown.
pub const MAX_HELLO_BYTES: usize = 64 * 1024;
/// Longest message between admitted workers, in bytes: four times the offer of an arm with 64 rails.
pub const MAX_MESSAGE_BYTES: usize = 1024 * 1024;

/// A message with the attempt and rank it belongs to.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Envelope<M> {
    /// Run, plan, leg and attempt.
    pub identity: LegIdentity,
    /// Rank of the sender.
    pub rank: u32,
    /// Payload.
    pub message: M,
}

/// First message of a worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WorkerHello {
    /// [`PROTOCOL_VERSION`] of the worker.
    pub protocol: u32,
    /// Version of the runner.
    pub runner_version: String,
    /// Machine and limits of the worker.
    pub environment: HostEnvironment,
    /// Boot ID of the running kernel: equal for workers on one machine, even in different containers.
    pub boot_id: String,
    /// CPUs that the worker may use.
    pub cpus: Vec<u32>,
}

/// The coordinator's answer to a [`WorkerHello`].
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Answer {
    /// All workers have joined; these are the CPUs of the receiver.
    Welcome(WorkerCpus),
    /// The sender does not belong to the attempt.
    Refused {
        /// Reason of the refusal.
        reason: Refusal,
        /// Explanation for the log of the sender.
        message: String,
    },
    /// The rendezvous failed.
    Cancelled(CaseFailure),
}

/// CPUs on which a worker may run its instruments.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WorkerCpus {
    /// CPU numbers; empty if the kernel does not report them.
    pub cpus: Vec<u32>,
    /// Number of workers that use some of these CPUs, including this one.
    pub sharers: u32,
}

/// Reason a connection is refused at the rendezvous.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Refusal {
    /// The protocol version differs.
    OtherVersion,
    /// The sender belongs to another run.
    OtherRun,
    /// The sender belongs to another plan of this run.
    OtherPlan,
    /// The sender belongs to another leg or attempt.
    OtherAttempt,
    /// The rank does not exist in this leg, or is the coordinator's.
    RankOutOfRange,
    /// A worker with this rank has already joined.
    RankTaken,
    /// The first message is not a worker hello.
    Garbage,
    /// The first message exceeds the length limit.
    TooLong,
    /// No complete message arrived in time.
    TooSlow,
    /// Too many connections were waiting for their first message.
    TooMany,
}

/// Command of the coordinator to a worker.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Command {
    /// Sign of life without a task.
    Heartbeat,
    /// Start the instruments of a round, by its index in the assignment, and open its arms. Answered by
    /// [`Report::Opened`] for each arm, then [`Report::RoundOpened`].
    OpenRound {
        /// Index in the assignment's rounds.
        index: u32,
    },
    /// Connect an arm to the endpoints of a peer. Answered together with the others after [`Command::ConnectDone`].
    Connect {
        /// Index of the arm.
        arm: u32,
        /// Rank of the peer.
        peer: u32,
        /// The peer's [`Opened`] offer, unchanged from its instrument.
        offer: Box<RawValue>,
    },
    /// All [`Command::Connect`] commands have been sent. Answered by [`Report::Connected`].
    ConnectDone,
    /// Exchange a message with a peer on every rail. Answered by [`Report::Done`].
    Probe(PeerCase),
    /// Prepare a case. Answered by [`Report::Ready`].
    Prepare(CaseOrder),
    /// Run the prepared case. Answered by [`Report::Done`].
    Go,
    /// End the instruments. Answered by [`Report::RoundEnded`].
    CloseRound,
    /// End the worker, because the attempt has finished.
    Leave(EndRecord),
}

/// The arm, the peer and the role of one worker in a case.
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

/// One case, as ordered from one worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CaseOrder {
    /// Number of the case, unique per coordinator, so that late messages of a failed case are not mistaken for messages
    /// of this one.
    pub number: u32,
    /// Arm, peer and role.
    pub with: PeerCase,
    /// Index of the scenario.
    pub scenario: u32,
    /// Pass: whether bytes are verified or times are measured.
    pub pass: Pass,
    /// Message or transfer size in bytes.
    pub size_bytes: u64,
    /// Seed of the byte pattern, the same on both sides.
    pub seed: u64,
}

/// Report of a worker to the coordinator.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Report {
    /// Sign of life without a result.
    Heartbeat,
    /// Result of opening one arm.
    Opened {
        /// Index of the arm.
        arm: u32,
        /// Endpoints of the arm, or the failure.
        result: Result<Box<Opened>, CaseFailure>,
    },
    /// All [`Report::Opened`] of the round have been sent.
    RoundOpened,
    /// Connecting has finished.
    Connected {
        /// Peers that could not be connected.
        failures: Vec<NotConnected>,
    },
    /// The case is prepared, or the failure.
    Ready(Result<(), CaseFailure>),
    /// Result of this side of a case or probe.
    Done {
        /// Observations of this side, or the failure.
        result: Result<Side, CaseFailure>,
        /// Evidence lines of the optimizations.
        evidence: Vec<String>,
    },
    /// The instruments have ended.
    RoundEnded {
        /// Costs of the arms before their first measured operation.
        cold: Vec<ColdRecord>,
    },
    /// Warning for the records.
    Warning {
        /// Reason of the warning.
        reason: WarningReason,
        /// Description for people.
        message: String,
    },
    /// The worker ends because of this failure.
    Leaving(CaseFailure),
}

/// One arm's endpoints at one worker.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Opened {
    /// Addresses and keys for peers; only instruments parse them.
    pub offer: Box<RawValue>,
    /// Facts reported by the library.
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
    /// Failure of the connection.
    pub failure: CaseFailure,
}

/// Observations of one side of a case or probe.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Side {
    /// The peer answered on every rail.
    Reached,
    /// Times were measured.
    Measured(Box<SideReport>),
    /// Bytes were verified at the side where they arrived.
    Checked(IntegrityReport),
}
