//! Tests of measured ping-pongs.

use crds::assignment::{ArmAssignment, Extent, Pass, Workload};
use crds::v1alpha1::PingPongOperation::{self, Send, WriteImmediate};

use super::fixture::{BASELINE, Pair, ping_pong};
use crate::arm_endpoints::layout::receives_per_rail;
use crate::scenario::Role;
use crate::test_transport::Faults;

const OPERATIONS: [PingPongOperation; 2] = [Send, WriteImmediate];

#[test]
fn records_a_sample_per_round_trip() {
    for operation in OPERATIONS {
        let mut pair = Pair::new(ping_pong(operation, 50), BASELINE, 2, 4096);
        let (initiator, target) = pair.measure(64);
        let posted = initiator.posted.unwrap();
        assert_eq!((posted.operations, posted.payload_bytes), (50, 50 * 64));
        assert_eq!(posted.latency.count(), 50);
        assert!(posted.exclusive_quantiles.is_some());
        assert!(posted.min_nanos > 0 && posted.elapsed_nanos >= 50 * posted.min_nanos);
        let counters = posted.counters;
        assert_eq!(
            (counters.posts, counters.app_doorbells, counters.more),
            (50, 50, 0)
        );
        assert_eq!((counters.rails_planned, counters.rails_used), (1, 2));
        assert!(target.posted.is_none());
        assert!(
            target.window_nanos >= posted.elapsed_nanos,
            "the target's window encloses the initiator's"
        );
    }
}

#[test]
fn replies_do_not_wait_for_receives_regardless_of_chunk_count() {
    const ROUND_TRIPS: usize = 40;
    const RAILS: u32 = 4;
    let all = (RAILS * receives_per_rail(1)) as usize;
    for (size, chunks) in [(64, 1), (100_001, 4)] {
        let mut pair = Pair::new(ping_pong(Send, 50), BASELINE, RAILS, 1 << 20);
        pair.measure(size);
        let log = pair.take_log();
        let messages = log.chunks(chunks).rev().take(ROUND_TRIPS);
        let posted: Vec<usize> = messages.map(|message| message[0].receives).collect();
        // The receives of the previous echo are posted again only after the next message. They stay missing for another
        // round trip if the echo arrives before the first poll after the message, for example because another process
        // has interrupted the thread.
        let expected = all - chunks;
        assert!(
            posted.iter().all(|receives| *receives <= expected),
            "{size}: {posted:?}"
        );
        let usual = posted.iter().filter(|receives| **receives == expected).count();
        assert!(usual > ROUND_TRIPS / 2, "{size}: {posted:?}");
    }
}

#[test]
fn stripes_and_reassembles_large_messages() {
    for operation in OPERATIONS {
        let mut pair = Pair::new(ping_pong(operation, 10), BASELINE, 4, 1 << 20);
        pair.set_faults(
            Role::Target,
            &Faults {
                reverse: true,
                ..Faults::default()
            },
        );
        let (initiator, _) = pair.measure(100_001);
        let counters = initiator.posted.unwrap().counters;
        assert_eq!((counters.posts, counters.rails_planned), (40, 4));
        assert_eq!(counters.bytes_per_rail, [250_000, 250_000, 250_000, 250_010]);
    }
}

#[test]
fn injects_messages_up_to_the_limit_without_completions() {
    let arm = ArmAssignment {
        inject_max_bytes: Some(256),
        ..BASELINE
    };
    for operation in OPERATIONS {
        let mut pair = Pair::new(ping_pong(operation, 20), arm.clone(), 1, 4096);
        let counters = pair.measure(128).0.posted.unwrap().counters;
        assert_eq!(
            (counters.injected, counters.completions, counters.over_limit),
            (20, 0, 0)
        );
        assert_eq!(counters.inject_limit_bytes, Some(128));
        let counters = pair.measure(256).0.posted.unwrap().counters;
        assert_eq!((counters.injected, counters.over_limit), (0, 20));
    }
}

#[test]
fn counts_a_rejected_inject_once_and_does_not_retry_it() {
    let arm = ArmAssignment {
        inject_max_bytes: Some(256),
        ..BASELINE
    };
    let mut pair = Pair::new(ping_pong(Send, 20), arm, 1, 4096);
    let faults = Faults {
        refuse_inject: true,
        ..Faults::default()
    };
    pair.set_faults(Role::Initiator, &faults);
    let counters = pair.measure(64).0.posted.unwrap().counters;
    assert_eq!((counters.injected, counters.refused, counters.posts), (0, 1, 20));
}

#[test]
fn reports_evidence_once_per_size() {
    let arm = ArmAssignment {
        inject_max_bytes: Some(256),
        ..BASELINE
    };
    let mut pair = Pair::new(ping_pong(Send, 5), arm, 1, 4096);
    let mut evidence = |size| pair.run(Pass::Measure, size).0.unwrap().evidence;
    assert_eq!(evidence(64), ["Using fi_injectdata for small message size=64"]);
    assert_eq!(evidence(64), Vec::<String>::new());
    assert_eq!(evidence(128), ["Using fi_injectdata for small message size=128"]);
}

#[test]
fn an_extent_with_a_duration_records_a_distribution() {
    let mut workload = ping_pong(Send, 1);
    if let Workload::PingPong(ping_pong) = &mut workload {
        ping_pong.measured = Extent::DurationNanos(20_000_000);
        ping_pong.warmup = Extent::DurationNanos(1_000_000);
    }
    let mut pair = Pair::new(workload, BASELINE, 1, 4096);
    let posted = pair.measure(64).0.posted.unwrap();
    assert!(posted.elapsed_nanos >= 20_000_000);
    assert_eq!(posted.operations, posted.latency.count());
    assert!(posted.operations > 0 && posted.exclusive_quantiles.is_none());
}

#[test]
fn late_completions_do_not_delay_round_trips() {
    let mut pair = Pair::new(ping_pong(Send, 30), BASELINE, 1, 4096);
    let faults = Faults {
        delay_polls: 3,
        again_every: Some(4),
        ..Faults::default()
    };
    pair.set_faults(Role::Initiator, &faults);
    let counters = pair.measure(64).0.posted.unwrap().counters;
    assert_eq!(counters.posts, 30);
    assert!(counters.again > 0);
}
