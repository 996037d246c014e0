//! Tests for the queue with simulated reconciliations and a simulated clock.

use std::sync::atomic::{AtomicUsize, Ordering};

use futures::StreamExt;
use futures::channel::mpsc::unbounded;
use tokio::time::sleep;

use super::schedule::{FIRST_BACKOFF, MAX_BACKOFF, MAX_LOW_PRIORITY_WAIT};
use super::*;

fn run(name: &str) -> RunKey {
    RunKey {
        namespace: "n".to_owned(),
        name: name.to_owned(),
    }
}

fn queue(concurrency: usize) -> Queue {
    Queue::new(concurrency, Metrics::new().unwrap())
}

#[tokio::test(start_paused = true)]
async fn reconciles_runs_in_the_order_in_which_they_were_enqueued() {
    let queue = queue(2);
    let (sender, mut reconciled) = unbounded();
    let reconcile = |run: RunKey| {
        sender.unbounded_send(run.name).unwrap();
        async {
            sleep(Duration::from_millis(10)).await;
            Requeue::AwaitChange
        }
    };
    let names: Vec<String> = (0..50).map(|number| format!("{number}")).collect();
    let processing = queue.process(Shutdown::listen().unwrap(), reconcile);
    let scenario = async {
        for name in &names {
            queue.add(run(name));
            sleep(Duration::from_millis(2)).await;
        }
        let mut order = Vec::new();
        while order.len() < names.len() {
            order.extend(reconciled.next().await);
        }
        assert_eq!(order, names);
    };
    tokio::select! {
        () = processing => panic!("the queue stopped before shutdown"),
        () = scenario => {}
    }
}

/// Simulates two slots, reconciliations that take 10 ms, and a new run every 4 ms up to the time `until`. This load
/// exceeds the capacity of the two slots. The first reconciliation of `a` requests low priority. `a` is enqueued again
/// during this reconciliation and at `change`. Returns the start times of run `a`'s reconciliations.
async fn start_times_of_a(until: Duration, change: Option<Duration>) -> Vec<Duration> {
    let queue = queue(2);
    let start = Instant::now();
    let times: Mutex<Vec<Duration>> = Mutex::default();
    let reconcile = |key: RunKey| {
        let mut times = times.lock().unwrap();
        let requeue = match (key == run("a"), times.is_empty()) {
            (true, true) => Requeue::LowPriority,
            _ => Requeue::AwaitChange,
        };
        if key == run("a") {
            times.push(start.elapsed());
        }
        async move {
            sleep(Duration::from_millis(10)).await;
            requeue
        }
    };
    let processing = queue.process(Shutdown::listen().unwrap(), reconcile);
    let scenario = async {
        queue.add(run("a"));
        let mut number = 0;
        while start.elapsed() < until {
            number += 1;
            queue.add(run(&number.to_string()));
            sleep(Duration::from_millis(4)).await;
            // When `number` is 1, the first reconciliation of `a` is in progress.
            if number == 1 || change.is_some_and(|at| start.elapsed() == at) {
                queue.add(run("a"));
            }
        }
        sleep(Duration::from_secs(60)).await;
    };
    tokio::select! {
        () = processing => panic!("the queue stopped before shutdown"),
        () = scenario => {}
    }
    times.into_inner().unwrap()
}

/// Returns the second start time, and checks that there are exactly two.
fn second(times: &[Duration]) -> Duration {
    assert_eq!(times.len(), 2, "{times:?}");
    times[1]
}

#[tokio::test(start_paused = true)]
async fn low_priority_run_waits_for_runs_of_normal_priority() {
    let until = Duration::from_secs(1);
    let second = second(&start_times_of_a(until, None).await);
    assert!(second > until && second < until * 2, "{second:?}");
}

#[tokio::test(start_paused = true)]
async fn low_priority_run_is_not_starved() {
    let second = second(&start_times_of_a(MAX_LOW_PRIORITY_WAIT * 2, None).await);
    let late = second - MAX_LOW_PRIORITY_WAIT;
    assert!(late < Duration::from_millis(100), "{second:?}");
}

