//! The runs that let others go first, in the order they stepped back. Keeps time; no I/O.

use std::collections::{HashSet, VecDeque};
use std::time::Duration;

use tokio::time::Instant;

use crate::run_controller::store::RunKey;

/// Longest time that a run lets others go first.
pub(in crate::run_controller) const PATIENCE: Duration = Duration::from_secs(10);

/// Runs that wait until no other needs a look.
#[derive(Default)]
pub(super) struct Behind {
    order: VecDeque<(RunKey, Instant)>,
    runs: HashSet<RunKey>,
}

impl Behind {
    pub(super) fn push(&mut self, run: RunKey) {
        if self.runs.insert(run.clone()) {
            self.order.push_back((run, Instant::now()));
        }
    }

    /// Whether `run` will be looked at without being asked for.
    pub(super) fn contains(&self, run: &RunKey) -> bool {
        self.runs.contains(run)
    }

    /// When the first stepped back.
    pub(super) fn since(&self) -> Option<Instant> {
        self.order.front().map(|(_, since)| *since)
    }

    pub(super) fn pop(&mut self) -> Option<RunKey> {
        let (run, _) = self.order.pop_front()?;
        self.runs.remove(&run);
        Some(run)
    }
}
