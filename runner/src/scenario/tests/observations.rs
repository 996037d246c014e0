//! Tests of the values that are measured in addition to transfers: flushes and pings.

use std::time::Duration;

use crds::assignment::{TransferMode, TransferWorkload, Workload};
use crds::v1alpha1::{Direction, TransferOperation};

use super::fixture::{BASELINE, Pair, transfer};
use crate::scenario::Role;
use crate::test_transport::Faults;

const STALL: Duration = Duration::from_millis(100);

fn with_pings(iterations: u32) -> Pair {
    let workload = Workload::Transfer(TransferWorkload {
        direction: Direction::Bidirectional,
        mode: TransferMode::WithPings,
        ..transfer(TransferOperation::Send, 4, 1, iterations)
    });
    Pair::new(workload, BASELINE, 1, 4096)
}

fn run_flushed(iterations: u32) -> Pair {
    let workload = Workload::Transfer(TransferWorkload {
        mode: TransferMode::Flushed,
        ..transfer(TransferOperation::Send, 1, 1, iterations)
    });
    Pair::new(workload, BASELINE, 1, 4096)
}

#[test]
fn initiator_samples_pings_on_the_idle_fabric_and_during_transfers() {
    let (initiator, target) = with_pings(2000).measure(4096);
    let (initiator, target) = (initiator.posted.unwrap(), target.posted.unwrap());
    let measured = [&initiator, &target].map(|posted| posted.simultaneous.unwrap().operations);
    assert_eq!(measured, [2000, 2000]);
    let pings = initiator.ping.unwrap();
    // The number depends on the machine's load, because the idle fabric is sampled for a limited time.
    assert!((1..=1000).contains(&pings.idle.histogram.count()));
    assert!(pings.loaded.histogram.count() > 0);
    assert_eq!(target.ping, None);
}

/// A short window is followed by transfers until there are 100 pings, but not longer.
#[test]
fn transfers_end_when_there_are_enough_pings() {
    let pings = with_pings(20).measure(4096).0.posted.unwrap().ping.unwrap();
    let count = pings.loaded.histogram.count();
    assert!((100..=300).contains(&count), "{count}");
}

#[test]
fn transfer_stall_delays_only_pings_during_transfers() {
    let mut pair = with_pings(2000);
    let faults = Faults {
        stall_at: Some((100, STALL)),
        ..Faults::default()
    };
    pair.set_faults(Role::Initiator, &faults);
    let pings = pair.measure(4096).0.posted.unwrap().ping.unwrap();
    assert!(Duration::from_nanos(pings.loaded.max_nanos) >= STALL);
    assert!(Duration::from_nanos(pings.idle.max_nanos) < STALL);
}

#[test]
fn each_transfer_is_followed_by_a_flush_if_the_transport_supports_flushes() {
    let mut pair = run_flushed(50);
    let without = pair.measure(4096).0.posted.unwrap();
    assert_eq!((without.operations, without.flush), (50, None));

    let faults = Faults {
        flush_time: Some(Duration::from_micros(20)),
        ..Faults::default()
    };
    pair.set_faults(Role::Initiator, &faults);
    let posted = pair.measure(4096).0.posted.unwrap();
    let flush = posted.flush.as_ref().unwrap();
    assert_eq!((posted.operations, flush.histogram.count()), (50, 50));
    // The sample of a transfer contains its flush.
    assert!(posted.min_nanos >= flush.min_nanos, "{posted:?}");
    assert_eq!(posted.latency.count(), 50);
}
