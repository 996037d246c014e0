//! State of the runs in the work queue, and the order in which they are reconciled. The current time is an argument.
//! Performs no I/O.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use tokio::time::Instant;

use super::Requeue;
use crate::run_controller::store::RunKey;

/// Delay after the first failure. It doubles with each consecutive failure.
pub(super) const FIRST_BACKOFF: Duration = Duration::from_millis(500);
/// Maximum delay after failures.
pub(super) const MAX_BACKOFF: Duration = Duration::from_secs(60);
/// Time after which a low-priority run competes with runs of normal priority for a slot.
pub(super) const MAX_LOW_PRIORITY_WAIT: Duration = Duration::from_secs(10);
/// Number of slots for each slot that low-priority runs may occupy while a run of normal priority is queued or in
/// progress.
const SLOTS_PER_LOW_PRIORITY_RUN: usize = 8;
/// Maximum delay for any run. Longer delays could exceed the range of [`Instant`].
const MAX_DELAY: Duration = Duration::from_secs(180 * 24 * 3600);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Priority {
    Normal,
    Low,
}

/// State of one run. A run without an entry is idle, which means that it is waiting for a change.
#[derive(Debug)]
enum RunState {
    /// The run is waiting for a slot.
    Queued {
        priority: Priority,
        /// Position among all runs that have been queued.
        position: u64,
        since: Instant,
    },
    /// The run occupies a slot.
    Reconciling {
        priority: Priority,
        /// Whether the run was enqueued during the reconciliation.
        enqueued_again: bool,
    },
    /// The run is enqueued at `until`, or when it changes.
    Delayed { until: Instant, position: u64 },
}

#[derive(Debug)]
struct Entry {
    state: RunState,
    /// Number of consecutive failures.
    failures: u32,
}

/// The runs in the work queue. [`Self::runs`] holds the state; the other collections order its keys.
#[derive(Debug)]
pub(super) struct Schedule {
    runs: HashMap<RunKey, Entry>,
    queued: BTreeMap<(Priority, u64), RunKey>,
    delayed: BTreeMap<(Instant, u64), RunKey>,
    next_position: u64,
    /// Number of occupied slots.
    in_progress: usize,
    /// Number of slots occupied by low-priority runs.
    low_in_progress: usize,
    /// Maximum of `low_in_progress` while a run of normal priority is queued or in progress.
    low_limit: usize,
    /// Number of runs whose last reconciliation failed.
    failing: usize,
}

impl Schedule {
    pub(super) fn new(concurrency: usize) -> Self {
        Self {
            runs: HashMap::new(),
            queued: BTreeMap::new(),
            delayed: BTreeMap::new(),
            next_position: 0,
            in_progress: 0,
            low_in_progress: 0,
            low_limit: (concurrency / SLOTS_PER_LOW_PRIORITY_RUN).max(1),
            failing: 0,
        }
    }

    /// Returns the number of runs that are waiting for a slot.
    pub(super) fn queued_count(&self) -> usize {
        self.queued.len()
    }

    /// Number of runs whose last reconciliation failed.
    pub(super) fn failing_count(&self) -> usize {
        self.failing
    }

