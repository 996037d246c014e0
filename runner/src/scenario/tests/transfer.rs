//! Tests of measured transfers.

use std::sync::Arc;
use std::time::Duration;

use crds::assignment::{ArmAssignment, Extent, Pass, Workload};
use crds::record::Posted;
use crds::striping::{StripingPolicy, StripingRule};
use crds::v1alpha1::Direction;
use crds::v1alpha1::TransferOperation::{self, Read, Send, Write, WriteImmediate};

use super::fixture::{BASELINE, Pair, transfer};
use crate::scenario::Role;
use crate::test_transport::{Faults, SharedLink};

const OPERATIONS: [TransferOperation; 4] = [Send, Write, Read, WriteImmediate];

fn pair(operation: TransferOperation, window: u32, batch: u32, iterations: u32, arm: ArmAssignment) -> Pair {
    let workload = Workload::Transfer(transfer(operation, window, batch, iterations));
    Pair::new(workload, arm, 4, 1 << 17)
}

fn doorbell(max_batch: u32) -> ArmAssignment {
    ArmAssignment {
        doorbell_max_batch: Some(max_batch),
        ..BASELINE
    }
}

#[test]
fn records_a_sample_per_transfer_for_every_window() {
    for operation in OPERATIONS {
        for (window, batch) in [(1, 1), (2, 1), (16, 1), (16, 16), (9, 4)] {
            let mut pair = pair(operation, window, batch, 50, BASELINE);
            for size in [1, 4096, 32 * 1024] {
                let (initiator, target) = pair.measure(size);
                let posted = initiator.posted.unwrap();
                assert_eq!((posted.operations, posted.payload_bytes), (50, 50 * size));
                assert_eq!(posted.latency.count(), 50);
                assert!(posted.max_nanos <= posted.elapsed_nanos);
                assert!(target.posted.is_none());
                let chunks = if size >= 16 * 1024 { 4 } else { 1 };
                assert_eq!(
                    (posted.counters.posts, posted.counters.completions),
                    (50 * chunks, 50 * chunks)
                );
            }
        }
    }
}

#[test]
fn late_and_reordered_completions_and_retried_posts_do_not_change_counts() {
    let faults = Faults {
        reverse: true,
        delay_polls: 5,
        again_every: Some(7),
        ..Faults::default()
    };
    for operation in OPERATIONS {
        let mut pair = pair(operation, 8, 4, 60, doorbell(16));
        pair.set_faults(Role::Initiator, &faults);
        pair.set_faults(Role::Target, &faults);
        let posted = pair.measure(32 * 1024).0.posted.unwrap();
        assert_eq!((posted.operations, posted.counters.posts), (60, 240));
        assert!(posted.counters.again > 0);
    }
}

#[test]
fn coalescing_uses_fewer_rails_and_reports_evidence() {
    let arm = ArmAssignment {
        striping: StripingRule {
            policy: StripingPolicy::NixlCoalesce,
            ..BASELINE.striping
        },
        ..BASELINE
    };
    let mut pair = pair(Write, 16, 1, 20, arm);
    let report = pair.run(Pass::Measure, 32 * 1024).0.unwrap();
    assert_eq!(
        report.evidence,
        ["Transfer coalescing: reducing rails from 4 to 2 for transfer_size=32768"]
    );
    let counters = pair.measure(32 * 1024).0.posted.unwrap().counters;
    assert_eq!((counters.rails_planned, counters.rails_used), (2, 2));
    let half = 20 * 16 * 1024;
    assert_eq!(counters.bytes_per_rail, [half, half, 0, 0]);
}

#[test]
fn a_burst_rings_the_doorbell_of_each_rail_once() {
    // Each burst of 8 striped transfers on 4 rails has 8 posts and one doorbell per rail.
    let mut pair = pair(Write, 16, 8, 40, doorbell(16));
    pair.measure(32 * 1024);
    let log = pair.take_log();
    let counters = pair.measure(32 * 1024).0.posted.unwrap().counters;
    assert_eq!((counters.posts, counters.posts_per_burst), (160, 8));
    assert_eq!((counters.app_doorbells, counters.more), (20, 140));
    for rail in 0..4 {
        let more_flags: Vec<bool> = log
            .iter()
            .filter(|post| post.rail == rail)
            .map(|post| post.more)
            .collect();
        assert_eq!(
            more_flags.last(),
            Some(&false),
            "the last post of a burst rings the doorbell"
        );
    }
}

