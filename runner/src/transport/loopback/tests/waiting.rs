//! Sleeping until something comes, and never for longer than was said.

use std::time::Instant;

use super::*;

const LONG: Duration = Duration::from_secs(20);

fn waiting_pair() -> (Side, Side) {
    let config = config(1, 16, true);
    let mut one = Side::open(&config, MemoryKind::Heap, 4096);
    let mut two = Side::open(&config, MemoryKind::Heap, 4096);
    connect(&mut one, &mut two);
    (one, two)
}

/// Waits and polls until a completion comes; fails when a wait sleeps through its time.
fn next(side: &mut Side) -> CompletionKind {
    loop {
        if let Some(kind) = side.poll().pop() {
            return kind;
        }
        let begun = Instant::now();
        side.transport.wait(LONG).unwrap();
        assert!(begun.elapsed() < LONG, "not woken");
    }
}

#[test]
fn a_sleeper_is_woken_by_what_comes_in_and_by_what_is_done() {
    let (mut one, mut two) = waiting_pair();
    let rounds = 200;
    let target = std::thread::spawn(move || {
        for _ in 0..rounds {
            two.receive(0, 0, 4096, 0);
            assert!(matches!(next(&mut two), CompletionKind::Received { .. }));
        }
        two
    });
    for _ in 0..rounds {
        one.post(|post| post.length = 3000).unwrap();
        assert_eq!(next(&mut one), CompletionKind::Posted { token: 0 });
    }
    drop(target.join().unwrap());
}

#[test]
fn a_wait_ends_with_its_time() {
    let (mut one, _two) = waiting_pair();
    let begun = Instant::now();
    one.transport.wait(Duration::from_millis(20)).unwrap();
    let slept = begun.elapsed();
    assert!(slept >= Duration::from_millis(15), "{slept:?}");
}

#[test]
fn a_wait_is_short_while_a_peer_is_not_connected_back() {
    let config = config(1, 16, true);
    let mut one = Side::open(&config, MemoryKind::Heap, 4096);
    let two = Side::open(&config, MemoryKind::Heap, 4096);
    one.transport.connect(two.transport.addresses()).unwrap();
    let begun = Instant::now();
    one.transport.wait(LONG).unwrap();
    assert!(begun.elapsed() < LONG / 2);
}

#[test]
fn what_is_there_already_is_not_slept_over() {
    let (mut one, mut two) = waiting_pair();
    two.receive(0, 0, 8, 0);
    one.post(|post| post.length = 8).unwrap();
    let begun = Instant::now();
    two.transport.wait(LONG).unwrap();
    assert!(begun.elapsed() < LONG / 2);
    assert_eq!(two.poll().len(), 1);
}

#[test]
fn a_lost_peer_ends_the_waiting() {
    let (mut one, two) = waiting_pair();
    one.post(|post| post.length = 8).unwrap();
    drop(two);
    for _ in 0..3 {
        one.transport.wait(Duration::from_millis(1)).unwrap();
        let mut room = [EMPTY; 8];
        if let Err(error) = one.transport.poll(&mut room) {
            assert_eq!(error.reason, FailureReason::PeerLost);
            return;
        }
    }
    panic!("not noticed");
}

#[test]
fn only_endpoints_opened_for_it_wait() {
    let mut one = Loopback::open(&config(1, 16, false)).unwrap();
    assert_eq!(one.wait(LONG).unwrap_err().reason, FailureReason::Refused);
}
