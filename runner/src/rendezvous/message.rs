//! Messages between workers. Performs no I/O.
//!
//! The coordinator sends [`Command`]s. A worker executes them in order and sends the corresponding [`WorkerReport`]s.

use crds::assignment::{AttemptIdentity, Extent, Pass};
use crds::record::{
    CaseFailure, ColdRecord, ConfigurationRecord, EndRecord, FabricFacts, HostEnvironment, IntegrityReport,
    ProtocolsRecord, SideReport, WarningReason,
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// Version of the message format, which must be the same for all workers of a leg.
pub const PROTOCOL_VERSION: u32 = 1;
/// Maximum length of the first message on a connection, in bytes. The message contains the environment of one worker.
/// The limit is low because the sender may be unknown.
pub const MAX_HELLO_BYTES: usize = 64 * 1024;
/// Maximum length of a message between admitted workers, in bytes: four times the length of an offer from an arm with
/// 64 rails.
pub const MAX_MESSAGE_BYTES: usize = 1024 * 1024;

/// A message, the attempt that it belongs to, and the rank of its sender.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Envelope<M> {
    /// Run, plan, leg and attempt.
    pub identity: AttemptIdentity,
    /// Sender rank.
    pub rank: u32,
    /// Message content.
    pub message: M,
}

/// First message from a worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WorkerHello {
    /// The worker's [`PROTOCOL_VERSION`].
    pub protocol: u32,
    /// Runner version.
    pub runner_version: String,
    /// Machine properties, and the worker's resource limits.
    pub environment: HostEnvironment,
    /// Boot ID of the running kernel, which is the same for all workers on a machine, even in different containers.
    pub boot_id: String,
    /// CPUs that the worker may use.
    pub cpus: Vec<u32>,
}

/// The coordinator's response to a [`WorkerHello`].
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum HelloResponse {
    /// All workers have joined. Contains the CPUs of the receiver.
    Welcome(WorkerCpus),
    /// The sender does not belong to the attempt.
    Refused {
        /// Reason for the rejection.
        reason: Rejection,
        /// Explanation for the sender's log.
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
    /// Number of workers whose CPUs overlap with this worker's CPUs, including this worker.
    pub overlapping_workers: u32,
}

/// Reason for rejecting a connection to the rendezvous.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Rejection {
    /// The protocol version differs.
    OtherVersion,
    /// The sender belongs to another run.
    OtherRun,
    /// The sender belongs to another plan of this run.
    OtherPlan,
    /// The sender belongs to another leg or attempt.
    OtherAttempt,
    /// The rank does not exist in this leg, or is the coordinator's rank.
    RankOutOfRange,
    /// A worker with this rank has already joined.
    RankTaken,
    /// The first message is not a valid worker hello.
    Garbage,
    /// The first message exceeds the length limit.
    TooLong,
    /// No complete message arrived in time.
    TooSlow,
    /// Too many connections had not sent their first message yet.
    TooMany,
}

/// Command from the coordinator to a worker.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Command {
    /// Keeps the connection alive. Requires no action.
    Heartbeat,
    /// Start the instruments of a round and open its arms. The worker sends [`WorkerReport::Opened`] for each arm, then
    /// [`WorkerReport::RoundOpened`].
    OpenRound {
        /// Round index in the assignment.
        index: u32,
    },
    /// Connect an arm to the endpoints of a peer. The result is reported after [`Command::ConnectDone`].
    Connect {
        /// Arm index.
        arm: u32,
        /// Peer rank.
        peer: u32,
        /// Offer from the peer's [`Opened`] report, as created by its instrument.
        offer: Box<RawValue>,
    },
    /// All [`Command::Connect`] commands have been sent. The worker sends [`WorkerReport::Connected`].
    ConnectDone,
    /// Exchange a message with a peer on every rail. The worker sends [`WorkerReport::Done`].
    Probe(PeerCase),
    /// Prepare a case. The worker sends [`WorkerReport::Ready`].
    Prepare(CaseOrder),
    /// Run the prepared case. The worker sends [`WorkerReport::Done`].
    Go,
    /// Command for the flows of a running case that the coordinator controls. A worker that is not running such a case
    /// ignores the command.
    Flows(FlowCommand),
    /// Stop the instruments. The worker sends [`WorkerReport::RoundEnded`].
    CloseRound,
    /// Exit, because the attempt has finished.
    Leave(EndRecord),
}

/// One worker's arm, peer and role in a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PeerCase {
    /// Arm index.
    pub arm: u32,
    /// Peer rank.
    pub peer: u32,
    /// Whether this worker posts first.
    pub initiator: bool,
}

