//! The execution state of a run, which the status persists. Performs no I/O.
//!
//! It is written before any action that depends on it, so that a restarted controller continues where the previous one
//! stopped.

use crds::v1alpha1::{AttemptState, AttemptStatus, BenchmarkRunStatus, ExecutionStatus};
use jiff::Timestamp;

use super::admission::retry_delay;
use super::attempt_id::AttemptId;

/// Maximum number of attempts in the status. The schema has the same limit.
pub(super) const MAX_ATTEMPTS: usize = 16;

/// The execution state of a run, which the status persists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExecutionState {
    /// The newest attempts, in the order in which they started. Only the last one may be in progress.
    pub attempts: Vec<AttemptStatus>,
    /// Number of older attempts, which are omitted.
    pub omitted_attempts: u32,
    /// Number of attempts that ended because of an external disruption.
    pub disruptions: u32,
    /// Number of attempts that a queue ended by suspending a Job that it had admitted.
    pub preemptions: u32,
    /// Start of the current period without a running gang. The period counts toward `pendingDeadlineSeconds`.
    pub pending_since: Option<Timestamp>,
    /// Time spent waiting for a gang before [`Self::pending_since`], in seconds. Reset when a gang starts.
    pub pending_seconds: u64,
    /// Number of places lost since a gang last started.
    pub lost_places: u32,
    /// Time before which the run requests no other place.
    pub retry_at: Option<Timestamp>,
    /// Time at which the last worker of the current gang started.
    pub active_since: Option<Timestamp>,
    /// Total run time of earlier gangs, in seconds.
    pub active_seconds: u64,
    /// Time at which the run finished.
    pub finished_at: Option<Timestamp>,
    /// Worker nodes, sorted. Every later attempt runs on them. Empty until a gang has run, and again after a disruption
    /// that occurs before any block is measured.
    pub nodes: Vec<String>,
    /// Whether the status reports the run as suspended.
    pub suspended: bool,
}

impl ExecutionState {
    /// Returns the execution state in `status`. An invalid time is treated as absent.
    pub fn from_status(status: &BenchmarkRunStatus) -> Self {
        let nodes = || status.placement.as_ref().map(|placement| placement.nodes.clone());
        let execution = status.execution.clone().unwrap_or_default();
        let ExecutionStatus {
            attempts,
            omitted_attempts,
            disruptions,
            preemptions,
            pending_since,
            pending_seconds,
            lost_places,
            retry_at,
            active_since,
            active_seconds,
            finished_at,
            suspended,
        } = execution;
        let time = |text: Option<String>| text.and_then(|text| text.parse().ok());
        Self {
            attempts,
            omitted_attempts,
            disruptions,
            preemptions,
            pending_since: time(pending_since),
            pending_seconds,
            lost_places,
            retry_at: time(retry_at),
            active_since: time(active_since),
            active_seconds,
            finished_at: time(finished_at),
            nodes: nodes().unwrap_or_default(),
            suspended,
        }
    }

    /// Returns the `execution` field of the status. The nodes are stored in the `placement` field instead.
    pub fn to_status(&self) -> ExecutionStatus {
        let text = |time: Option<Timestamp>| time.map(|time| time.to_string());
        ExecutionStatus {
            attempts: self.attempts.clone(),
            omitted_attempts: self.omitted_attempts,
            disruptions: self.disruptions,
            preemptions: self.preemptions,
            pending_since: text(self.pending_since),
            pending_seconds: self.pending_seconds,
            lost_places: self.lost_places,
            retry_at: text(self.retry_at),
            active_since: text(self.active_since),
            active_seconds: self.active_seconds,
            finished_at: text(self.finished_at),
            suspended: self.suspended,
        }
    }

    /// Returns the attempt in progress.
    pub fn current(&self) -> Option<&AttemptStatus> {
        self.attempts.last().filter(|attempt| is_open(attempt))
    }

    /// Returns a mutable reference to the attempt in progress.
    pub fn current_mut(&mut self) -> Option<&mut AttemptStatus> {
        self.attempts.last_mut().filter(|attempt| is_open(attempt))
    }

    /// Stops the clock that counts toward `pendingDeadlineSeconds`.
    pub fn stop_pending(&mut self, now: Timestamp) {
        let since = self.pending_since.take();
        let seconds = since.map_or(0, |since| {
            now.as_second().saturating_sub(since.as_second()).max(0)
        });
        self.pending_seconds = self.pending_seconds.saturating_add(seconds.unsigned_abs());
    }