    /// Returns the time at which the next delayed run is due.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.delayed.first_key_value().map(|((until, _), _)| *until)
    }

    /// Enqueues `run` with normal priority. Returns `false` if it is already queued with normal priority or being
    /// reconciled.
    pub(super) fn add(&mut self, run: RunKey, now: Instant) -> bool {
        match self.runs.get_mut(&run).map(|entry| &mut entry.state) {
            Some(RunState::Reconciling { enqueued_again, .. }) => {
                *enqueued_again = true;
                return false;
            }
            Some(RunState::Queued {
                priority: Priority::Normal,
                ..
            }) => return false,
            Some(RunState::Queued {
                priority, position, ..
            }) => {
                self.queued.remove(&(*priority, *position));
            }
            Some(RunState::Delayed { until, position }) => {
                self.delayed.remove(&(*until, *position));
            }
            None => {}
        }
        self.enqueue(run, Priority::Normal, now);
        true
    }

    /// Enqueues the delayed runs that are due.
    pub(super) fn enqueue_due(&mut self, now: Instant) {
        while let Some(first) = self.delayed.first_entry() {
            if first.key().0 > now {
                return;
            }
            let run = first.remove();
            self.enqueue(run, Priority::Normal, now);
        }
    }

    /// Assigns a free slot to the next run, and returns that run.
    pub(super) fn start_next(&mut self, now: Instant) -> Option<RunKey> {
        let (priority, position) = self.next(now)?;
        let run = self.queued.remove(&(priority, position))?;
        self.in_progress += 1;
        self.low_in_progress += usize::from(priority == Priority::Low);
        let state = RunState::Reconciling {
            priority,
            enqueued_again: false,
        };
        self.set_state(run.clone(), state);
        Some(run)
    }

    /// Frees the slot of `run`, whose reconciliation returned `requeue`.
    pub(super) fn finish(&mut self, run: RunKey, requeue: Requeue, now: Instant) {
        let Some(Entry {
            state:
                RunState::Reconciling {
                    priority,
                    enqueued_again,
                },
            failures,
        }) = self.runs.get_mut(&run)
        else {
            return;
        };
        let (priority, enqueued_again) = (*priority, *enqueued_again);
        let failed_before = *failures > 0;
        *failures = match requeue {
            Requeue::Backoff => failures.saturating_add(1),
            Requeue::AwaitChange | Requeue::LowPriority | Requeue::After(_) => 0,
        };
        let failures = *failures;
        self.failing = self.failing - usize::from(failed_before) + usize::from(failures > 0);
        self.in_progress -= 1;
        self.low_in_progress -= usize::from(priority == Priority::Low);
        match requeue {
            // `enqueued_again` is ignored: the next reconciliation sees every change up to now, and most of these
            // changes result from writes by the finished reconciliation.
            Requeue::LowPriority => self.enqueue(run, Priority::Low, now),
            _ if enqueued_again => self.enqueue(run, Priority::Normal, now),
            Requeue::AwaitChange => {
                self.runs.remove(&run);
            }
            Requeue::After(delay) => self.delay(run, delay, now),
            Requeue::Backoff => self.delay(run, backoff(failures), now),
        }
    }

    /// Returns the priority and position of the run that gets the next free slot.
    fn next(&self, now: Instant) -> Option<(Priority, u64)> {
        let first = |priority| self.queued.range((priority, 0)..=(priority, u64::MAX)).next();
        let normal = first(Priority::Normal);
        let low = first(Priority::Low).filter(|(_, run)| {
            let only_low = normal.is_none() && self.in_progress == self.low_in_progress;
            let has_slot = only_low || self.low_in_progress < self.low_limit;
            has_slot && (normal.is_none() || self.has_waited_long(run, now))
        });
        low.or(normal).map(|(key, _)| *key)
    }

    fn has_waited_long(&self, run: &RunKey, now: Instant) -> bool {
        match self.runs.get(run).map(|entry| &entry.state) {
            Some(RunState::Queued { since, .. }) => now.duration_since(*since) >= MAX_LOW_PRIORITY_WAIT,
            _ => false,
        }
    }

    fn enqueue(&mut self, run: RunKey, priority: Priority, since: Instant) {
        let position = self.take_position();
        self.queued.insert((priority, position), run.clone());
        let state = RunState::Queued {
            priority,
            position,
            since,
        };
        self.set_state(run, state);
    }

    fn delay(&mut self, run: RunKey, delay: Duration, now: Instant) {
        let until = now + delay.min(MAX_DELAY);
        let position = self.take_position();
        self.delayed.insert((until, position), run.clone());
        self.set_state(run, RunState::Delayed { until, position });
    }

    fn take_position(&mut self) -> u64 {
        let position = self.next_position;
        self.next_position += 1;
        position
    }

    fn set_state(&mut self, run: RunKey, new: RunState) {
        match self.runs.get_mut(&run) {
            Some(entry) => entry.state = new,
            None => {
                self.runs.insert(
                    run,
                    Entry {
                        state: new,
                        failures: 0,
                    },
                );
            }
        }
    }
}

/// Returns the delay after `failures` consecutive failures.
fn backoff(failures: u32) -> Duration {
    let doublings = failures.saturating_sub(1).min(16);
    FIRST_BACKOFF.saturating_mul(1 << doublings).min(MAX_BACKOFF)
}
