//! Messages between a worker and its instruments, exchanged over the instrument's standard input socket. Performs no
//! I/O.
//!
//! The worker sends one [`Request`] at a time, and the instrument responds with one [`Reply`]. While the instrument
//! runs a case whose flows the coordinator controls, the worker may also send [`Request::Flows`], and the instrument
//! may also send [`Reply::Reached`].

use crds::assignment::Assignment;
use crds::record::{CaseFailure, ColdRecord, ConfigurationRecord, FabricFacts, ProtocolsRecord};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::rendezvous::message::{
    CaseOrder, FlowCommand, FlowPhase, Opened, PeerCase, SideResult, WorkerCpus,
};

/// Maximum length of a message, in bytes. An assignment can be as large as a ConfigMap (1 MiB), and may become larger
/// when it is serialized in a message.
pub const MAX_MESSAGE_BYTES: usize = 4 * 1024 * 1024;

/// Request from the worker.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Request {
    /// Initialize the instrument and load its arms' library. This is the first request. The reply is
    /// [`Reply::Initialized`].
    Initialize(Box<InstrumentParameters>),
    /// Open the endpoints of an arm. The reply is [`Reply::Opened`].
    Open {
        /// Arm index.
        arm: u32,
    },
    /// Connect an arm to the endpoints of a peer. The reply is [`Reply::Connected`].
    Connect {
        /// Arm index.
        arm: u32,
        /// Peer rank.
        peer: u32,
        /// Offer from the peer's instrument.
        offer: Box<RawValue>,
    },
    /// Exchange a message with a peer on every rail. The reply is [`Reply::Done`].
    Probe(PeerCase),
    /// Run a case. The reply is [`Reply::Done`].
    Run(CaseOrder),
    /// Command for the flows of the running case. It has no reply, and is ignored if the case has already finished.
    Flows(FlowCommand),
    /// Report the setup costs of the arms. The reply is [`Reply::Cold`].
    Cold {
        /// Round number.
        round: u32,
    },
    /// Report which files are loaded, and what they know about the environment variables of the arms. The reply is
    /// [`Reply::Configured`].
    Configuration,
    /// Close all endpoints. The reply is [`Reply::Closed`].
    Close,
    /// Exit. The reply is [`Reply::Left`].
    Leave,
}

/// Parameters of an instrument.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct InstrumentParameters {
    /// The assignment, without its rounds.
    pub assignment: Assignment,
    /// Worker rank.
    pub rank: u32,
    /// Process index in the assignment.
    pub process: u32,
    /// Round number.
    pub round: u32,
    /// The worker's CPUs.
    pub cpus: WorkerCpus,
    /// Address at which other workers reach this one.
    pub host: String,
}

/// Reply from the instrument.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Reply {
    /// Result of initializing the instrument.
    Initialized(Result<(), CaseFailure>),
    /// Result of opening the endpoints of an arm.
    Opened(Result<Box<Opened>, CaseFailure>),
    /// Facts of the arm after it was connected to a peer.
    Connected(Result<Box<FabricFacts>, CaseFailure>),
    /// The flows of the running case have reached a phase.
    Reached(FlowPhase),
    /// Result of a case or probe on this side.
    Done {
        /// Result of each flow on this side, in flow order. A probe has one result.
        results: Vec<Result<SideResult, CaseFailure>>,
        /// Evidence of the optimizations, one line each.
        evidence: Vec<String>,
    },
    /// Setup costs of the arms.
    Cold(Vec<ColdRecord>),
    /// Configuration of this process and of the commands that it has executed.
    Configured(Vec<ConfigurationRecord>),
    /// All endpoints are closed. Contains the protocols that the libraries report, by arm.
    Closed(Vec<ProtocolsRecord>),
    /// The instrument exits.
    Left,
}