    /// Notes that the run has lost its place at `now`.
    pub fn lose_place(&mut self, now: Timestamp) {
        self.lost_places = self.lost_places.saturating_add(1);
        self.retry_at = now.checked_add(retry_delay(self.lost_places)).ok();
    }

    /// Returns the time before which the run requests no other place, if it is after `now`.
    pub fn delayed_until(&self, now: Timestamp) -> Option<Timestamp> {
        self.retry_at.filter(|retry_at| *retry_at > now)
    }

    /// Returns the number of the last attempt at `leg`; 0 if the leg has no attempts.
    pub fn last_attempt(&self, leg: u32) -> u32 {
        let of_leg = self.attempts.iter().filter(|attempt| attempt.leg == leg);
        of_leg.map(|attempt| attempt.attempt).max().unwrap_or(0)
    }

    /// Adds an attempt. If there are then more than [`MAX_ATTEMPTS`], removes the oldest one and counts it as omitted.
    pub fn start(&mut self, attempt: AttemptStatus) {
        self.attempts.push(attempt);
        while self.attempts.len() > MAX_ATTEMPTS {
            self.attempts.remove(0);
            self.omitted_attempts = self.omitted_attempts.saturating_add(1);
        }
    }
}

/// Returns a new attempt whose Job has been created.
pub(super) fn new_attempt(attempt: AttemptId, job_uid: &str) -> AttemptStatus {
    AttemptStatus {
        leg: attempt.leg,
        attempt: attempt.attempt,
        state: AttemptState::Starting,
        job_uid: job_uid.to_owned(),
        coordinator_pod_uid: None,
        admitted_at: None,
        image_digest: None,
        started_at: None,
        finished_at: None,
        reason: None,
        message: None,
    }
}

/// Whether an attempt is in progress.
fn is_open(attempt: &AttemptStatus) -> bool {
    matches!(attempt.state, AttemptState::Starting | AttemptState::Running)
}

#[cfg(test)]
mod tests {
    use crds::v1alpha1::PlacementStatus;

    use super::*;

    fn attempt(number: u32) -> AttemptStatus {
        let id = AttemptId {
            leg: 2,
            attempt: number,
        };
        AttemptStatus {
            state: AttemptState::Disrupted,
            ..new_attempt(id, &format!("job-{number}"))
        }
    }

    #[test]
    fn round_trips_through_a_status() {
        let second = |second| Timestamp::from_second(second).ok();
        let mut state = ExecutionState {
            disruptions: 2,
            preemptions: 3,
            pending_since: second(1000),
            pending_seconds: 55,
            lost_places: 3,
            retry_at: second(1500),
            active_since: second(2000),
            active_seconds: 77,
            finished_at: second(3000),
            nodes: vec!["a".to_owned(), "b".to_owned()],
            suspended: true,
            ..ExecutionState::default()
        };
        state.start(attempt(1));
        let status = BenchmarkRunStatus {
            execution: Some(state.to_status()),
            placement: Some(PlacementStatus {
                nodes: state.nodes.clone(),
            }),
            ..BenchmarkRunStatus::default()
        };
        let json = serde_json::to_string(&status).unwrap();
        assert_eq!(
            ExecutionState::from_status(&serde_json::from_str(&json).unwrap()),
            state
        );
    }

    #[test]
    fn pending_time_adds_up_and_lost_places_delay_the_run() {
        let second = |second| Timestamp::from_second(second).unwrap();
        let mut state = ExecutionState::default();
        for (since, until) in [(1000, 1030), (2000, 2012)] {
            state.pending_since = Some(second(since));
            state.stop_pending(second(until));
        }
        state.stop_pending(second(9000));
        assert_eq!((state.pending_since, state.pending_seconds), (None, 42));
        state.lose_place(second(100));
        assert_eq!(state.delayed_until(second(159)), Some(second(160)));
        assert_eq!(state.delayed_until(second(160)), None);
        state.lose_place(second(200));
        assert_eq!(state.delayed_until(second(200)), Some(second(320)));
    }

    #[test]
    fn keeps_the_newest_attempts_and_counts_the_others() {
        let mut state = ExecutionState::default();
        (1..=20).for_each(|number| state.start(attempt(number)));
        assert_eq!((state.attempts.len(), state.omitted_attempts), (16, 4));
        assert_eq!((state.last_attempt(2), state.last_attempt(3)), (20, 0));
    }
}
