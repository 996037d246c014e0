//! Decides which workers may join the rendezvous. Performs no I/O.

use std::collections::BTreeMap;

use crds::assignment::AttemptIdentity;

use super::message::{Envelope, PROTOCOL_VERSION, Rejection, WorkerHello};

/// Checks that the first message of each connection belongs to this attempt.
#[derive(Debug)]
pub struct Admission {
    identity: AttemptIdentity,
    workers: u32,
    rejected: BTreeMap<Rejection, u32>,
}

impl Admission {
    /// Creates the admission check for an attempt with `workers` workers, including the coordinator.
    pub fn new(identity: AttemptIdentity, workers: u32) -> Self {
        Self {
            identity,
            workers,
            rejected: BTreeMap::new(),
        }
    }

    /// Checks that the sender of `hello` belongs to this attempt. Does not check whether the rank has already joined.
    ///
    /// # Errors
    /// Returns the reason for the rejection.
    pub fn check(&self, hello: &Envelope<WorkerHello>) -> Result<(), Rejection> {
        let theirs = &hello.identity;
        let ours = &self.identity;
        if hello.message.protocol != PROTOCOL_VERSION {
            Err(Rejection::OtherVersion)
        } else if (&theirs.uid, &theirs.run) != (&ours.uid, &ours.run) {
            Err(Rejection::OtherRun)
        } else if theirs.plan_hash != ours.plan_hash {
            Err(Rejection::OtherPlan)
        } else if (theirs.leg, theirs.attempt) != (ours.leg, ours.attempt) {
            Err(Rejection::OtherAttempt)
        } else if !(1..self.workers).contains(&hello.rank) {
            Err(Rejection::RankOutOfRange)
        } else {
            Ok(())
        }
    }

    /// Counts a rejected connection by reason.
    pub fn record_rejection(&mut self, rejection: Rejection) {
        let count = self.rejected.entry(rejection).or_default();
        *count = count.saturating_add(1);
    }

    /// Number of rejected connections, by reason.
    pub fn rejection_counts(&self) -> &BTreeMap<Rejection, u32> {
        &self.rejected
    }

    /// Message for the rejected sender.
    pub fn describe(&self, rejection: Rejection) -> String {
        let AttemptIdentity {
            run, leg, attempt, ..
        } = &self.identity;
        let cause = match rejection {
            Rejection::OtherVersion => {
                format!(
                    "the protocol version is not {PROTOCOL_VERSION}; use the same runner version for all workers"
                )
            }
            Rejection::OtherRun => "the worker belongs to another run".into(),
            Rejection::OtherPlan => "the worker belongs to another plan of the run".into(),
            Rejection::OtherAttempt => "the worker belongs to another leg or attempt".into(),
            Rejection::RankOutOfRange => format!("the rank is not in the range 1 to {}", self.workers - 1),
            Rejection::RankTaken => "a worker with this rank has already joined".into(),
            Rejection::Garbage => "the first message is not a valid worker hello".into(),
            Rejection::TooLong => "the first message is too long".into(),
            Rejection::TooSlow => "no complete message arrived in time".into(),
            Rejection::TooMany => "too many concurrent connections".into(),
        };
        format!("rendezvous of {run}, leg {leg}, attempt {attempt} rejected this connection: {cause}")
    }
}
