//! Completed share of open loops.

use crds::assignment::Workload;
use crds::record::{Measurement, Posted};

/// Minimum completed share of an open loop that keeps up with its schedule.
pub const MIN_COMPLETED_SHARE: f64 = 0.95;

/// Whether an open loop with this completed share falls behind its schedule, so that the wait before each start keeps
/// growing and the latencies depend on the length of the window.
pub(in crate::summarize) fn falls_behind(completed_share: f64) -> bool {
    completed_share < MIN_COMPLETED_SHARE
}

/// Completed rate of an open loop as a fraction of its intended rate: `intended / (elapsed - smallest latency)`, where
/// `intended` and `elapsed` are the intended and the measured duration. The smallest latency is subtracted because,
/// even without load, the last transfer completes one latency after its intended start. If both sides post, the smaller
/// fraction counts. `None` if the workload is not an open loop.
pub(in crate::summarize) fn completed_share(workload: &Workload, measured: &Measurement) -> Option<f64> {
    let shares: Option<Vec<f64>> = measured.posters(workload).map(share_of_side).collect();
    shares?.into_iter().min_by(f64::total_cmp)
}

fn share_of_side(posted: &Posted) -> Option<f64> {
    let intended = posted.open_loop?.intended_nanos;
    let elapsed = posted.elapsed_nanos.saturating_sub(posted.min_nanos);
    (intended > 0 && elapsed > 0).then(|| intended as f64 / elapsed as f64)
}

#[cfg(test)]
mod tests {
    use crds::histogram::Histogram;
    use crds::record::OpenLoopReport;

    use super::*;

    fn side_posts(elapsed_nanos: u64, intended_nanos: u64, latency: u64) -> Posted {
        let mut histogram = Histogram::new();
        histogram.record(latency);
        Posted {
            elapsed_nanos,
            min_nanos: latency,
            latency: histogram,
            max_nanos: latency,
            open_loop: Some(OpenLoopReport {
                intended_nanos,
                late: 0,
            }),
            ..Posted::default()
        }
    }

    fn is_behind(posted: &Posted) -> Option<bool> {
        share_of_side(posted).map(falls_behind)
    }

    #[test]
    fn arm_falls_behind_if_it_completes_less_than_95_percent_of_the_intended_rate() {
        assert_eq!(
            is_behind(&side_posts(20_010_000, 20_000_000, 10_000)),
            Some(false)
        );
        assert_eq!(
            is_behind(&side_posts(20_800_000, 20_000_000, 10_000)),
            Some(false)
        );
        // With a long latency alone, the waits do not grow.
        assert_eq!(
            is_behind(&side_posts(25_000_000, 20_000_000, 5_000_000)),
            Some(false)
        );
        assert_eq!(
            is_behind(&side_posts(40_000_000, 20_000_000, 10_000_000)),
            Some(true)
        );
        let closed = Posted {
            open_loop: None,
            ..side_posts(1, 1, 1)
        };
        assert_eq!(is_behind(&closed), None);
    }

    #[test]
    fn arm_with_7_percent_overload_falls_behind_although_half_of_it_is_in_the_median_latency() {
        let mut histogram = Histogram::new();
        (0..100).for_each(|step| histogram.record(10_000 + step * 14_000));
        let overloaded = Posted {
            latency: histogram,
            max_nanos: 1_410_000,
            ..side_posts(21_410_000, 20_000_000, 10_000)
        };
        assert_eq!(is_behind(&overloaded), Some(true));
    }
}
