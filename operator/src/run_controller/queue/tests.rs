//! Looks are made up; time is, too.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::runs::{FIRST_DELAY, LONGEST_DELAY};
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

/// Looks of 10 ms, two at a time, at `a`, which asks for another after others, and at more than can be looked at until
/// `until`; `a` changes at `change`. Gives the times at which `a` was looked at.
async fn looks_at_a(until: Duration, change: Option<Duration>) -> Vec<Duration> {
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
            sleep(Duration::from_millis(4)).await;
            // The first is of its own doing, while it is looked at.
            if number == 1 || change.is_some_and(|at| began.elapsed() == at) {
                queue.add(run("a"));
            }
        }
        sleep(Duration::from_secs(60)).await;
    };
    tokio::select! {
        () = working => panic!("it works until it is told to stop"),
        () = watched => {}
    }
    times.into_inner().unwrap()
}

/// The second of two looks.
fn second(times: &[Duration]) -> Duration {
    assert_eq!(times.len(), 2, "{times:?}");
    times[1]
}

#[tokio::test(start_paused = true)]
async fn who_lets_others_go_first_waits_for_all_of_them() {
    let until = Duration::from_secs(1);
    let second = second(&looks_at_a(until, None).await);
    assert!(second > until && second < until * 2, "{second:?}");
}

#[tokio::test(start_paused = true)]
async fn who_lets_others_go_first_does_not_wait_for_ever() {
    let second = second(&looks_at_a(behind::PATIENCE * 2, None).await);
    let late = second - behind::PATIENCE;
    assert!(late < Duration::from_millis(100), "{second:?}");
}

#[tokio::test(start_paused = true)]
async fn a_change_takes_its_place_among_others() {
    let change = Duration::from_millis(400);
    let second = second(&looks_at_a(Duration::from_secs(5), Some(change)).await);
    assert!(second > change && second < change * 2, "{second:?}");
}

#[tokio::test(start_paused = true)]
async fn what_changes_during_a_look_is_looked_at_and_a_look_that_panics_again() {
    let (queue, requests) = Queue::new(Metrics::new().unwrap());
    let looks = AtomicUsize::new(0);
    let look = |_| {
        let number = looks.fetch_add(1, Ordering::Relaxed);
        async move {
            sleep(Duration::from_millis(10)).await;
            assert_ne!(number, 1, "made up");
            Again::OnChange
        }
    };
    let working = work(&queue, requests, 2, Shutdown::listen().unwrap(), look, || {});
    let watched = async {
        queue.add(run("a"));
        sleep(Duration::from_millis(5)).await;
        queue.add(run("a"));
        queue.add(run("a"));
        sleep(Duration::from_millis(200)).await;
        assert_eq!(looks.load(Ordering::Relaxed), 2, "after a delay");
        sleep(FIRST_DELAY).await;
        assert_eq!(looks.load(Ordering::Relaxed), 3);
        sleep(LONGEST_DELAY).await;
        assert_eq!(looks.load(Ordering::Relaxed), 3);
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
