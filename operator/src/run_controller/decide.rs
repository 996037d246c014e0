//! Decides the next action for a run from its observed state. The same inputs always produce the same decision.
//! Performs no I/O.
//!
//! The execution state is written before any action that depends on it ([`Action::RecordProgress`]). The next attempt
//! starts only after an uncached list has shown that all pods of the previous attempt, except abandoned ones, are gone.
//! A persisted block is never measured again. The controller can therefore be killed at any point: the next process
//! makes the same observations and decisions.

mod attempt;
mod cleanup;
mod next_attempt;
mod outcome;
mod pod_failure;
mod transitions;
mod waiting;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use campaign::status::Phase;
use crds::v1alpha1::{AttemptState, AttemptStatus};
use jiff::Timestamp;

use super::action::{Action, Decision};
use super::execution_state::ExecutionState;
use super::observed::{JobState, Observed, Records, RunPolicyView};
use super::reservations::Reservation;
use attempt::{AttemptAssessment, assess};
pub(super) use cleanup::is_overdue;
use crds::v1alpha1::Reason;
use outcome::AttemptOutcome;
use waiting::Waiting;

/// Delay before pods are listed again after a list that contained pods missing from the cache.
pub(super) const POD_LIST_INTERVAL: Duration = Duration::from_secs(5);

/// Decides the next action for a run. `now` has whole seconds, like the times in the status.
pub(super) fn decide(
    policy: &RunPolicyView,
    observed: &Observed<'_>,
    reservation: &Reservation,
    now: Timestamp,
) -> Decision {
    let no_blocks = BTreeMap::new();
    let done = match &observed.records {
        Records::Read(done) => done,
        Records::Unread | Records::Broken(_) => &no_blocks,
    };
    let inputs = Inputs {
        policy,
        observed,
        reservation,
        now,
        done,
    };
    if observed.deleting {
        return cleanup::decide_deleting(&inputs);
    }
    if let Some(finished_at) = observed.persisted.finished_at {
        return cleanup::finished(&inputs, finished_at);
    }
    if let Err(message) = &policy.legs {
        let (state, phase) = transitions::abandoned(&inputs, Reason::InvalidSpec, message);
        return inputs.record_progress(state, phase);
    }
    if policy.plan_changed {
        let message = "another release of the operator started this run with a different plan. The measurements remain \
                       in the run's records; create a new run";
        let (state, phase) = transitions::abandoned(&inputs, Reason::PlanChanged, message);
        return inputs.record_progress(state, phase);
    }
    match &observed.records {
        Records::Broken(message) => {
            let (state, phase) = transitions::abandoned(&inputs, Reason::RecordsLost, message);
            return inputs.record_progress(state, phase);
        }
        // A run without attempts has no records.
        Records::Unread if !observed.persisted.attempts.is_empty() => {
            return inputs.decision(Action::ReadRecords, None);
        }
        Records::Unread | Records::Read(_) => {}
    }
    match observed.persisted.current() {
        Some(current) => attempt_in_progress(&inputs, current),
        None => between_attempts(&inputs),
    }
}

/// Inputs that a decision depends on.
struct Inputs<'a> {
    policy: &'a RunPolicyView,
    observed: &'a Observed<'a>,
    reservation: &'a Reservation,
    now: Timestamp,
    /// Verified and persisted blocks, by leg.
    done: &'a BTreeMap<u32, BTreeSet<u32>>,
}

fn attempt_in_progress(inputs: &Inputs<'_>, current: &AttemptStatus) -> Decision {
    match assess(inputs, current) {
        // A queue suspends the Job before its pods are deleted, but the watch for pods may be ahead of the one for Jobs.
        AttemptAssessment::Ended {
            outcome: AttemptOutcome::Disrupted(..),
            ..
        } if inputs.policy.queue.is_some() && !inputs.observed.jobs_are_live => {
            inputs.decision(Action::ListJobs, None)
        }
        AttemptAssessment::Ended { outcome, at } => {
            let (state, phase) = transitions::ended(inputs, &outcome, at);
            inputs.record_progress(state, phase)
        }
        _ if inputs.observed.suspend => {
            inputs.record_progress(transitions::suspended(inputs), Phase::Suspended)
        }
        AttemptAssessment::Follow(pod) => {
            let follow = Action::FollowLog {
                attempt: pod.attempt,
                pod: pod.name.clone(),
                pod_uid: pod.uid.clone(),
            };
            inputs.decision(follow, None)
        }
        AttemptAssessment::Starting(waiting) => match inputs.reservation.lost_after {
            Some(after) => {
                let outcome = AttemptOutcome::PlaceLost(waiting.place_lost_after(after));
                let (state, phase) = transitions::ended(inputs, &outcome, inputs.now);
                inputs.record_progress(state, phase)
            }
            None => {
                let until = earliest(waiting.until, inputs.reservation.until);
                next_attempt::wait(inputs, &Waiting { until, ..waiting })
            }
        },
        AttemptAssessment::Running { since, coordinator } if current.state == AttemptState::Starting => {
            inputs.record_progress(transitions::running(inputs, since, coordinator), Phase::Running)
        }
        AttemptAssessment::Running { .. } => decide_running(inputs, current, None),
        AttemptAssessment::Ending { until } => decide_running(inputs, current, until),
    }
}

