//! From what is true of a run to the one thing that is done next. Pure: the same is decided of the same.
//!
//! What the status remembers is written before it is acted on ([`Action::Keep`]), attempts follow each other only when a
//! read past every cache has found no pod of the one before, and a block that is persisted is never measured again. So a
//! controller may be killed at any instruction: the next one observes the same and decides the same.

mod attempt;
mod cause;
mod cleanup;
mod ledger;
mod next;
mod waiting;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crds::v1alpha1::{AttemptState, AttemptStatus};
use jiff::Timestamp;

use super::action::{Action, Decision};
use super::kept::Kept;
use super::observed::{Facts, JobState, Observed, Records};
use crate::campaign::status::Phase;
use attempt::{Ended, Judgement, judge};
use crds::v1alpha1::Reason;
use waiting::Waiting;

/// When pods are listed again that a list showed and the cache did not.
pub(super) const LIST_AGAIN: Duration = Duration::from_secs(5);

/// Decides what is done next for a run of which `facts` and `observed` hold at `now`.
pub fn decide(facts: &Facts, observed: &Observed<'_>, now: Timestamp) -> Decision {
    let none = BTreeMap::new();
    let done = match &observed.records {
        Records::Read(done) => done,
        Records::Unread | Records::Broken(_) => &none,
    };
    let pass = Pass {
        facts,
        observed,
        // The status keeps whole seconds: what is decided must not depend on less.
        now: Timestamp::from_second(now.as_second()).unwrap_or(now),
        done,
    };
    if observed.deleting {
        return cleanup::deleting(&pass);
    }
    if let Some(finished_at) = observed.kept.finished_at {
        return cleanup::finished(&pass, finished_at);
    }
    if let Err(message) = &facts.legs {
        let (kept, phase) = ledger::given_up(&pass, Reason::InvalidSpec, message);
        return pass.keep(kept, phase);
    }
    if facts.plan_changed {
        let message = "another release of the operator began this run, and planned it otherwise. What it measured stays in \
                       its records; make a new run";
        let (kept, phase) = ledger::given_up(&pass, Reason::PlanChanged, message);
        return pass.keep(kept, phase);
    }
    match &observed.records {
        Records::Broken(message) => {
            let (kept, phase) = ledger::given_up(&pass, Reason::RecordsLost, message);
            return pass.keep(kept, phase);
        }
        // Without an attempt there is no record.
        Records::Unread if !observed.kept.attempts.is_empty() => {
            return pass.decision(Action::ReadRecords, None);
        }
        Records::Unread | Records::Read(_) => {}
    }
    match observed.kept.current() {
        Some(current) => going_on(&pass, current),
        None => between(&pass),
    }
}

/// Everything a decision looks at.
struct Pass<'a> {
    facts: &'a Facts,
    observed: &'a Observed<'a>,
    now: Timestamp,
    done: &'a BTreeMap<u32, BTreeSet<u32>>,
}

/// An attempt is going on.
fn going_on(pass: &Pass<'_>, current: &AttemptStatus) -> Decision {
    match judge(pass, current) {
        Judgement::Ended { how, at } => {
            let (kept, phase) = ledger::ended(pass, &how, at);
            pass.keep(kept, phase)
        }
        _ if pass.observed.suspend => pass.keep(ledger::suspended(pass), Phase::Suspended),
        Judgement::Follow(pod) => {
            let follow = Action::Follow {
                attempt: pod.attempt,
                pod: pod.name.clone(),
                pod_uid: pod.uid.clone(),
            };
            pass.decision(follow, None)
        }
        Judgement::Starting(waiting) => next::wait(pass, &waiting),
        Judgement::Running { since, coordinator } if current.state == AttemptState::Starting => {
            pass.keep(ledger::running(pass, since, coordinator), Phase::Running)
        }
        Judgement::Running { .. } => active(pass, current, None),
        Judgement::Ending { until } => active(pass, current, until),
    }
}

