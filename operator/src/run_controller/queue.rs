//! Which run is looked at next: each at most once at a time, at most so many at once, again when asked to. Keeps time;
//! no I/O.

use std::collections::{HashMap, HashSet};
use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::StreamExt;
use futures::channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};
use kube::runtime::scheduler::{ScheduleRequest, scheduler};
use tokio::task::{Id, JoinSet};
use tokio::time::{Instant, sleep};
use tracing::error;

use super::store::RunKey;
use crate::operator::{Metrics, Shutdown};

/// First delay after an error; it doubles with each that follows.
const FIRST_DELAY: Duration = Duration::from_millis(500);
/// Longest delay after errors.
const LONGEST_DELAY: Duration = Duration::from_secs(60);

/// How long nothing was done before the process rests: connections that a burst took are closed by then.
const REST: Duration = Duration::from_secs(20);

/// What a look at a run asks for next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Again {
    /// Nothing, until something changes.
    OnChange,
    /// Another look after this long, or earlier when something changes.
    After(Duration),
    /// It failed: another look after a delay that grows.
    Backoff,
}

/// Asks for looks at runs. Requests for a run that waits already are one, so what is held is bounded by the runs there
/// are.
#[derive(Clone)]
pub(super) struct Queue {
    requests: UnboundedSender<ScheduleRequest<RunKey>>,
    waiting: Arc<Mutex<HashSet<RunKey>>>,
    metrics: Metrics,
}

impl Queue {
    /// A queue, and the end that [`work`] takes requests from.
    pub(super) fn new(metrics: Metrics) -> (Self, UnboundedReceiver<ScheduleRequest<RunKey>>) {
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
            self.metrics.queue_depth(waiting.len());
            drop(waiting);
            self.request(run, Duration::ZERO);
        }
    }

    fn later(&self, run: RunKey, delay: Duration) {
        self.request(run, delay);
    }

    fn request(&self, message: RunKey, delay: Duration) {
        let run_at = Instant::now() + delay;
        // The worker has ended: so will the process.
        let _ = self.requests.unbounded_send(ScheduleRequest { message, run_at });
    }

    fn begun(&self, run: &RunKey) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.remove(run);
        self.metrics.queue_depth(waiting.len());
    }
}

/// Looks at runs until `shutdown`, then waits for the looks that have begun. One that panics counts as failed, and
/// harms no other. Calls `rest` when it has looked at none for a while, once.
pub(super) async fn work<F>(
    queue: &Queue,
    requests: UnboundedReceiver<ScheduleRequest<RunKey>>,
    concurrency: usize,
    mut shutdown: Shutdown,
    look: impl Fn(RunKey) -> F,
    rest: impl Fn(),
) where
    F: Future<Output = Again> + Send + 'static,
{
    let mut scheduled = pin!(scheduler(requests));
    let mut looks = JoinSet::new();
    let mut running: HashMap<Id, RunKey> = HashMap::new();
    let mut busy: HashSet<RunKey> = HashSet::new();
    let mut failures: HashMap<RunKey, u32> = HashMap::new();
    let mut told = pin!(shutdown.told());
    let mut quiet = pin!(sleep(REST));
    let mut rested = false;
    loop {
        let full = looks.len() >= concurrency;
        // What waits for a place is left where it is, in its order: the scheduler gives what it held back in none.
        let mut next = scheduled.as_mut().hold_unless(|run: &RunKey| !busy.contains(run));
        tokio::select! {
            () = &mut told => break,
            Some(run) = next.next(), if !full => {
                queue.begun(&run);
                let handle = looks.spawn(look(run.clone()));
                running.insert(handle.id(), run.clone());
                busy.insert(run);
            }
            Some(ended) = looks.join_next_with_id() => {
                let (id, again) = match ended {
                    Ok((id, again)) => (id, again),
                    Err(error) => {
                        error!(%error, "a look at a run ended by itself");
                        (error.id(), Again::Backoff)
                    }
                };
                let Some(run) = running.remove(&id) else { continue };
                busy.remove(&run);
                settle(queue, &mut failures, run, again);
                quiet.as_mut().reset(Instant::now() + REST);
                rested = false;
            }
            () = &mut quiet, if !rested && looks.is_empty() => {
                rest();
                rested = true;
            }
        }
    }
    while looks.join_next().await.is_some() {}
}

fn settle(queue: &Queue, failures: &mut HashMap<RunKey, u32>, run: RunKey, again: Again) {
    if again != Again::Backoff {
        failures.remove(&run);
    }
    match again {
        Again::OnChange => {}
        Again::After(delay) => queue.later(run, delay),
        Again::Backoff => {
            let count = failures.entry(run.clone()).or_insert(0);
            let delay = FIRST_DELAY
                .saturating_mul(1 << (*count).min(16))
                .min(LONGEST_DELAY);
            *count += 1;
            queue.later(run, delay);
        }
    }
    queue.metrics.backing_off(failures.len());
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn run(name: &str) -> RunKey {
        RunKey {
            namespace: "n".to_owned(),
            name: name.to_owned(),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn who_came_first_is_looked_at_first() {
        let (queue, requests) = Queue::new(Metrics::new().unwrap());
        let (sender, mut looked_at) = unbounded();
        let look = |run: RunKey| {
            sender.unbounded_send(run.name).unwrap();
            async {
                sleep(Duration::from_millis(10)).await;
                Again::OnChange
            }
        };
        let names: Vec<String> = (0..50).map(|number| format!("{number}")).collect();
        let working = work(&queue, requests, 2, Shutdown::listen().unwrap(), look, || {});
        let watched = async {
            for name in &names {
                queue.add(run(name));
                sleep(Duration::from_millis(2)).await;
            }
            let mut order = Vec::new();
            while order.len() < names.len() {
                order.extend(looked_at.next().await);
            }
            assert_eq!(order, names);
        };
        tokio::select! {
            () = working => panic!("it works until it is told to stop"),
            () = watched => {}
        }
    }

    #[tokio::test(start_paused = true)]
    async fn it_rests_once_after_something_was_done_and_not_before() {
        let (queue, requests) = Queue::new(Metrics::new().unwrap());
        let (looks, rests) = (AtomicUsize::new(0), Arc::new(AtomicUsize::new(0)));
        let look = |_| {
            looks.fetch_add(1, Ordering::Relaxed);
            async { Again::OnChange }
        };
        let count = Arc::clone(&rests);
        let rest = move || {
            count.fetch_add(1, Ordering::Relaxed);
        };
        let working = work(&queue, requests, 2, Shutdown::listen().unwrap(), look, rest);
        let rested = || rests.load(Ordering::Relaxed);
        let watched = async {
            sleep(REST * 3).await;
            assert_eq!(rested(), 1, "at rest from the beginning");
            queue.add(run("r"));
            sleep(REST / 2).await;
            assert_eq!((looks.load(Ordering::Relaxed), rested()), (1, 1));
            sleep(REST * 3).await;
            assert_eq!(rested(), 2);
        };
        tokio::select! {
            () = working => panic!("it works until it is told to stop"),
            () = watched => {}
        }
    }
}