#[test]
fn a_doorbell_covers_at_most_the_arms_maximum_batch() {
    let mut pair = pair(Write, 16, 8, 40, doorbell(3));
    let counters = pair.measure(32 * 1024).0.posted.unwrap().counters;
    // A burst has 8 posts per rail, which are submitted with doorbells for 3, 3 and 2 posts.
    assert_eq!((counters.app_doorbells, counters.more), (60, 100));
}

#[test]
fn a_post_retried_after_eagain_rings_the_doorbell() {
    let mut pair = pair(Write, 16, 16, 64, doorbell(16));
    let faults = Faults {
        again_every: Some(5),
        ..Faults::default()
    };
    pair.set_faults(Role::Initiator, &faults);
    let counters = pair.measure(4096).0.posted.unwrap().counters;
    assert_eq!(counters.posts, 64);
    // Four bursts of 16 posts on one rail ring the doorbell four times. Each EAGAIN adds a doorbell, unless the retried
    // post is the last of its burst and rings the doorbell anyway.
    assert!(counters.app_doorbells >= 4 + counters.again / 2, "{counters:?}");
}

#[test]
fn injected_messages_complete_on_credit() {
    let arm = ArmAssignment {
        inject_max_bytes: Some(64),
        ..BASELINE
    };
    for operation in [Send, WriteImmediate] {
        let mut pair = pair(operation, 8, 2, 40, arm.clone());
        let posted = pair.measure(64).0.posted.unwrap();
        assert_eq!(posted.operations, 40);
        let counters = posted.counters;
        assert_eq!(
            (counters.injected, counters.completions, counters.app_doorbells),
            (40, 0, 40)
        );
    }
}

#[test]
fn never_injects_reads_or_writes_without_immediate_data() {
    let arm = ArmAssignment {
        inject_max_bytes: Some(64),
        ..doorbell(16)
    };
    for operation in [Read, Write] {
        let mut pair = pair(operation, 8, 2, 20, arm.clone());
        let counters = pair.measure(64).0.posted.unwrap().counters;
        assert_eq!((counters.injected, counters.over_limit), (0, 0));
        assert_eq!((counters.inject_limit_bytes, counters.completions), (None, 20));
    }
}

#[test]
fn every_read_rings_the_doorbell() {
    let counters = pair(Read, 8, 2, 20, doorbell(16))
        .measure(64)
        .0
        .posted
        .unwrap()
        .counters;
    assert_eq!((counters.more, counters.app_doorbells), (0, counters.posts));
}

#[test]
fn both_sides_post_concurrently() {
    for operation in OPERATIONS {
        let mut workload = transfer(operation, 8, 2, 50);
        workload.direction = Direction::Bidirectional;
        let mut pair = Pair::new(Workload::Transfer(workload), BASELINE, 2, 1 << 17);
        for size in [64, 32 * 1024] {
            let (initiator, target) = pair.measure(size);
            for posted in [initiator, target].map(|side| side.posted.unwrap()) {
                let window = posted.simultaneous.unwrap();
                assert_eq!((window.operations, window.payload_bytes), (50, 50 * size));
                assert_eq!(posted.latency.count(), 50);
                assert_eq!(posted.payload_bytes, posted.operations * size);
                assert!(posted.operations > 50 && window.lead_nanos > 0, "{posted:?}");
                let inside = posted.elapsed_nanos - window.lead_nanos - window.tail_nanos;
                assert_eq!(inside, window.elapsed_nanos);
            }
        }
    }
}

#[test]
fn a_library_that_always_returns_eagain_first_does_not_keep_the_windows_open() {
    for operation in OPERATIONS {
        let mut workload = transfer(operation, 4, 1, 64);
        workload.direction = Direction::Bidirectional;
        let mut pair = Pair::new(Workload::Transfer(workload), BASELINE, 1, 1 << 14);
        for role in [Role::Initiator, Role::Target] {
            // Every post is retried after polls that complete earlier transfers, so there is always a free slot.
            let again_every = Some(1);
            pair.set_faults(
                role,
                &Faults {
                    again_every,
                    ..Faults::default()
                },
            );
        }
        let (initiator, target) = pair.measure(4096);
        for posted in [initiator, target].map(|side| side.posted.unwrap()) {
            assert!(posted.counters.again >= 64, "{posted:?}");
            assert_eq!(posted.simultaneous.unwrap().operations, 64, "{posted:?}");
        }
    }
}

