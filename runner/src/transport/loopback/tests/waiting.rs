//! Tests that a wait ends when an event occurs or its timeout expires.

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

/// Waits and polls until a completion arrives; fails if a wait times out.
fn next(side: &mut Side) -> CompletionKind {
    loop {
        if let Some(kind) = side.poll().pop() {
            return kind;
        }
        let start = Instant::now();
        side.transport.wait(LONG).unwrap();
        assert!(start.elapsed() < LONG, "not woken");
    }
}

#[test]
fn wakes_for_messages_and_completions() {
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
fn wait_ends_at_its_timeout() {
    let (mut one, _two) = waiting_pair();
    let start = Instant::now();
    one.transport.wait(Duration::from_millis(20)).unwrap();
    let slept = start.elapsed();
    assert!(slept >= Duration::from_millis(15), "{slept:?}");
}

#[test]
fn wait_is_short_until_the_peer_connects_back() {
    let config = config(1, 16, true);
    let mut one = Side::open(&config, MemoryKind::Heap, 4096);
    let two = Side::open(&config, MemoryKind::Heap, 4096);
    one.transport.connect(two.transport.addresses()).unwrap();
    let start = Instant::now();
    one.transport.wait(LONG).unwrap();
    assert!(start.elapsed() < LONG / 2);
}

#[test]
fn does_not_sleep_if_a_message_is_pending() {
    let (mut one, mut two) = waiting_pair();
    two.receive(0, 0, 8, 0);
    one.post(|post| post.length = 8).unwrap();
    let start = Instant::now();
    two.transport.wait(LONG).unwrap();
    assert!(start.elapsed() < LONG / 2);
    assert_eq!(two.poll().len(), 1);
}

#[test]
fn wait_detects_a_lost_peer() {
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
    panic!("the lost peer was not detected");
}

#[test]
fn refuses_wait_on_polling_endpoints() {
    let mut one = Loopback::open(&config(1, 16, false)).unwrap();
    assert_eq!(
        one.wait(LONG).unwrap_err().reason,
        FailureReason::OperationRejected
    );
}
