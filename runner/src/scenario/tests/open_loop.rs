//! Tests of transfers with intended start times.

use std::time::Duration;

use crds::assignment::Workload;
use crds::record::Posted;
use crds::v1alpha1::{Arrivals, Direction, OpenLoop, TransferOperation};

use super::fixture::{BASELINE, Pair, transfer};
use crate::scenario::Role;
use crate::test_transport::Faults;

const COUNT: u32 = 4000;
/// One transfer every 50 us, so that all intended start times lie within 200 ms.
const LOAD: OpenLoop = OpenLoop {
    rate: 20_000,
    arrivals: Arrivals::Constant,
};
const STALL: Duration = Duration::from_millis(100);

fn pair(window: u32, open_loop: Option<OpenLoop>) -> Pair {
    let workload = Workload::Transfer(crds::assignment::TransferWorkload {
        open_loop,
        ..transfer(TransferOperation::Write, window, 1, COUNT)
    });
    Pair::new(workload, BASELINE, 1, 4096)
}

/// Measures transfers. One of them takes 100 ms to post.
fn with_stall(window: u32, open_loop: Option<OpenLoop>) -> Posted {
    let mut pair = pair(window, open_loop);
    let faults = Faults {
        stall_at: Some((1000, STALL)),
        ..Faults::default()
    };
    pair.set_faults(Role::Initiator, &faults);
    pair.measure(64).0.posted.unwrap()
}

#[test]
fn stall_delays_every_transfer_that_should_have_started_during_it() {
    let open = with_stall(16, Some(LOAD));
    let closed = with_stall(16, None);
    let tail = |posted: &Posted| Duration::from_nanos(posted.latency.quantile(0.999).unwrap());
    assert_eq!(
        (open.operations, closed.operations),
        (u64::from(COUNT), u64::from(COUNT))
    );
    // 2,000 of the 4,000 transfers should have started during the stall.
    assert!(tail(&open) > STALL * 9 / 10, "{:?}", tail(&open));
    assert!(tail(&closed) < STALL / 2, "{:?}", tail(&closed));
    assert!(Duration::from_nanos(closed.max_nanos) >= STALL);
}

#[test]
fn send_latency_excludes_the_wait_for_other_sends() {
    let load = OpenLoop { rate: 500, ..LOAD };
    for operation in [TransferOperation::Send, TransferOperation::WriteImmediate] {
        let workload = Workload::Transfer(crds::assignment::TransferWorkload {
            open_loop: Some(load),
            ..transfer(operation, 64, 1, 200)
        });
        let posted = Pair::new(workload, BASELINE, 1, 4096)
            .measure(64)
            .0
            .posted
            .unwrap();
        let median = Duration::from_nanos(posted.latency.quantile(0.5).unwrap());
        // If a credit were sent only every half window, the median would be half the time in which 32 transfers start:
        // 32 ms.
        assert!(median < Duration::from_millis(12), "{operation:?}: {median:?}");
    }
}

#[test]
fn transfers_start_no_earlier_than_intended() {
    let posted = pair(64, Some(LOAD)).measure(64).0.posted.unwrap();
    let report = posted.open_loop.unwrap();
    let intended = u64::from(COUNT - 1) * 50_000;
    assert!(report.intended_nanos.abs_diff(intended) < 1000, "{report:?}");
    assert!(posted.elapsed_nanos >= intended, "{}", posted.elapsed_nanos);
}

#[test]
fn transfers_that_find_a_full_window_are_counted_as_late() {
    let mut pair = pair(
        1,
        Some(OpenLoop {
            rate: 10_000_000,
            ..LOAD
        }),
    );
    let faults = Faults {
        delay_polls: 3,
        ..Faults::default()
    };
    pair.set_faults(Role::Initiator, &faults);
    let posted = pair.measure(64).0.posted.unwrap();
    assert!(
        posted.open_loop.unwrap().late > u64::from(COUNT) / 2,
        "{posted:?}"
    );
    assert_eq!(posted.operations, u64::from(COUNT));
}

#[test]
fn both_sides_have_intended_start_times() {
    for operation in [TransferOperation::Send, TransferOperation::WriteImmediate] {
        let workload = Workload::Transfer(crds::assignment::TransferWorkload {
            direction: Direction::Bidirectional,
            open_loop: Some(OpenLoop {
                arrivals: Arrivals::Poisson,
                ..LOAD
            }),
            ..transfer(operation, 8, 1, 200)
        });
        let (initiator, target) = Pair::new(workload, BASELINE, 2, 4096).measure(64);
        let (initiator, target) = (initiator.posted.unwrap(), target.posted.unwrap());
        assert_eq!((initiator.operations, target.operations), (200, 200));
        assert_ne!(initiator.open_loop, target.open_loop, "different seeds");
    }
}
