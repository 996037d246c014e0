//! The lengths of warm-ups and measurements: numbers of operations, durations, and the minimum window.

use std::time::Duration;

use crds::assignment::{Extent, MAX_DURATION, pilot};
use crds::units;
use crds::v1alpha1::{Arrivals, BenchmarkRunSpec, OpenLoop};

use super::problem::duration_bounds;
use super::reporter::Reporter;

/// Default number of measured round trips or transfers, as in the test procedures.
const DEFAULT_ITERATIONS: u32 = 1000;
/// Default number of warm-up round trips or transfers.
const DEFAULT_WARMUP: u32 = 100;
/// Minimum duration of a measurement.
const MIN_DURATION: Duration = Duration::from_millis(1);
/// Maximum of `sampling.minWindow`. It is also limited by the case deadline.
const MAX_MIN_WINDOW: Duration = Duration::from_secs(10);

/// Checks `sampling.minWindow`.
pub(crate) fn check_min_window(spec: &BenchmarkRunSpec, report: &mut Reporter) {
    let deadline = spec.run_policy.case_deadline_seconds;
    let max = units::Duration(MAX_MIN_WINDOW.min(pilot::max_min_window(deadline)));
    if spec.sampling.min_window > max {
        let message = format!(
            "{given} is longer than {max}, the smaller of {limit} and a fifth of \
             `spec.runPolicy.caseDeadlineSeconds`. Choose a shorter window, or raise a deadline below 50 s",
            given = spec.sampling.min_window,
            limit = units::Duration(MAX_MIN_WINDOW)
        );
        report.add("spec.sampling.minWindow", message);
    }
}

/// The extent of the measurement of the workload at `path`. Checks its duration.
pub(crate) fn measured(
    path: &str,
    iterations: Option<u32>,
    duration: Option<units::Duration>,
    min_window: Duration,
    report: &mut Reporter,
) -> Extent {
    let path = format!("{path}.duration");
    check(&path, duration, MIN_DURATION, report);
    let shown = units::Duration(min_window);
    if let Some(given) = duration.filter(|given| given.0 >= MIN_DURATION && *given < shown) {
        let message = format!(
            "{given} is shorter than `spec.sampling.minWindow`, {shown}. Use a longer duration, or reduce \
             `minWindow`"
        );
        report.add(path, message);
    }
    match extent(iterations, duration, DEFAULT_ITERATIONS) {
        Extent::Iterations(iterations) => at_least(iterations, min_window),
        extent => extent,
    }
}

/// The given number of operations, or more if they would not fill the minimum window.
pub(crate) fn at_least(iterations: u32, min_window: Duration) -> Extent {
    if min_window.is_zero() {
        return Extent::Iterations(iterations);
    }
    Extent::FillWindow {
        min_iterations: iterations,
        min_window_nanos: nanos(min_window),
    }
}

/// The extent of the warm-up of the workload at `path`. Checks its duration.
pub(crate) fn warmup(
    path: &str,
    iterations: Option<u32>,
    duration: Option<units::Duration>,
    report: &mut Reporter,
) -> Extent {
    check(
        &format!("{path}.warmupDuration"),
        duration,
        Duration::ZERO,
        report,
    );
    extent(iterations, duration, DEFAULT_WARMUP)
}

/// Checks that a duration is at most half of the longest case, so that warm-up and measurement both fit.
fn check(path: &str, given: Option<units::Duration>, min: Duration, report: &mut Reporter) {
    if let Some(given) = given.filter(|given| !(min..=MAX_DURATION).contains(&given.0)) {
        let (min, max) = (units::Duration(min), units::Duration(MAX_DURATION));
        report.add(path, duration_bounds(given, min, max));
    }
}

fn extent(iterations: Option<u32>, duration: Option<units::Duration>, default: u32) -> Extent {
    match duration {
        Some(duration) => Extent::DurationNanos(nanos(duration.0)),
        None => Extent::Iterations(iterations.unwrap_or(default)),
    }
}

/// Longest likely time from the first to the last intended start of `count` samples. Exponentially distributed
/// gaps give a standard deviation of `sqrt(count) / rate`; the time exceeds its mean by more than four standard deviations
/// in less than 1 of 10,000 cases.
pub(crate) fn longest_schedule(count: u32, load: OpenLoop) -> Duration {
    let count = f64::from(count);
    let margin = match load.arrivals {
        Arrivals::Poisson => 4.0 * count.sqrt(),
        Arrivals::Constant => 0.0,
    };
    Duration::from_secs_f64((count + margin) / f64::from(load.rate.max(1)))
}

/// A duration in nanoseconds.
pub(crate) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
