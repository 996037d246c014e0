//! Values of a record that contradict each other. No runner writes such a record, so it is damaged or forged. Performs no
//! I/O.

use crds::assignment::Workload;
use crds::record::{Measurement, Posted};

use super::case_check::Invalid;
use crate::collect::Case;
use crate::stats::Distribution;
use crate::workload::rules;

/// Detects a posting worker whose operations, payload, latencies and posts cannot all be true. `off_fabric` is whether the
/// operations of the case do not use the transport.
pub(super) fn check(
    workload: &Workload,
    off_fabric: bool,
    case: &Case,
    measured: &Measurement,
) -> Option<Invalid> {
    // The values of a command are those that its tool printed, and only the tool knows how they are related.
    if workload.tool().is_some() {
        return None;
    }
    measured.posters(workload).find_map(|posted| {
        let message = operations(case.size_bytes, posted).or_else(|| posts(workload, off_fabric, posted))?;
        Some(Invalid::Contradictory { message })
    })
}

/// Compares the operations with their payload and their latencies.
fn operations(size_bytes: u64, posted: &Posted) -> Option<String> {
    let (timed, timed_bytes, _) = posted.timed();
    for (operations, bytes) in [(posted.operations, posted.payload_bytes), (timed, timed_bytes)] {
        if operations.checked_mul(size_bytes) != Some(bytes) {
            return Some(format!(
                "{operations} operations of {size_bytes} bytes do not have {bytes} bytes of payload"
            ));
        }
    }
    if timed > posted.operations {
        return Some(format!(
            "{timed} of {} operations are in the window",
            posted.operations
        ));
    }
    let samples = posted.latency.count();
    if samples != timed {
        return Some(format!("{timed} operations have {samples} latencies"));
    }
    let (least, most) = (posted.min_nanos, posted.max_nanos);
    let median = Distribution::from(posted).quantile(0.5)?;
    // A histogram rounds latencies up, but not above the greatest.
    (median < least || median > most).then(|| {
        format!("the median latency of {median} ns is not between the extremes, {least} and {most} ns")
    })
}

/// Compares the posts with each other and with the payload.
fn posts(workload: &Workload, off_fabric: bool, posted: &Posted) -> Option<String> {
    let counters = &posted.counters;
    let sum = |counts: &[u64]| counts.iter().fold(0_u64, |sum, count| sum.saturating_add(*count));
    let on_rails = sum(&counters.posts_per_rail);
    if on_rails != counters.posts {
        return Some(format!(
            "{} posts are {on_rails} posts on the rails",
            counters.posts
        ));
    }
    let flagged = counters.more.saturating_add(counters.app_doorbells);
    if flagged != counters.posts {
        return Some(format!(
            "{} posts are {flagged} posts with and without FI_MORE",
            counters.posts
        ));
    }
    let payload = if off_fabric {
        0
    } else if rules(workload).posts_only_payload() {
        posted.payload_bytes
    } else {
        return None;
    };
    let bytes = sum(&counters.bytes_per_rail);
    (bytes != payload)
        .then(|| format!("{bytes} bytes were posted on the rails, but the payload is {payload} bytes"))
}

#[cfg(test)]
mod tests {
    use crds::assignment::{Extent, TransferWorkload};
    use crds::histogram::Histogram;
    use crds::record::{PostingCounters, SideReport, Simultaneous};
    use crds::v1alpha1::TransferOperation;

    use super::*;
    use crate::fixture::failed_case;

    /// Ten writes of 64 bytes over two rails, which took 1 to 10 us.
    fn written() -> Posted {
        let mut latency = Histogram::new();
        (1..=10).for_each(|micros| latency.record(micros * 1_000));
        Posted {
            operations: 10,
            payload_bytes: 640,
            latency,
            min_nanos: 1_000,
            max_nanos: 10_000,
            counters: PostingCounters {
                posts: 10,
                more: 4,
                app_doorbells: 6,
                bytes_per_rail: vec![320, 320],
                posts_per_rail: vec![5, 5],
                ..PostingCounters::default()
            },
            ..Posted::default()
        }
    }

    fn found(off_fabric: bool, change: impl FnOnce(&mut Posted)) -> Option<String> {
        let mut posted = written();
        change(&mut posted);
        let measured = Measurement {
            initiator: SideReport {
                posted: Some(posted),
                ..SideReport::default()
            },
            target: SideReport::default(),
        };
        let case = Case {
            size_bytes: 64,
            ..failed_case()
        };
        let workload = Workload::Transfer(TransferWorkload::new(
            TransferOperation::Write,
            4,
            Extent::Iterations(10),
        ));
        check(&workload, off_fabric, &case, &measured).map(|invalid| invalid.to_string())
    }

    #[test]
    fn consistent_values_do_not_contradict_each_other() {
        assert_eq!(found(false, |_| ()), None);
        let window = Simultaneous {
            operations: 10,
            payload_bytes: 640,
            ..Simultaneous::default()
        };
        assert_eq!(
            found(false, |posted| {
                posted.simultaneous = Some(window);
                (posted.operations, posted.payload_bytes) = (12, 768);
                posted.counters.bytes_per_rail = vec![384, 384];
            }),
            None
        );
    }

    #[test]
    fn every_changed_count_is_found() {
        type Change = fn(&mut Posted);
        let cases: [(Change, &str); 9] = [
            (
                |posted| posted.operations = 9,
                "9 operations of 64 bytes do not have 640 bytes of payload",
            ),
            (|posted| posted.operations = u64::MAX, "do not have 640 bytes"),
            (|posted| posted.payload_bytes = 6400, "do not have 6400 bytes"),
            (
                |posted| (posted.operations, posted.payload_bytes) = (20, 1280),
                "20 operations have 10 latencies",
            ),
            (
                |posted| {
                    posted.simultaneous = Some(Simultaneous {
                        operations: 11,
                        payload_bytes: 704,
                        ..Simultaneous::default()
                    });
                },
                "11 of 10 operations are in the window",
            ),
            (|posted| posted.min_nanos = 6_000, "is not between the extremes"),
            (
                |posted| posted.counters.posts = 11,
                "11 posts are 10 posts on the rails",
            ),
            (
                |posted| posted.counters.more = u64::MAX,
                "posts with and without FI_MORE",
            ),
            (
                |posted| posted.counters.bytes_per_rail = vec![320],
                "320 bytes were posted on the rails, but the payload is 640 bytes",
            ),
        ];
        for (change, message) in cases {
            let text = found(false, change).unwrap_or_default();
            assert!(text.contains(message), "{text:?} instead of {message:?}");
        }
        assert!(found(true, |_| ()).is_some_and(|text| text.contains("the payload is 0 bytes")));
    }
}
