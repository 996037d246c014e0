//! What a worker and its instruments say to each other, over the socket that is the instrument's standard input. Pure.
//!
//! The worker makes one [`Request`] at a time, the instrument answers it with one [`Reply`].

use crds::assignment::Assignment;
use crds::record::{CaseFailure, ColdRecord};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::rendezvous::message::{CaseOrder, Opened, PeerCase, Side, WorkerCpus};

/// Longest message, in bytes: an assignment, which may be a ConfigMap's megabyte, with room for another spelling.
pub const MAX_MESSAGE_BYTES: usize = 4 * 1024 * 1024;

/// What the worker wants.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Request {
    /// First of all. Answered by [`Reply::Begun`].
    Begin(Box<Begin>),
    /// Open the endpoints of an arm. Answered by [`Reply::Opened`].
    Open {
        /// Index of the arm.
        arm: u32,
    },
    /// Make a peer's endpoints known to an arm. Answered by [`Reply::Connected`].
    Connect {
        /// Index of the arm.
        arm: u32,
        /// Rank of the peer.
        peer: u32,
        /// What the peer's instrument offered.
        offer: Box<RawValue>,
    },
    /// Reach a peer on every rail. Answered by [`Reply::Done`].
    Probe(PeerCase),
    /// Get ready for a case. Answered by [`Reply::Ready`].
    Prepare(CaseOrder),
    /// Run the case that was prepared. Answered by [`Reply::Done`].
    Go,
    /// Say what the arms cost before their first measured operation. Answered by [`Reply::Cold`].
    Cold {
        /// Number of the round.
        round: u32,
    },
    /// Close everything and end. Answered by [`Reply::Left`].
    Leave,
}

/// What an instrument has to know.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Begin {
    /// The assignment, without its rounds.
    pub assignment: Assignment,
    /// Rank of the worker.
    pub rank: u32,
    /// Index of the process in the assignment.
    pub process: u32,
    /// Processors of the worker.
    pub processors: WorkerCpus,
}

/// What the instrument answers.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Reply {
    /// Ready for requests.
    Begun(Result<(), CaseFailure>),
    /// The endpoints of the arm, or why there are none.
    Opened(Result<Box<Opened>, CaseFailure>),
    /// The peer is known, or why not.
    Connected(Result<(), CaseFailure>),
    /// The case can be begun, or why not.
    Ready(Result<(), CaseFailure>),
    /// What this side of a case or probe saw.
    Done {
        /// What came of it.
        result: Result<Side, CaseFailure>,
        /// Evidence lines of the optimizations.
        evidence: Vec<String>,
    },
    /// What the arms cost.
    Cold(Vec<ColdRecord>),
    /// Everything is closed.
    Left,
}