/// One worker's peer, role and seed in one flow of a case. A case between two workers has a single flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FlowOrder {
    /// Peer rank.
    pub peer: u32,
    /// Whether this worker posts first.
    pub initiator: bool,
    /// Seed of the byte pattern, the same on both sides.
    pub seed: u64,
}

/// Command for all flows of a running case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum FlowCommand {
    /// Start posting transfers. The worker sends [`FlowPhase::Active`] when transfers of every flow have completed.
    Start,
    /// Open the windows of the flows. The worker sends [`FlowPhase::Measured`] when all of them have closed.
    Measure,
    /// Stop posting transfers, and finish the case.
    Finish,
    /// Abandon the case, because a flow has failed.
    Abandon,
}

/// Phase that all flows of a worker have reached. The variants are in phase order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum FlowPhase {
    /// The warm-up of every flow is complete, and both sides have read their counters. The flows are not posting.
    Ready,
    /// Transfers of every flow have completed, and the flows are still posting.
    Active,
    /// The windows of all flows have closed, and the flows are still posting.
    Measured,
    /// A flow has failed.
    Failed,
}

/// Parameters of one case for one worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CaseOrder {
    /// Case number. Only cases that run concurrently on different pairs have the same number. The number prevents late
    /// messages from a failed case from being attributed to this case.
    pub number: u32,
    /// Arm index.
    pub arm: u32,
    /// The worker's flows, which run concurrently. In the many-to-many pattern, a flow has the same index in every
    /// case.
    pub flows: Vec<FlowOrder>,
    /// Whether the coordinator opens and closes the windows of the flows with [`FlowCommand`]s.
    pub is_simultaneous: bool,
    /// Scenario index.
    pub scenario: u32,
    /// Purpose of the case: to check bytes, to run the pilot, or to measure time.
    pub pass: Pass,
    /// Message or transfer size in bytes.
    pub size_bytes: u64,
    /// Number or duration of the measured operations. Replaces the value in the scenario.
    pub measured: Extent,
}

/// Report from a worker to the coordinator.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum WorkerReport {
    /// Keeps the connection alive. Contains no result.
    Heartbeat,
    /// Result of opening one arm.
    Opened {
        /// Arm index.
        arm: u32,
        /// Endpoints of the arm if they could be opened.
        result: Result<Box<Opened>, CaseFailure>,
    },
    /// All [`WorkerReport::Opened`] reports of the round have been sent.
    RoundOpened,
    /// All [`Command::Connect`] commands have been executed.
    Connected {
        /// Peers that could not be connected.
        failures: Vec<NotConnected>,
        /// Facts of the arms that were connected to a peer. Some libraries choose lanes only when they connect.
        facts: Vec<ConnectedFacts>,
    },
    /// Result of preparing a case.
    Ready(Result<(), CaseFailure>),
    /// The flows of the running case have reached a phase. Only sent if the coordinator controls the flows.
    Reached(FlowPhase),
    /// Result of a case or probe on this side.
    Done {
        /// Result of each flow on this side, in flow order. A probe has one result. If the instrument failed, there is
        /// a single result for all flows.
        results: Vec<Result<SideResult, CaseFailure>>,
        /// Evidence of the optimizations, one line each.
        evidence: Vec<String>,
    },
    /// The instruments have exited.
    RoundEnded {
        /// Setup costs of the arms.
        cold: Vec<ColdRecord>,
        /// Protocols that the libraries report.
        protocols: Vec<ProtocolsRecord>,
        /// Configurations of the processes.
        configurations: Vec<ConfigurationRecord>,
    },
    /// An instrument has stopped. Its arms continue when the instruments are restarted.
    InstrumentLost,
    /// Warning for the records.
    Warning {
        /// Reason for the warning.
        reason: WarningReason,
        /// Human-readable description.
        message: String,
    },
    /// The worker is exiting because of this failure.
    Leaving(CaseFailure),
}

/// Endpoints of one arm on one worker.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Opened {
    /// Addresses and keys for peers. Only instruments parse this value.
    pub offer: Box<RawValue>,
    /// Facts reported by the library.
    pub facts: FabricFacts,
}

/// Facts of an arm after it was connected.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ConnectedFacts {
    /// Arm index.
    pub arm: u32,
    /// Facts reported by the library.
    pub facts: FabricFacts,
}

/// A peer to which an arm could not be connected.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NotConnected {
    /// Arm index.
    pub arm: u32,
    /// Peer rank.
    pub peer: u32,
    /// Connection failure.
    pub failure: CaseFailure,
}

/// Result of one side of a case or probe.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum SideResult {
    /// The peer was reached on every rail.
    Reached,
    /// The side measured time.
    Measured(Box<SideReport>),
    /// The side verified the bytes that it received.
    Checked(IntegrityReport),
}
