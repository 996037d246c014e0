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
    pub attempts_left_out: u32,
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
            attempts_left_out,
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
            attempts_left_out,
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
            attempts_left_out: self.attempts_left_out,
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
            self.attempts_left_out = self.attempts_left_out.saturating_add(1);
        }
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
