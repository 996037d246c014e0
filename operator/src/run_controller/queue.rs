//! Which run is looked at next: each at most once at a time, at most so many at once, again when asked to. Keeps time;
//! no I/O.

mod behind;
mod delays;

use std::collections::{HashMap, HashSet};
use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::StreamExt;
use futures::channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};
use tokio::task::{Id, JoinSet};
use tokio::time::{Instant, sleep, sleep_until};
use tracing::error;

use self::behind::Behind;
use self::delays::Delays;
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
    /// Another look when no other run needs one, at the latest after [`behind::PATIENCE`]: whatever changes meanwhile.
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
            self.metrics.queue_depth(waiting.len());
            self.send(run);
        }
    }

    fn send(&self, run: RunKey) {
        // The worker has ended: so will the process.
        let _ = self.requests.unbounded_send(run);
    }

    fn begun(&self, run: &RunKey) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.remove(run);
        self.metrics.queue_depth(waiting.len());
    }

    fn is_empty(&self) -> bool {
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.is_empty()
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
    let mut running: HashMap<Id, RunKey> = HashMap::new();
    let mut runs = Runs::default();
    // Looks at runs that let others go first.
    let mut last: HashSet<Id> = HashSet::new();
    let mut told = pin!(shutdown.told());
    let mut quiet = pin!(sleep(REST));
    let mut rested = false;
    loop {
        let full = looks.len() >= concurrency;
        let others = !queue.is_empty() || looks.len() > last.len();
        let due = runs.behind.since().map(|since| match others {
            true => since + behind::PATIENCE,
            false => since,
        });
        let begun = tokio::select! {
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
                last.remove(&id);
                quiet.as_mut().reset(Instant::now() + REST);
                rested = false;
                let Some(run) = running.remove(&id) else { continue };
                runs.ended(queue, run, again);
                None
            }
            () = sleep_until(due.unwrap_or_else(Instant::now)), if !full && due.is_some() => {
                runs.behind.pop().map(|run| (run, true))
            }
            run = runs.delays.next() => {
                queue.add(run);
                None
            }
            Some(run) = requests.next(), if !full => runs.asked_for(queue, run).map(|run| (run, false)),
            () = &mut quiet, if !rested && looks.is_empty() => {
                rest();
                rested = true;
                None
            }
        };
        let Some((run, is_last)) = begun else { continue };
        runs.begins(&run);
        let id = looks.spawn(look(run.clone())).id();
        running.insert(id, run);
        if is_last {
            last.insert(id);
        }
    }
    while looks.join_next().await.is_some() {}
}

/// What is known of the runs that are looked at, or will be.
#[derive(Default)]
struct Runs {
    /// Those that are looked at now.
    busy: HashSet<RunKey>,
    /// Those of them for which another look was asked meanwhile.
    asked: HashSet<RunKey>,
    /// Those that let others go first.
    behind: Behind,
    /// Those that are looked at later.
    delays: Delays,
    /// Looks in a row that failed.
    failures: HashMap<RunKey, u32>,
}

impl Runs {
    /// `run`, where a look at it begins now that it was asked for.
    fn asked_for(&mut self, queue: &Queue, run: RunKey) -> Option<RunKey> {
        if self.busy.contains(&run) {
            self.asked.insert(run);
            return None;
        }
        queue.begun(&run);
        // It will be looked at, and then for this change, too.
        (!self.behind.contains(&run)).then_some(run)
    }

    fn begins(&mut self, run: &RunKey) {
        self.delays.remove(run);
        self.busy.insert(run.clone());
    }

    fn ended(&mut self, queue: &Queue, run: RunKey, again: Again) {
        self.busy.remove(&run);
        if self.asked.remove(&run) {
            queue.send(run.clone());
        }
        if again != Again::Backoff {
            self.failures.remove(&run);
        }
        match again {
            Again::OnChange => {}
            Again::AfterOthers => self.behind.push(run),
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
        queue.metrics.backing_off(self.failures.len());
    }
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

    /// Looks of 10 ms, two at a time, at `a`, which asks for another after others, and at what comes until `until`.
    /// Gives the times at which `a` was looked at.
    async fn looks_at_a(until: Duration) -> Vec<Duration> {
        let (queue, requests) = Queue::new(Metrics::new().unwrap());
        let began = Instant::now();
        let times: Mutex<Vec<Duration>> = Mutex::default();
        let look = |key: RunKey| {
            let mut times = times.lock().unwrap();
            let again = match (key == run("a"), times.is_empty()) {
                (true, true) => Again::AfterOthers,
                _ => Again::OnChange,
            };
            if key == run("a") {
                times.push(began.elapsed());
            }
            async move {
                sleep(Duration::from_millis(10)).await;
                again
            }
        };
        let working = work(&queue, requests, 2, Shutdown::listen().unwrap(), look, || {});
        let watched = async {
            queue.add(run("a"));
            let mut number = 0;
            while began.elapsed() < until {
                number += 1;
                queue.add(run(&number.to_string()));
                // What changes does not bring it forward.
                queue.add(run("a"));
                sleep(Duration::from_millis(5)).await;
            }
            sleep(Duration::from_secs(60)).await;
        };
        tokio::select! {
            () = working => panic!("it works until it is told to stop"),
            () = watched => {}
        }
        times.into_inner().unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn who_lets_others_go_first_waits_for_all_of_them_but_not_for_ever() {
        let [_, second] = looks_at_a(Duration::from_secs(1)).await[..] else {
            panic!("looked at twice")
        };
        assert!(
            second >= Duration::from_secs(1) && second < Duration::from_millis(1100),
            "{second:?}"
        );
        let times = looks_at_a(Duration::from_secs(20)).await;
        let second = times[1];
        let patience = behind::PATIENCE;
        assert!(
            second >= patience && second < patience + Duration::from_millis(100),
            "{second:?}"
        );
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