#[test]
fn both_sides_post_until_both_have_been_measured() {
    // The link gives the initiator three quarters of the bandwidth while both sides transmit.
    let cost = Duration::from_micros(20);
    let link = SharedLink::new([3, 1], cost);
    let mut workload = transfer(Write, 8, 1, 3000);
    workload.direction = Direction::Bidirectional;
    let mut pair = Pair::new(Workload::Transfer(workload), BASELINE, 1, 1 << 12);
    for (role, side) in [(Role::Initiator, 0), (Role::Target, 1)] {
        let link = Some((Arc::clone(&link), side));
        pair.set_faults(
            role,
            &Faults {
                link,
                ..Faults::default()
            },
        );
    }
    let (initiator, target) = pair.measure(64);
    let posted = [initiator, target].map(|side| side.posted.unwrap());
    let [initiator, target] = posted.each_ref().map(|posted| posted.operations as f64);
    // If the faster direction stopped after its 3000 transfers, the slower direction would then have the whole link,
    // and both would complete the same number of transfers.
    let ratio = initiator / target;
    assert!((2.7..3.3).contains(&ratio), "{initiator} / {target} = {ratio}");
    let rates = posted.map(|posted| {
        let window = posted.simultaneous.unwrap();
        assert_eq!(window.operations, 3000);
        window.operations as f64 / (window.elapsed_nanos as f64 / 1e9)
    });
    let sum: f64 = rates.iter().sum();
    assert!(sum <= 1.02 / cost.as_secs_f64(), "{rates:?}");
}

#[test]
fn each_thread_posts_over_separate_endpoints() {
    for direction in [Direction::Unidirectional, Direction::Bidirectional] {
        for operation in [Send, Write] {
            let mut workload = transfer(operation, 4, 2, 30);
            workload.threads = 3;
            workload.direction = direction;
            let mut pair = Pair::new(Workload::Transfer(workload), BASELINE, 2, 1 << 16);
            let (initiator, target) = pair.measure(4096);
            let posted = initiator.posted.unwrap();
            assert_eq!(posted.latency.count(), 90);
            assert_eq!(posted.counters.posts, posted.operations);
            let measured = |posted: &Posted| match posted.simultaneous {
                Some(window) => window.operations,
                None => posted.operations,
            };
            let is_bidirectional = direction == Direction::Bidirectional;
            assert_eq!(
                (measured(&posted), posted.simultaneous.is_some()),
                (90, is_bidirectional)
            );
            let of_target = target.posted.as_ref().map_or(0, measured);
            assert_eq!(of_target, if is_bidirectional { 90 } else { 0 });
        }
    }
}

#[test]
fn posting_stops_after_the_duration() {
    let mut workload = transfer(WriteImmediate, 8, 4, 1);
    workload.measured = Extent::DurationNanos(20_000_000);
    workload.warmup = Extent::DurationNanos(1_000_000);
    let mut pair = Pair::new(Workload::Transfer(workload), BASELINE, 2, 1 << 16);
    let posted = pair.measure(1024).0.posted.unwrap();
    assert!(posted.elapsed_nanos >= 20_000_000 && posted.operations > 0);
    assert_eq!(posted.operations, posted.latency.count());
}

/// The flush never completes, so only a case that waits for it fails.
#[test]
fn a_flush_follows_writes_that_complete_locally() {
    let faults = Faults {
        completes_writes_locally: true,
        flush_time: Some(Duration::from_secs(3600)),
        ..Faults::default()
    };
    for operation in OPERATIONS {
        for pass in [Pass::Measure, Pass::Integrity] {
            let mut pair = pair(operation, 4, 1, 20, BASELINE);
            pair.set_faults(Role::Initiator, &faults);
            if operation == Write {
                pair.deadline = Duration::from_millis(300);
            }
            let (initiator, _) = pair.run(pass, 1024);
            let message = initiator.err().map(|failure| failure.message);
            let is_flushing = message
                .as_deref()
                .map(|text| text.contains("waiting for the flush of the writes"));
            assert_eq!(
                is_flushing,
                (operation == Write).then_some(true),
                "{operation:?} {message:?}"
            );
        }
    }
}

#[test]
fn the_time_of_writes_that_complete_locally_includes_the_flush() {
    let mut pair = pair(Write, 4, 1, 20, BASELINE);
    let flush_time = Duration::from_millis(50);
    let faults = Faults {
        completes_writes_locally: true,
        flush_time: Some(flush_time),
        ..Faults::default()
    };
    pair.set_faults(Role::Initiator, &faults);
    let posted = pair.measure(1024).0.posted.unwrap();
    let nanos = posted.elapsed_nanos;
    assert!(Duration::from_nanos(nanos) >= flush_time, "{nanos}");
    // The last write completed before the flush was posted.
    let sample = Duration::from_nanos(posted.max_nanos);
    assert!(
        sample + flush_time <= Duration::from_nanos(nanos),
        "a sample must not include the flush"
    );
}