#[tokio::test(start_paused = true)]
async fn change_restores_normal_priority() {
    let change = Duration::from_millis(400);
    let second = second(&start_times_of_a(Duration::from_secs(5), Some(change)).await);
    assert!(second > change && second < change * 2, "{second:?}");
}

/// Returns the maximum number of concurrent reconciliations of 32 low-priority runs with 16 slots. If `busy` is true, a
/// run of normal priority is in progress concurrently.
async fn max_concurrent_low_priority_runs(busy: bool) -> usize {
    let queue = queue(16);
    let low = Arc::new(AtomicUsize::new(0));
    let max = Arc::new(AtomicUsize::new(0));
    let seen: Mutex<std::collections::HashSet<RunKey>> = Mutex::default();
    let reconcile = |key: RunKey| {
        let first = seen.lock().unwrap().insert(key.clone());
        let (low, max) = (Arc::clone(&low), Arc::clone(&max));
        async move {
            if key == run("normal") {
                sleep(Duration::from_secs(1)).await;
                return Requeue::AwaitChange;
            }
            if first {
                return Requeue::LowPriority;
            }
            max.fetch_max(low.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
            sleep(Duration::from_millis(10)).await;
            low.fetch_sub(1, Ordering::Relaxed);
            Requeue::AwaitChange
        }
    };
    let processing = queue.process(Shutdown::listen().unwrap(), reconcile);
    let scenario = async {
        if busy {
            queue.add(run("normal"));
        }
        for number in 0..32 {
            queue.add(run(&number.to_string()));
        }
        sleep(Duration::from_millis(500)).await;
    };
    tokio::select! {
        () = processing => panic!("the queue stopped before shutdown"),
        () = scenario => {}
    }
    max.load(Ordering::Relaxed)
}

#[tokio::test(start_paused = true)]
async fn low_priority_runs_use_all_slots_only_if_no_other_run_is_in_progress() {
    assert_eq!(max_concurrent_low_priority_runs(true).await, 2);
    assert_eq!(max_concurrent_low_priority_runs(false).await, 16);
}

#[tokio::test(start_paused = true)]
async fn reconciles_again_after_a_change_during_a_reconciliation_and_after_a_panic() {
    let queue = queue(2);
    let reconciliations = AtomicUsize::new(0);
    let reconcile = |_| {
        let number = reconciliations.fetch_add(1, Ordering::Relaxed);
        async move {
            sleep(Duration::from_millis(10)).await;
            assert_ne!(number, 1, "simulated panic");
            Requeue::AwaitChange
        }
    };
    let processing = queue.process(Shutdown::listen().unwrap(), reconcile);
    let scenario = async {
        queue.add(run("a"));
        sleep(Duration::from_millis(5)).await;
        queue.add(run("a"));
        queue.add(run("a"));
        sleep(Duration::from_millis(200)).await;
        assert_eq!(
            reconciliations.load(Ordering::Relaxed),
            2,
            "a failure is retried after a delay"
        );
        sleep(FIRST_BACKOFF).await;
        assert_eq!(reconciliations.load(Ordering::Relaxed), 3);
        sleep(MAX_BACKOFF).await;
        assert_eq!(reconciliations.load(Ordering::Relaxed), 3);
    };
    tokio::select! {
        () = processing => panic!("the queue stopped before shutdown"),
        () = scenario => {}
    }
}

#[tokio::test(start_paused = true)]
async fn delayed_run_is_reconciled_when_it_is_due_or_changes() {
    let queue = queue(2);
    let start = Instant::now();
    let times: Mutex<Vec<u64>> = Mutex::default();
    let reconcile = |_| {
        times.lock().unwrap().push(start.elapsed().as_secs());
        async { Requeue::After(Duration::from_secs(10)) }
    };
    let processing = queue.process(Shutdown::listen().unwrap(), reconcile);
    let scenario = async {
        queue.add(run("a"));
        sleep(Duration::from_millis(14_500)).await;
        queue.add(run("a"));
        sleep(Duration::from_secs(12)).await;
    };
    tokio::select! {
        () = processing => panic!("the queue stopped before shutdown"),
        () = scenario => {}
    }
    assert_eq!(times.into_inner().unwrap(), [0, 10, 14, 24]);
}
