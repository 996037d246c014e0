//! The value of a metric in one case.

use crds::assignment::Workload;
use crds::v1alpha1::Metric;

use crate::collect::{Measured, Side, SidePosts};
use crate::stats::Distribution;

/// Every metric, in the order used in reports.
pub const METRICS: [Metric; 7] = [
    Metric::LatencyP50,
    Metric::LatencyP95,
    Metric::LatencyP99,
    Metric::LatencyP999,
    Metric::Throughput,
    Metric::CompletionRate,
    Metric::CpuSecondsPerGib,
];

const BYTES_PER_GIB: f64 = (1_u64 << 30) as f64;

/// Latencies of all operations of a case.
pub fn latency(workload: &Workload, measured: &Measured) -> Distribution {
    let mut all = Distribution::default();
    measured
        .posters(workload)
        .for_each(|posted| all.merge(&posted.latency));
    all
}

/// Total CPU use of both workers in a case, in percent of one CPU: the sum over the workers of the CPU time divided by
/// the worker's window. `None` if a side has no window.
pub fn cpu_percent(measured: &Measured) -> Option<f64> {
    let sides = [&measured.initiator, &measured.target];
    let of_side = |side: &Side| {
        let window = Some(side.window_nanos).filter(|nanos| *nanos > 0)?;
        Some(100.0 * side.cpu_nanos as f64 / window as f64)
    };
    sides.into_iter().map(of_side).sum()
}

/// The value of `metric` in a case, above zero: nanoseconds, payload bytes per second, operations per second, or CPU
/// seconds of both sides per GiB of payload. `None` if the case has no value for this metric.
pub fn statistic(workload: &Workload, measured: &Measured, metric: Metric) -> Option<f64> {
    let quantile = |quantile: f64| {
        latency(workload, measured)
            .quantile(quantile)
            .map(|nanos| nanos as f64)
    };
    let rate = |amount: fn(&SidePosts) -> u64| {
        let rates = measured.posters(workload).map(|posted| {
            let seconds = posted.elapsed_nanos as f64 / 1e9;
            (seconds > 0.0).then(|| amount(posted) as f64 / seconds)
        });
        rates.sum::<Option<f64>>()
    };
    let value = match metric {
        Metric::LatencyP50 => quantile(0.5),
        Metric::LatencyP95 => quantile(0.95),
        Metric::LatencyP99 => quantile(0.99),
        Metric::LatencyP999 => quantile(0.999),
        Metric::Throughput => rate(|posted| posted.payload_bytes),
        Metric::CompletionRate => rate(|posted| posted.operations),
        Metric::CpuSecondsPerGib => {
            let payload: u64 = measured
                .posters(workload)
                .map(|posted| posted.payload_bytes)
                .sum();
            let seconds = (measured.initiator.cpu_nanos + measured.target.cpu_nanos) as f64 / 1e9;
            Some(seconds * BYTES_PER_GIB / payload as f64)
        }
    };
    value.filter(|value| value.is_finite() && *value > 0.0)
}
