//! Messages between a worker and its instruments, exchanged over the instrument's standard input socket. Pure.
//!
//! The worker sends one [`Request`] at a time, and the instrument answers it with one [`Reply`].

use crds::assignment::Assignment;
use crds::record::{CaseFailure, ColdRecord};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::rendezvous::message::{CaseOrder, Opened, PeerCase, Side, WorkerCpus};

/// Longest message, in bytes. An assignment may have the 1 MiB of a ConfigMap, and its serialization here may be longer.
pub const MAX_MESSAGE_BYTES: usize = 4 * 1024 * 1024;

/// Request of the worker.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Request {
    /// Initialize the instrument; the first request. Answered by [`Reply::Begun`].
    Begin(Box<Begin>),
    /// Open the endpoints of an arm. Answered by [`Reply::Opened`].
    Open {
        /// Index of the arm.
        arm: u32,
    },
    /// Connect an arm to the endpoints of a peer. Answered by [`Reply::Connected`].
    Connect {
        /// Index of the arm.
        arm: u32,
        /// Rank of the peer.
        peer: u32,
        /// Offer of the peer's instrument.
        offer: Box<RawValue>,
    },
    /// Exchange a message with a peer on every rail. Answered by [`Reply::Done`].
    Probe(PeerCase),
    /// Prepare a case. Answered by [`Reply::Ready`].
    Prepare(CaseOrder),
    /// Run the prepared case. Answered by [`Reply::Done`].
    Go,
    /// Report the costs of the arms before their first measured operation. Answered by [`Reply::Cold`].
    Cold {
        /// Number of the round.
        round: u32,
    },
    /// Close all endpoints and exit. Answered by [`Reply::Left`].
    Leave,
}

/// Parameters of an instrument.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Begin {
    /// The assignment, without its rounds.
    pub assignment: Assignment,
    /// Rank of the worker.
    pub rank: u32,
    /// Index of the process in the assignment.
    pub process: u32,
    /// CPUs of the worker.
    pub cpus: WorkerCpus,
}

/// Reply of the instrument.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Reply {
    /// The instrument is initialized, or the failure.
    Begun(Result<(), CaseFailure>),
    /// The endpoints of the arm, or the failure.
    Opened(Result<Box<Opened>, CaseFailure>),
    /// The peer is connected, or the failure.
    Connected(Result<(), CaseFailure>),
    /// The case is prepared, or the failure.
    Ready(Result<(), CaseFailure>),
    /// Result of this side of a case or probe.
    Done {
        /// Observations of this side, or the failure.
        result: Result<Side, CaseFailure>,
        /// Evidence lines of the optimizations.
        evidence: Vec<String>,
    },
    /// Costs of the arms.
    Cold(Vec<ColdRecord>),
    /// All endpoints are closed.
    Left,
}
