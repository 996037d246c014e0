//! Decides which workers may join the rendezvous. Pure.

use std::collections::BTreeMap;

use crds::assignment::LegIdentity;

use super::message::{Envelope, PROTOCOL_VERSION, Refusal, WorkerHello};

/// Checks first messages against the attempt that they should belong to.
#[derive(Debug)]
pub struct Admission {
    identity: LegIdentity,
    workers: u32,
    refused: BTreeMap<Refusal, u32>,
}

impl Admission {
    /// Admission to one attempt with `workers` workers, including the coordinator.
    pub fn new(identity: LegIdentity, workers: u32) -> Self {
        Self {
            identity,
            workers,
            refused: BTreeMap::new(),
        }
    }

    /// Checks whether the sender of `hello` belongs to this attempt, regardless of which peers have joined.
    ///
    /// # Errors
    /// The reason for refusing the sender.
    pub fn check(&self, hello: &Envelope<WorkerHello>) -> Result<(), Refusal> {
        let theirs = &hello.identity;
        let ours = &self.identity;
        if hello.message.protocol != PROTOCOL_VERSION {
            Err(Refusal::OtherVersion)
        } else if (&theirs.uid, &theirs.run) != (&ours.uid, &ours.run) {
            Err(Refusal::OtherRun)
        } else if theirs.plan_hash != ours.plan_hash {
            Err(Refusal::OtherPlan)
        } else if (theirs.leg, theirs.attempt) != (ours.leg, ours.attempt) {
            Err(Refusal::OtherAttempt)
        } else if !(1..self.workers).contains(&hello.rank) {
            Err(Refusal::RankOutOfRange)
        } else {
            Ok(())
        }
    }

    /// Counts a refusal.
    pub fn count(&mut self, refusal: Refusal) {
        let count = self.refused.entry(refusal).or_default();
        *count = count.saturating_add(1);
    }

    /// Number of refused connections, by reason.
    pub fn refused(&self) -> &BTreeMap<Refusal, u32> {
        &self.refused
    }

    /// Message for the refused sender.
    pub fn describe(&self, refusal: Refusal) -> String {
        let LegIdentity {
            run, leg, attempt, ..
        } = &self.identity;
        let cause = match refusal {
            Refusal::OtherVersion => {
                format!(
                    "protocol version differs from {PROTOCOL_VERSION}; use the same runner version for all workers"
                )
            }
            Refusal::OtherRun => "the worker belongs to another run".into(),
            Refusal::OtherPlan => "the worker belongs to another plan of the run".into(),
            Refusal::OtherAttempt => "the worker belongs to another leg or attempt".into(),
            Refusal::RankOutOfRange => format!("the rank is not in 1 to {}", self.workers - 1),
            Refusal::RankTaken => "a worker with this rank has already joined".into(),
            Refusal::Garbage => "the first message is not a worker hello".into(),
            Refusal::TooLong => "the first message is too long".into(),
            Refusal::TooSlow => "no complete message arrived in time".into(),
            Refusal::TooMany => "too many concurrent connections".into(),
        };
        format!("rendezvous of {run}, leg {leg}, attempt {attempt} refused this connection: {cause}")
    }
}
