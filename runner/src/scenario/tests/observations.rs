//! Tests of the values that are measured in addition to transfers: flushes and pings.

use std::time::Duration;

use crds::assignment::{TransferMode, TransferWorkload, Workload};
use crds::quantity::Observation;
use crds::record::{Durations, Observations, Posted};
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

/// Pings on the idle fabric and during transfers.
fn pings(posted: &Posted) -> (&Durations, &Durations) {
    let state = |state| posted.observations.distribution(state).unwrap();
    (state(Observation::PingIdle), state(Observation::PingLoaded))
}

#[test]
fn initiator_samples_pings_on_the_idle_fabric_and_during_transfers() {
    let (initiator, target) = with_pings(2000).measure(4096);
    let (initiator, target) = (initiator.posted.unwrap(), target.posted.unwrap());
    let measured = [&initiator, &target].map(|posted| posted.simultaneous.unwrap().operations);
    assert_eq!(measured, [2000, 2000]);
    let (idle, loaded) = pings(&initiator);
    // The number depends on the machine's load, because the idle fabric is sampled for a limited time.
    assert!((1..=1000).contains(&idle.histogram.count()));
    assert!(loaded.histogram.count() > 0);
    assert_eq!(target.observations, Observations::default());
}

/// A short window is followed by transfers until there are 100 pings, but not longer.
#[test]
fn transfers_end_when_there_are_enough_pings() {
    let posted = with_pings(20).measure(4096).0.posted.unwrap();
    let count = pings(&posted).1.histogram.count();
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
    let posted = pair.measure(4096).0.posted.unwrap();
    let (idle, loaded) = pings(&posted);
    assert!(Duration::from_nanos(loaded.max_nanos) >= STALL);
    assert!(Duration::from_nanos(idle.max_nanos) < STALL);
}

#[test]
fn each_transfer_is_followed_by_a_flush_if_the_transport_supports_flushes() {
    let mut pair = run_flushed(50);
    let without = pair.measure(4096).0.posted.unwrap();
    assert_eq!(without.operations, 50);
    assert_eq!(without.observations, Observations::default());

    let faults = Faults {
        flush_time: Some(Duration::from_micros(20)),
        ..Faults::default()
    };
    pair.set_faults(Role::Initiator, &faults);
    let posted = pair.measure(4096).0.posted.unwrap();
    let flush = posted.observations.distribution(Observation::Flush).unwrap();
    assert_eq!((posted.operations, flush.histogram.count()), (50, 50));
    // The sample of a transfer contains its flush.
    assert!(posted.min_nanos >= flush.min_nanos, "{posted:?}");
    assert_eq!(posted.latency.count(), 50);
}
