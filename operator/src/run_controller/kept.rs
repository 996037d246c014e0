//! What the status remembers of a run, with its times as instants. Pure.
//!
//! It is written before it is acted on, so a controller that was killed goes on where the one before stopped.

use crds::v1alpha1::{AttemptState, AttemptStatus, BenchmarkRunStatus, ExecutionStatus};
use jiff::Timestamp;

use super::observed::AttemptId;

/// Most attempts that are remembered, the newest: the schema's bound.
pub const MAX_ATTEMPTS: usize = 16;

/// What the status remembers of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// The newest attempts, in the order they were begun; only the last may be going on.
    pub attempts: Vec<AttemptStatus>,
    /// Older ones.
    pub omitted_attempts: u32,
    /// Attempts that ended for a reason outside of the measurement.
    pub disruptions: u32,
    /// Since when the run waits for a gang that runs.
    pub pending_since: Option<Timestamp>,
    /// Since when all workers of a gang run.
    pub active_since: Option<Timestamp>,
    /// Seconds in which gangs ran, without the one that runs now.
    pub active_seconds: u64,
    /// When the run ended.
    pub finished_at: Option<Timestamp>,
    /// Nodes of the workers, sorted: every later attempt runs on these. Empty until a gang was scheduled.
    pub nodes: Vec<String>,
    /// Whether the status says that the run is suspended.
    pub suspended: bool,
}

impl Kept {
    /// What `status` remembers. A time that is none is taken as not there, as an older or hand-made status would have it.
    pub fn of(status: &BenchmarkRunStatus) -> Self {
        let nodes = || status.placement.as_ref().map(|placement| placement.nodes.clone());
        let execution = status.execution.clone().unwrap_or_default();
        let ExecutionStatus {
            attempts,
            omitted_attempts,
            disruptions,
            pending_since,
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
            pending_since: time(pending_since),
            active_since: time(active_since),
            active_seconds,
            finished_at: time(finished_at),
            nodes: nodes().unwrap_or_default(),
            suspended,
        }
    }

    /// As it stands in the status, but for the nodes, which stand in its `placement`.
    pub fn execution(&self) -> ExecutionStatus {
        let text = |time: Option<Timestamp>| time.map(|time| time.to_string());
        ExecutionStatus {
            attempts: self.attempts.clone(),
            omitted_attempts: self.omitted_attempts,
            disruptions: self.disruptions,
            pending_since: text(self.pending_since),
            active_since: text(self.active_since),
            active_seconds: self.active_seconds,
            finished_at: text(self.finished_at),
            suspended: self.suspended,
        }
    }

    /// The attempt that is going on.
    pub fn current(&self) -> Option<&AttemptStatus> {
        self.attempts.last().filter(|attempt| is_open(attempt))
    }

    /// The same, to be changed.
    pub fn current_mut(&mut self) -> Option<&mut AttemptStatus> {
        self.attempts.last_mut().filter(|attempt| is_open(attempt))
    }

    /// Number of the last attempt at `leg`; 0 where none is remembered.
    pub fn last_attempt(&self, leg: u32) -> u32 {
        let of_leg = self.attempts.iter().filter(|attempt| attempt.leg == leg);
        of_leg.map(|attempt| attempt.attempt).max().unwrap_or(0)
    }

    /// Remembers an attempt, and of the older ones only that they were.
    pub fn begin(&mut self, attempt: AttemptStatus) {
        self.attempts.push(attempt);
        while self.attempts.len() > MAX_ATTEMPTS {
            self.attempts.remove(0);
            self.omitted_attempts = self.omitted_attempts.saturating_add(1);
        }
    }
}

/// An attempt whose Job was created, and of which nothing else is known.
pub fn starting(attempt: AttemptId, job_uid: &str) -> AttemptStatus {
    AttemptStatus {
        leg: attempt.leg,
        attempt: attempt.attempt,
        state: AttemptState::Starting,
        job_uid: job_uid.to_owned(),
        coordinator_pod_uid: None,
        image_digest: None,
        started_at: None,
        finished_at: None,
        reason: None,
        message: None,
    }
}

/// Whether an attempt is going on.
fn is_open(attempt: &AttemptStatus) -> bool {
    matches!(attempt.state, AttemptState::Starting | AttemptState::Running)
}

/// Which leg and attempt.
pub fn id(attempt: &AttemptStatus) -> AttemptId {
    AttemptId {
        leg: attempt.leg,
        attempt: attempt.attempt,
    }
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
            ..starting(id, &format!("job-{number}"))
        }
    }

    #[test]
    fn what_is_remembered_comes_back_through_a_status() {
        let second = |second| Timestamp::from_second(second).ok();
        let mut kept = Kept {
            disruptions: 2,
            pending_since: second(1000),
            active_since: second(2000),
            active_seconds: 77,
            finished_at: second(3000),
            nodes: vec!["a".to_owned(), "b".to_owned()],
            suspended: true,
            ..Kept::default()
        };
        kept.begin(attempt(1));
        let status = BenchmarkRunStatus {
            execution: Some(kept.execution()),
            placement: Some(PlacementStatus {
                nodes: kept.nodes.clone(),
            }),
            ..BenchmarkRunStatus::default()
        };
        let json = serde_json::to_string(&status).unwrap();
        assert_eq!(Kept::of(&serde_json::from_str(&json).unwrap()), kept);
    }

    #[test]
    fn the_newest_attempts_are_kept_and_the_others_counted() {
        let mut kept = Kept::default();
        (1..=20).for_each(|number| kept.begin(attempt(number)));
        assert_eq!((kept.attempts.len(), kept.omitted_attempts), (16, 4));
        assert_eq!((kept.last_attempt(2), kept.last_attempt(3)), (20, 0));
    }
}
