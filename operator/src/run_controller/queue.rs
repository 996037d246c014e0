//! The work queue of the controller: every run is reconciled at most once at a time, and again whenever it is enqueued
//! meanwhile. Uses timers; no other I/O.

mod schedule;

use std::future::{Future, pending};
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};
use tracing::error;

use self::schedule::Schedule;
use super::store::RunKey;
use crate::manager::Shutdown;
use crate::metrics::operator::Metrics;

/// Time without a reconciliation after which the queue counts as idle: connections of a burst are closed by then.
const IDLE_AFTER: Duration = Duration::from_secs(20);

/// When a run is to be reconciled again, unless it changes before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Requeue {
    /// Not before it changes.
    AwaitChange,
    /// When no run of normal priority is queued, or after [`schedule::MAX_LOW_PRIORITY_WAIT`]. A change restores normal
    /// priority.
    LowPriority,
    /// After this delay.
    After(Duration),
    /// After a delay that grows with each consecutive failure.
    Backoff,
}

/// Handle of the work queue; clones share it. It holds at most one entry for each run.
#[derive(Clone)]
pub(super) struct Queue {
    shared: Arc<Shared>,
}

struct Shared {
    schedule: Mutex<Schedule>,
    /// Notified when a run was added.
    added: Notify,
    concurrency: usize,
    metrics: Metrics,
}

impl Queue {
    /// A queue with `concurrency` slots.
    pub(super) fn new(concurrency: usize, metrics: Metrics) -> Self {
        Self {
            shared: Arc::new(Shared {
                schedule: Mutex::new(Schedule::new(concurrency)),
                added: Notify::new(),
                concurrency,
                metrics,
            }),
        }
    }

    /// Enqueues `run` with normal priority, after the runs that are enqueued already.
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
    /// panics counts as failed and affects no other run. Calls `on_idle` once after each period of activity.
    pub(super) async fn process<F>(
        &self,
        mut shutdown: Shutdown,
        reconcile: impl Fn(RunKey) -> F,
        on_idle: impl Fn(),
    ) where
        F: Future<Output = Requeue> + Send + 'static,
    {
        let mut tasks = JoinSet::new();
        let mut shutdown = pin!(shutdown.requested());
        let mut idle_timer = pin!(sleep(IDLE_AFTER));
        let mut idle = false;
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
                    if let Ok((run, requeue)) = finished {
                        self.schedule().finish(run, requeue, Instant::now());
                    }
                    idle_timer.as_mut().reset(Instant::now() + IDLE_AFTER);
                    idle = false;
                }
                () = sleep_until_some(next_due) => self.schedule().enqueue_due(Instant::now()),
                () = self.shared.added.notified() => {}
                () = &mut idle_timer, if !idle && tasks.is_empty() => {
                    on_idle();
                    idle = true;
                }
            }
        }
        while tasks.join_next().await.is_some() {}
    }

    /// Updates the metrics. Returns when the next delayed run is due.
    fn report_and_next_due(&self) -> Option<Instant> {
        let schedule = self.schedule();
        self.shared.metrics.queue_depth(schedule.queued());
        self.shared.metrics.backing_off(schedule.failing());
        schedule.next_due()
    }
}

/// Runs one reconciliation of `run`. A panic counts as a failure.
async fn catch_panic(run: RunKey, reconciliation: impl Future<Output = Requeue>) -> (RunKey, Requeue) {
    let result = AssertUnwindSafe(reconciliation).catch_unwind().await;
    let requeue = result.unwrap_or_else(|_| {
        error!(%run, "reconciliation panicked and will be retried");
        Requeue::Backoff
    });
    (run, requeue)
}

/// Sleeps until `at`, forever if there is no such instant.
async fn sleep_until_some(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at).await,
        None => pending().await,
    }
}

#[cfg(test)]
mod tests;