/// Workers run, or the last of their log is read: at most as long as the run may.
fn active(pass: &Pass<'_>, current: &AttemptStatus, until: Option<Timestamp>) -> Decision {
    let Some(since) = pass.observed.kept.active_since else {
        // A gang that ended before it was seen to run as a whole.
        let waiting = Waiting {
            until,
            ..Waiting::new(Reason::PodsStarting, "worker 0 has ended; its log is read")
        };
        return next::wait(pass, &waiting);
    };
    let limit = u64::from(pass.facts.active_deadline_seconds);
    let rest = limit.saturating_sub(pass.observed.kept.active_seconds);
    let deadline = since.checked_add(Duration::from_secs(rest)).ok();
    if deadline.is_none_or(|deadline| deadline > pass.now) {
        let until = earliest(until, deadline);
        return pass.decision(Action::Wait { until }, Some(Phase::Running));
    }
    let (kept, phase) = match pass.is_measured(current.leg) {
        true => ledger::ended(pass, &Ended::Measured, pass.now),
        false => {
            let message = format!("workers ran for {limit} s (runPolicy.activeDeadlineSeconds)");
            ledger::given_up(pass, Reason::DeadlineExceeded, &message)
        }
    };
    pass.keep(kept, phase)
}

/// No attempt is going on.
fn between(pass: &Pass<'_>) -> Decision {
    let Some(leg) = pass.next_leg() else {
        let kept = ledger::finished(pass.observed.kept.clone(), pass.now);
        return pass.keep(kept, Phase::Complete);
    };
    let kept = &pass.observed.kept;
    let expected = |job: &&JobState| {
        let id = job.attempt;
        id.leg == leg && id.attempt > kept.last_attempt(leg) && !job.deleting
    };
    match pass.observed.jobs.iter().find(expected) {
        Some(job) if pass.observed.suspend => {
            pass.keep(ledger::begun_and_suspended(pass, job), Phase::Suspended)
        }
        // The status names no attempt whose pods would wait for ever.
        Some(job) if pass.observed.prepared != Some(job.attempt) => next::prepare(pass, job),
        Some(job) => {
            // What the next look would say of it, so that it need not write again.
            let waiting = match job.suspended {
                true => Waiting::for_admission(),
                false => waiting::starting(&[], pass.facts.workers),
            };
            pass.keep(ledger::begun(pass, job), waiting.phase())
        }
        None => next::next(pass, leg),
    }
}

impl Pass<'_> {
    fn decision(&self, action: Action, phase: Option<Phase>) -> Decision {
        Decision {
            action,
            phase,
            cleanup_blocked: cleanup::blocked(self),
        }
    }

    fn keep(&self, kept: Kept, phase: Phase) -> Decision {
        self.decision(Action::Keep(Box::new(kept)), Some(phase))
    }

    fn after(&self, time: Duration) -> Option<Timestamp> {
        self.now.checked_add(time).ok()
    }

    fn legs(&self) -> impl Iterator<Item = (u32, u32)> {
        (0..).zip(self.facts.legs.iter().flatten().copied())
    }

    fn missing(&self, leg: u32, blocks: u32) -> bool {
        let done = self.done.get(&leg).map_or(0, BTreeSet::len);
        done < blocks as usize
    }

    /// Whether every block of `leg` is proven and persisted.
    fn is_measured(&self, leg: u32) -> bool {
        let mut legs = self.legs();
        legs.any(|(number, blocks)| number == leg && !self.missing(leg, blocks))
    }

    /// The first leg with a missing block.
    fn next_leg(&self) -> Option<u32> {
        let mut legs = self.legs();
        legs.find(|(leg, blocks)| self.missing(*leg, *blocks))
            .map(|(leg, _)| leg)
    }

    fn is_complete(&self) -> bool {
        self.next_leg().is_none()
    }

    fn anything_measured(&self) -> bool {
        self.done.values().any(|blocks| !blocks.is_empty())
    }
}

/// The earlier of two instants, where there are any.
fn earliest(one: Option<Timestamp>, other: Option<Timestamp>) -> Option<Timestamp> {
    one.into_iter().chain(other).min()
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod world;
