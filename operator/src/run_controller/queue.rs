//! The controller's work queue. At most one reconciliation of a run is in progress at a time, and a run that is
//! enqueued during its reconciliation is reconciled again. Uses timers. Performs no I/O.

mod schedule;

use std::future::{Future, pending};
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};
use tracing::error;

use self::schedule::Schedule;
use super::store::RunKey;
use crate::metrics::operator::Metrics;
use crate::shutdown::Shutdown;

/// Condition for the next reconciliation of a run. A change to the run also triggers a reconciliation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Requeue {
    /// The run is reconciled only after a change.
    AwaitChange,
    /// The run is reconciled when no run of normal priority is queued, or after [`schedule::MAX_LOW_PRIORITY_WAIT`]. A
    /// change restores normal priority.
    LowPriority,
    /// The run is reconciled after this delay.
    After(Duration),
    /// The run is reconciled after a delay that grows with each consecutive failure.
    Backoff,
}

/// Handle to the work queue, which all clones share. The queue holds at most one entry for each run.
#[derive(Clone)]
pub(super) struct Queue {
    shared: Arc<SharedState>,
}

struct SharedState {
    schedule: Mutex<Schedule>,
    /// Notified when a run is added.
    added: Notify,
    concurrency: usize,
    metrics: Metrics,
}

impl Queue {
    /// Creates a queue with `concurrency` slots.
    pub(super) fn new(concurrency: usize, metrics: Metrics) -> Self {
        Self {
            shared: Arc::new(SharedState {
                schedule: Mutex::new(Schedule::new(concurrency)),
                added: Notify::new(),
                concurrency,
                metrics,
            }),
        }
    }

    /// Enqueues `run` with normal priority, after the runs that are already enqueued.
    pub(super) fn add(&self, run: RunKey) {
        if self.schedule().add(run, Instant::now()) {
            self.shared.added.notify_one();
        }
    }

    fn schedule(&self) -> MutexGuard<'_, Schedule> {
        self.shared
            .schedule
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Reconciles enqueued runs until `shutdown`, then waits for the reconciliations in progress. A reconciliation that
    /// panics is treated as failed and affects no other run.
    pub(super) async fn process<F>(&self, mut shutdown: Shutdown, reconcile: impl Fn(RunKey) -> F)
    where
        F: Future<Output = Requeue> + Send + 'static,
    {
        let mut tasks = JoinSet::new();
        let mut shutdown = pin!(shutdown.requested());
        loop {
            while tasks.len() < self.shared.concurrency {
                let Some(run) = self.schedule().start_next(Instant::now()) else {
                    break;
                };
                tasks.spawn(catch_panic(run.clone(), reconcile(run)));
            }
            let next_due = self.report_and_next_due();
            tokio::select! {
                biased;
                () = &mut shutdown => break,
                Some(finished) = tasks.join_next() => {
                    // A task cannot fail: `catch_panic` catches panics, and tasks are never aborted.
                    if let Ok((run, requeue)) = finished {
                        self.schedule().finish(run, requeue, Instant::now());
                    }
                }
                () = sleep_until_or_forever(next_due) => self.schedule().enqueue_due(Instant::now()),
                () = self.shared.added.notified() => {}
            }
        }
        while tasks.join_next().await.is_some() {}
    }

    /// Updates the metrics. Returns the time at which the next delayed run is due.
    fn report_and_next_due(&self) -> Option<Instant> {
        let schedule = self.schedule();
        self.shared.metrics.set_queue_depth(schedule.queued_count());
        self.shared.metrics.set_backing_off(schedule.failing_count());
        schedule.next_due()
    }
}

/// Runs one reconciliation of `run`. A panic is treated as a failure.
async fn catch_panic(run: RunKey, reconciliation: impl Future<Output = Requeue>) -> (RunKey, Requeue) {
    let result = AssertUnwindSafe(reconciliation).catch_unwind().await;
    let requeue = result.unwrap_or_else(|_| {
        error!(%run, "reconciliation panicked and will be retried");
        Requeue::Backoff
    });
    (run, requeue)
}

/// Sleeps until `at`, or forever if `at` is `None`.
pub(super) async fn sleep_until_or_forever(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at).await,
        None => pending().await,
    }
}

#[cfg(test)]
mod tests;