/// Decides the next action for an attempt whose workers are running or whose log is still being read. Enforces
/// `activeDeadlineSeconds`.
fn decide_running(inputs: &Inputs<'_>, current: &AttemptStatus, until: Option<Timestamp>) -> Decision {
    let Some(since) = inputs.observed.persisted.active_since else {
        // Worker 0 terminated, or its pod was deleted, before all workers were observed running.
        let waiting = Waiting {
            until,
            ..Waiting::new(
                Reason::PodsStarting,
                "worker 0 has terminated; reading the rest of its log",
            )
        };
        return next_attempt::wait(inputs, &waiting);
    };
    let limit = u64::from(inputs.policy.active_deadline_seconds);
    let remaining = limit.saturating_sub(inputs.observed.persisted.active_seconds);
    let deadline = since.checked_add(Duration::from_secs(remaining)).ok();
    if deadline.is_none_or(|deadline| deadline > inputs.now) {
        let until = earliest(until, deadline);
        return inputs.decision(Action::Wait { until }, Some(Phase::Running));
    }
    let (state, phase) = match inputs.is_measured(current.leg) {
        true => transitions::ended(inputs, &AttemptOutcome::Measured, inputs.now),
        false => {
            let message =
                format!("the workers ran for {limit} s, the limit in runPolicy.activeDeadlineSeconds");
            transitions::abandoned(inputs, Reason::DeadlineExceeded, &message)
        }
    };
    inputs.record_progress(state, phase)
}

fn between_attempts(inputs: &Inputs<'_>) -> Decision {
    let Some(leg) = inputs.next_leg() else {
        let state = transitions::mark_finished(inputs.observed.persisted.clone(), inputs.now);
        return inputs.record_progress(state, Phase::Complete);
    };
    let persisted = &inputs.observed.persisted;
    let is_next = |job: &&JobState| {
        let id = job.attempt;
        id.leg == leg && id.attempt > persisted.last_attempt(leg) && !job.deleting
    };
    match inputs.observed.jobs.iter().find(is_next) {
        Some(job) if inputs.observed.suspend => {
            inputs.record_progress(transitions::started_and_suspended(inputs, job), Phase::Suspended)
        }
        // An attempt is recorded only after its prerequisites exist. They are not created for a recorded attempt, so
        // its pods would wait for them forever.
        Some(job) if inputs.observed.prerequisites_ready != Some(job.attempt) => {
            next_attempt::create_prerequisites(inputs, job)
        }
        Some(job) => {
            // The next decision results in the same phase, so the status need not be written again.
            let waiting = match job.suspended {
                true => Waiting::for_admission(job, inputs.policy),
                false => waiting::for_start(&[], inputs.policy.workers),
            };
            inputs.record_progress(transitions::started(inputs, job), waiting.phase())
        }
        None => next_attempt::start(inputs, leg),
    }
}

impl Inputs<'_> {
    fn decision(&self, action: Action, phase: Option<Phase>) -> Decision {
        Decision {
            action,
            phase,
            cleanup_blocked: cleanup::blocked(self),
        }
    }

    fn record_progress(&self, state: ExecutionState, phase: Phase) -> Decision {
        self.decision(Action::RecordProgress(Box::new(state)), Some(phase))
    }

    fn time_after(&self, delay: Duration) -> Option<Timestamp> {
        self.now.checked_add(delay).ok()
    }

    fn legs(&self) -> impl Iterator<Item = (u32, u32)> {
        (0..).zip(self.policy.legs.iter().flatten().copied())
    }

    fn has_missing_blocks(&self, leg: u32, blocks: u32) -> bool {
        let done = self.done.get(&leg).map_or(0, BTreeSet::len);
        done < blocks as usize
    }

    /// Whether every block of `leg` is verified and persisted.
    fn is_measured(&self, leg: u32) -> bool {
        let mut legs = self.legs();
        legs.any(|(number, blocks)| number == leg && !self.has_missing_blocks(leg, blocks))
    }

    /// Returns the first leg that has a missing block.
    fn next_leg(&self) -> Option<u32> {
        let mut legs = self.legs();
        legs.find(|(leg, blocks)| self.has_missing_blocks(*leg, *blocks))
            .map(|(leg, _)| leg)
    }

    fn is_complete(&self) -> bool {
        self.next_leg().is_none()
    }

    fn has_measured_blocks(&self) -> bool {
        self.done.values().any(|blocks| !blocks.is_empty())
    }
}

/// Returns the earlier of two optional times.
fn earliest(first: Option<Timestamp>, second: Option<Timestamp>) -> Option<Timestamp> {
    first.into_iter().chain(second).min()
}

#[cfg(test)]
mod tests;
