//! The value of a metric in one case, or in all flows of the many-to-many pattern that ran at the same time.

use crds::assignment::Workload;
use crds::v1alpha1::Metric;

use crate::collect::{Measured, Side, SidePosts};
use crate::stats::Distribution;

/// Every metric, in the order used in reports.
pub const METRICS: [Metric; 8] = [
    Metric::LatencyP50,
    Metric::LatencyP95,
    Metric::LatencyP99,
    Metric::LatencyP999,
    Metric::Throughput,
    Metric::CompletionRate,
    Metric::CpuSecondsPerGib,
    Metric::MemoryPerConsumer,
];

const BYTES_PER_GIB: f64 = (1_u64 << 30) as f64;

/// Latencies of all operations of a case.
pub fn latency(workload: &Workload, measured: &Measured) -> Distribution {
    merged_latency(workload, &[measured])
}

fn merged_latency(workload: &Workload, cases: &[&Measured]) -> Distribution {
    let mut all = Distribution::default();
    cases
        .iter()
        .flat_map(|case| case.posters(workload))
        .for_each(|posted| all.merge(&posted.latency));
    all
}

/// Total CPU use of the workers in `cases`, in percent of one CPU: the sum over the sides of the CPU time divided by the
/// side's window. `None` if a side has no window.
pub fn cpu_percent(cases: &[&Measured]) -> Option<f64> {
    let sides = cases.iter().flat_map(|case| [&case.initiator, &case.target]);
    let of_side = |side: &Side| {
        let window = Some(side.window_nanos).filter(|nanos| *nanos > 0)?;
        Some(100.0 * side.cpu_nanos as f64 / window as f64)
    };
    sides.map(of_side).sum()
}

/// The value of `metric` in `cases`, above zero: nanoseconds, payload bytes per second, operations per second, CPU
/// seconds of all sides per GiB of payload, or bytes of memory. `None` if the cases have no value for this metric.
///
/// `cases` is a single case, or all flows of the many-to-many pattern that ran at the same time. A percentile of flows is
/// that of the operations of all of them, and a rate is the sum of their rates.
pub fn statistic(workload: &Workload, cases: &[&Measured], metric: Metric) -> Option<f64> {
    let posters = || cases.iter().flat_map(|case| case.posters(workload));
    let quantile = |quantile: f64| {
        merged_latency(workload, cases)
            .quantile(quantile)
            .map(|nanos| nanos as f64)
    };
    let rate = |amount: fn(&SidePosts) -> u64| {
        let rates = posters().map(|posted| {
            let (_, _, elapsed_nanos) = posted.timed();
            let seconds = elapsed_nanos as f64 / 1e9;
            (seconds > 0.0).then(|| amount(posted) as f64 / seconds)
        });
        rates.sum::<Option<f64>>()
    };
    let value = match metric {
        Metric::LatencyP50 => quantile(0.5),
        Metric::LatencyP95 => quantile(0.95),
        Metric::LatencyP99 => quantile(0.99),
        Metric::LatencyP999 => quantile(0.999),
        Metric::Throughput => rate(|posted| posted.timed().1),
        Metric::CompletionRate => rate(|posted| posted.timed().0),
        Metric::CpuSecondsPerGib => {
            let payload: u64 = posters().map(|posted| posted.payload_bytes).sum();
            let cpu_nanos = cases
                .iter()
                .map(|case| case.initiator.cpu_nanos + case.target.cpu_nanos);
            let seconds = cpu_nanos.sum::<u64>() as f64 / 1e9;
            Some(seconds * BYTES_PER_GIB / payload as f64)
        }
        Metric::MemoryPerConsumer => {
            // Flows have no footprint.
            let [case] = cases else {
                return None;
            };
            let footprint = case.initiator.posted.as_ref()?.footprint?;
            Some(footprint.consumers_pss_bytes as f64 / f64::from(footprint.consumers))
        }
    };
    value.filter(|value| value.is_finite() && *value > 0.0)
}
