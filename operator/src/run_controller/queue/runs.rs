//! What is known of the runs that are looked at, or will be. Keeps time; no I/O.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use tokio::task::Id;
use tokio::time::Instant;

use super::behind::{Behind, PATIENCE};
use super::delays::Delays;
use super::{Again, Queue};
use crate::run_controller::store::RunKey;

/// First delay after an error; it doubles with each that follows.
pub(super) const FIRST_DELAY: Duration = Duration::from_millis(500);
/// Longest delay after errors.
pub(super) const LONGEST_DELAY: Duration = Duration::from_secs(60);

/// Part of the places that runs which let others go first may have beside these.
const SHARE: usize = 8;

#[derive(Default)]
pub(super) struct Runs {
    /// Looks that go on.
    looks: HashMap<Id, RunKey>,
    /// The runs they are at.
    busy: HashSet<RunKey>,
    /// Those of them for which another look was asked meanwhile.
    asked: HashSet<RunKey>,
    /// Runs that let others go first.
    behind: Behind,
    /// Those of them whose request is from before they stepped back: as a rule for what their look did itself.
    outdated: HashSet<RunKey>,
    /// Runs that let others go first, and are looked at now.
    last: HashSet<RunKey>,
    /// Looks at such runs that may go on beside others.
    beside: usize,
    /// Runs that are looked at later.
    pub(super) delays: Delays,
    /// Looks in a row that failed.
    failures: HashMap<RunKey, u32>,
}

impl Runs {
    pub(super) fn new(concurrency: usize) -> Self {
        Self {
            beside: (concurrency / SHARE).max(1),
            ..Self::default()
        }
    }

    /// Runs that wait for a look.
    pub(super) fn depth(&self, queue: &Queue) -> usize {
        queue.len() + self.behind.len()
    }

    pub(super) fn failing(&self) -> usize {
        self.failures.len()
    }

    /// When the first run that lets others go first is looked at: now, where none waits; beside others after a while; only
    /// so many beside others.
    pub(super) fn behind_is_due(&self, queue: &Queue) -> Option<Instant> {
        let since = self.behind.since()?;
        let waits = queue.len() > self.asked.len();
        let alone = !waits && self.busy.len() == self.last.len();
        if !alone && self.last.len() >= self.beside {
            return None;
        }
        Some(if waits { since + PATIENCE } else { since })
    }

    pub(super) fn next_behind(&mut self) -> Option<RunKey> {
        let run = self.behind.pop()?;
        self.outdated.remove(&run);
        self.last.insert(run.clone());
        Some(run)
    }

    /// `run`, where a look at it begins now that it was asked for.
    pub(super) fn asked_for(&mut self, queue: &Queue, run: RunKey) -> Option<RunKey> {
        if self.busy.contains(&run) {
            self.asked.insert(run);
            return None;
        }
        queue.taken(&run);
        if self.outdated.remove(&run) {
            return None;
        }
        self.behind.remove(&run);
        Some(run)
    }

    pub(super) fn begun(&mut self, look: Id, run: RunKey) {
        self.delays.remove(&run);
        self.busy.insert(run.clone());
        self.looks.insert(look, run);
    }

    pub(super) fn ended(&mut self, queue: &Queue, look: Id, again: Again) {
        let Some(run) = self.looks.remove(&look) else {
            return;
        };
        self.busy.remove(&run);
        self.last.remove(&run);
        if again != Again::Backoff {
            self.failures.remove(&run);
        }
        if self.asked.remove(&run) {
            queue.send(run.clone());
        }
        match again {
            Again::OnChange => {}
            Again::AfterOthers => {
                // The next look sees whatever was asked for until now.
                if queue.is_waiting(&run) {
                    self.outdated.insert(run.clone());
                }
                self.behind.push(run);
            }
            Again::After(delay) => self.delays.insert(run, delay),
            Again::Backoff => {
                let count = self.failures.entry(run.clone()).or_insert(0);
                let delay = FIRST_DELAY
                    .saturating_mul(1 << (*count).min(16))
                    .min(LONGEST_DELAY);
                *count += 1;
                self.delays.insert(run, delay);
            }
        }
    }
}
