//! Who may come in. Pure.

use std::collections::BTreeMap;

use crds::assignment::LegIdentity;

use super::message::{Envelope, PROTOCOL_VERSION, Refusal, WorkerHello};

/// Judges first messages against the attempt they should belong to.
#[derive(Debug)]
pub struct Admission {
    identity: LegIdentity,
    workers: u32,
    refused: BTreeMap<Refusal, u32>,
}

impl Admission {
    /// Admission to one attempt with `workers` workers, the coordinator included.
    pub fn new(identity: LegIdentity, workers: u32) -> Self {
        Self {
            identity,
            workers,
            refused: BTreeMap::new(),
        }
    }

    /// Whether the sender of `hello` belongs here, whoever else is there.
    ///
    /// # Errors
    /// Why it does not.
    pub fn judge(&self, hello: &Envelope<WorkerHello>) -> Result<(), Refusal> {
        let other = &hello.identity;
        let ours = &self.identity;
        if hello.message.protocol != PROTOCOL_VERSION {
            Err(Refusal::OtherVersion)
        } else if (&other.uid, &other.run) != (&ours.uid, &ours.run) {
            Err(Refusal::OtherRun)
        } else if other.plan_hash != ours.plan_hash {
            Err(Refusal::OtherPlan)
        } else if (other.leg, other.attempt) != (ours.leg, ours.attempt) {
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

    /// How many were refused, by reason.
    pub fn refused(&self) -> &BTreeMap<Refusal, u32> {
        &self.refused
    }

    /// A refusal in words, for whoever is refused.
    pub fn explain(&self, refusal: Refusal) -> String {
        let LegIdentity {
            run, leg, attempt, ..
        } = &self.identity;
        let why = match refusal {
            Refusal::OtherVersion => {
                format!("workers here speak version {PROTOCOL_VERSION}; use one runner for all")
            }
            Refusal::OtherRun => "the message belongs to another run".into(),
            Refusal::OtherPlan => "the message belongs to another plan of the run".into(),
            Refusal::OtherAttempt => "the message belongs to another leg or attempt".into(),
            Refusal::RankOutOfRange => format!("ranks that may come are 1 to {}", self.workers - 1),
            Refusal::RankTaken => "a worker of this rank is there already".into(),
            Refusal::Garbage => "the message is none of a worker".into(),
            Refusal::TooLong => "the first message is too long".into(),
            Refusal::TooSlow => "no whole message came in time".into(),
            Refusal::TooMany => "too many connections at once".into(),
        };
        format!("refused at the rendezvous of {run}, leg {leg}, attempt {attempt}: {why}")
    }
}
