//! Which run is looked at next: each at most once at a time, at most so many at once, again when asked to. Keeps time;
//! no I/O.

mod behind;
mod delays;
mod runs;

use std::collections::HashSet;
use std::future::{Future, pending};
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::StreamExt;
use futures::channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};
use tracing::error;

use self::runs::Runs;
use super::store::RunKey;
use crate::manager::Shutdown;
use crate::metrics::operator::Metrics;

/// How long nothing was done before the process rests: connections that a burst took are closed by then.
const REST: Duration = Duration::from_secs(20);

/// What a look at a run asks for next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Again {
    /// Nothing, until something changes.
    OnChange,
    /// Another look when no other run waits for one, or when something changes; after [`behind::PATIENCE`] beside others.
    AfterOthers,
    /// Another look after this long, or earlier when something changes.
    After(Duration),
    /// It failed: another look after a delay that grows.
    Backoff,
}

/// Asks for looks at runs, in the order of the requests. Requests for a run that waits already are one, so what is held
/// is bounded by the runs there are.
#[derive(Clone)]
pub(super) struct Queue {
    requests: UnboundedSender<RunKey>,
    waiting: Arc<Mutex<HashSet<RunKey>>>,
    metrics: Metrics,
}

impl Queue {
    /// A queue, and the end that [`work`] takes requests from.
    pub(super) fn new(metrics: Metrics) -> (Self, UnboundedReceiver<RunKey>) {
        let (requests, receiver) = unbounded();
        let queue = Self {
            requests,
            waiting: Arc::default(),
            metrics,
        };
        (queue, receiver)
    }

    /// A look at `run` as soon as possible.
    pub(super) fn add(&self, run: RunKey) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.insert(run.clone()) {
            drop(waiting);
            self.send(run);
        }
    }

    fn send(&self, run: RunKey) {
        // The worker has ended: so will the process.
        let _ = self.requests.unbounded_send(run);
    }

    fn taken(&self, run: &RunKey) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.remove(run);
    }

    fn is_waiting(&self, run: &RunKey) -> bool {
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.contains(run)
    }

    fn len(&self) -> usize {
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.len()
    }
}

/// Looks at runs until `shutdown`, then waits for the looks that have begun. One that panics counts as failed, and
/// harms no other. Calls `rest` when it has looked at none for a while, once.
pub(super) async fn work<F>(
    queue: &Queue,
    mut requests: UnboundedReceiver<RunKey>,
    concurrency: usize,
    mut shutdown: Shutdown,
    look: impl Fn(RunKey) -> F,
    rest: impl Fn(),
) where
    F: Future<Output = Again> + Send + 'static,
{
    let mut looks = JoinSet::new();
    let mut runs = Runs::new(concurrency);
    let mut told = pin!(shutdown.requested());
    let mut quiet = pin!(sleep(REST));
    let mut rested = false;
    loop {
        queue.metrics.queue_depth(runs.depth(queue));
        queue.metrics.backing_off(runs.failing());
        let full = looks.len() >= concurrency;
        let behind_is_due = runs.behind_is_due(queue);
        let run = tokio::select! {
            biased;
            () = &mut told => break,
            Some(ended) = looks.join_next_with_id() => {
                let (id, again) = match ended {
                    Ok((id, again)) => (id, again),
                    Err(error) => {
                        error!(%error, "a look at a run ended by itself");
                        (error.id(), Again::Backoff)
                    }
                };
                runs.ended(queue, id, again);
                quiet.as_mut().reset(Instant::now() + REST);
                rested = false;
                None
            }
            run = runs.delays.next() => {
                queue.add(run);
                None
            }
            () = due(behind_is_due), if !full => runs.next_behind(),
            Some(run) = requests.next(), if !full => runs.asked_for(queue, run),
            () = &mut quiet, if !rested && looks.is_empty() => {
                rest();
                rested = true;
                None
            }
        };
        if let Some(run) = run {
            let id = looks.spawn(look(run.clone())).id();
            runs.begun(id, run);
        }
    }
    while looks.join_next().await.is_some() {}
}

/// Waits until then; for ever where there is no such time.
async fn due(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at).await,
        None => pending().await,
    }
}

#[cfg(test)]
mod tests;
