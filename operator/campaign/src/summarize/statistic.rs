//! The value of a metric in one case, or in all concurrent flows of the many-to-many pattern.

use crds::assignment::Workload;
use crds::record::{Measurement, Posted, SideReport};
use crds::v1alpha1::Metric;

use crate::stats::{BoundedValue, Distribution};
use crate::workload::rules;

/// Every metric, in the order used in reports.
pub const METRICS: [Metric; 10] = [
    Metric::LatencyP50,
    Metric::LatencyP95,
    Metric::LatencyP99,
    Metric::LatencyP999,
    Metric::Throughput,
    Metric::CompletionRate,
    Metric::CpuSecondsPerGib,
    Metric::MemoryPerConsumer,
    Metric::ReportedLatency,
    Metric::ReportedBandwidth,
];

const BYTES_PER_GIB: f64 = (1_u64 << 30) as f64;

fn merged_latency(workload: &Workload, cases: &[&Measurement]) -> Distribution {
    let mut all = Distribution::default();
    cases
        .iter()
        .flat_map(|case| case.posters(workload))
        .for_each(|posted| all.add_latencies(posted));
    all
}

/// Total CPU use of the workers in `cases`, as a percentage of one CPU: the sum over the sides of the CPU time divided
/// by the side's window. `None` if a side has no window, if the window contains more than operations, and for commands,
/// because the CPU time of the runner does not include theirs.
pub fn cpu_percent(workload: &Workload, cases: &[&Measurement]) -> Option<f64> {
    if workload.tool().is_some() || !rules(workload).has_window_of_operations() {
        return None;
    }
    let sides = cases.iter().flat_map(|case| [&case.initiator, &case.target]);
    let side_percent = |side: &SideReport| {
        let window = Some(side.window_nanos).filter(|nanos| *nanos > 0)?;
        Some(100.0 * side.cpu_nanos as f64 / window as f64)
    };
    sides.map(side_percent).sum()
}

/// The value of `metric` in `cases`, above zero: nanoseconds, payload bytes per second, operations per second, CPU
/// seconds of all sides per GiB of payload, or bytes of memory. `None` if the cases have no value for this metric.
///
/// `moves_payload` is the result of [`Plan::moves_payload`](crate::plan::Plan::moves_payload). If it is false, no bytes
/// are moved, so there are no values per byte.
///
/// `cases` is a single case, or all flows of the many-to-many pattern that ran concurrently. A percentile of flows is
/// computed from the operations of all of them. A rate is the sum of the rates of the posting workers in windows in
/// which all of them post. Workers without such a window end at different times, so their rate is their combined
/// amount, divided by the time of the worker that took longest.
pub fn statistic(
    workload: &Workload,
    moves_payload: bool,
    cases: &[&Measurement],
    metric: Metric,
) -> Option<f64> {
    if workload.tool().is_some() {
        let reported = reported_value(cases, metric)?;
        return Some(reported.value).filter(|value| *value > 0.0);
    }
    let is_per_byte = matches!(metric, Metric::Throughput | Metric::CpuSecondsPerGib);
    if is_per_byte && !moves_payload || !rules(workload).has_window_of_operations() && has_window(metric) {
        return None;
    }
    let posters = || cases.iter().flat_map(|case| case.posters(workload));
    let quantile = |quantile: f64| {
        merged_latency(workload, cases)
            .quantile(quantile)
            .map(|nanos| nanos as f64)
    };
    let rate = |amount: fn(&Posted) -> u64| rate(posters(), amount);
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
        Metric::ReportedLatency | Metric::ReportedBandwidth => None,
    };
    value.filter(|value| value.is_finite() && *value > 0.0)
}

/// Whether `metric` depends on the length or the CPU time of the measured window.
fn has_window(metric: Metric) -> bool {
    matches!(
        metric,
        Metric::Throughput | Metric::CompletionRate | Metric::CpuSecondsPerGib
    )
}

fn rate<'a>(posters: impl Iterator<Item = &'a Posted>, amount: fn(&Posted) -> u64) -> Option<f64> {
    let (mut simultaneous, mut completed, mut longest) = (0.0, 0, 0);
    for posted in posters {
        let (_, _, elapsed_nanos) = posted.timed();
        if elapsed_nanos == 0 {
            return None;
        }
        if posted.simultaneous.is_some() {
            simultaneous += amount(posted) as f64 / (elapsed_nanos as f64 / 1e9);
        } else {
            completed += amount(posted);
            longest = longest.max(elapsed_nanos);
        }
    }
    let others = if longest > 0 {
        completed as f64 / (longest as f64 / 1e9)
    } else {
        0.0
    };
    Some(simultaneous + others)
}

/// The value of `metric` in `cases` with the bounds of the true value, as [`statistic`] defines it. For a value that a
/// tool printed as 0, only the upper bound is above zero. `None` if the cases have no value for this metric.
pub fn bounded_statistic(
    workload: &Workload,
    moves_payload: bool,
    cases: &[&Measurement],
    metric: Metric,
) -> Option<BoundedValue> {
    match workload.tool() {
        Some(_) => reported_value(cases, metric),
        None => statistic(workload, moves_payload, cases, metric).map(BoundedValue::exact),
    }
}

/// Value that a command reported. No other values of a command are measured: it is not known when its operations start
/// and end, and its CPU time includes its setup. Without a range, the resolution is unknown, and the value is taken as
/// exact, as it was when such records were made.
fn reported_value(cases: &[&Measurement], metric: Metric) -> Option<BoundedValue> {
    // Flows have no commands.
    let [case] = cases else {
        return None;
    };
    let report = case.initiator.posted.as_ref()?.command.as_ref()?;
    let (value, range) = match metric {
        Metric::ReportedLatency => (report.latency_nanos, report.latency_range),
        Metric::ReportedBandwidth => (report.bytes_per_second, report.bandwidth_range),
        Metric::LatencyP50
        | Metric::LatencyP95
        | Metric::LatencyP99
        | Metric::LatencyP999
        | Metric::Throughput
        | Metric::CompletionRate
        | Metric::CpuSecondsPerGib
        | Metric::MemoryPerConsumer => return None,
    };
    let value = value.filter(|value| value.is_finite() && *value > 0.0);
    let range = range.filter(|range| range.most.is_finite() && range.most > 0.0);
    match (value, range) {
        (Some(value), Some(range)) => Some(BoundedValue {
            value,
            least: range.least.clamp(0.0, value),
            most: range.most.max(value),
        }),
        (Some(value), None) => Some(BoundedValue::exact(value)),
        (None, Some(range)) => Some(BoundedValue {
            value: 0.0,
            least: 0.0,
            most: range.most,
        }),
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use crds::assignment::{Extent, FootprintWorkload, RpcWorkload};
    use crds::histogram::Histogram;
    use crds::record::FootprintReport;
    use crds::v1alpha1::{RpcChannel, RpcPattern};

    use super::*;

    /// One operation of 1 GiB in 1 ms.
    fn measured() -> Measurement {
        let mut latency = Histogram::new();
        latency.record(1_000_000);
        let posted = Posted {
            operations: 1,
            payload_bytes: 1 << 30,
            elapsed_nanos: 1_000_000,
            latency,
            footprint: Some(FootprintReport {
                consumers: 1,
                consumers_pss_bytes: 7,
                ..FootprintReport::default()
            }),
            ..Posted::default()
        };
        let side = |posted| SideReport {
            window_nanos: 1_000_000,
            cpu_nanos: 1_000_000,
            posted,
            ..SideReport::default()
        };
        Measurement {
            initiator: side(Some(posted)),
            target: side(None),
        }
    }

    fn rpc() -> Workload {
        Workload::Rpc(RpcWorkload {
            gpu: None,
            pattern: RpcPattern::Call,
            hops: 1,
            message_bytes: 0,
            timeout_seconds: 30,
            open_loop: None,
            measured: Extent::Iterations(1),
            warmup: Extent::Iterations(1),
        })
    }

    fn footprint() -> Workload {
        Workload::MemoryFootprint(FootprintWorkload {
            gpu: None,
            consumers: 1,
            distributions: 1,
            timeout_seconds: 30,
            measured: Extent::Iterations(1),
        })
    }

    fn available_metrics(workload: &Workload, channel: RpcChannel, size_bytes: u64) -> Vec<Metric> {
        let measured = measured();
        let moves_payload = workload.moves_payload(channel, size_bytes);
        let has_value = |metric: &Metric| statistic(workload, moves_payload, &[&measured], *metric).is_some();
        METRICS.into_iter().filter(has_value).collect()
    }

    #[test]
    fn calls_by_reference_have_no_values_per_byte() {
        let per_byte = [Metric::Throughput, Metric::CpuSecondsPerGib];
        let has_values = |channel, size_bytes| {
            let found = available_metrics(&rpc(), channel, size_bytes);
            assert!(found.contains(&Metric::CompletionRate) && found.contains(&Metric::LatencyP50));
            per_byte.map(|metric| found.contains(&metric))
        };
        for copying in [RpcChannel::Transport, RpcChannel::UnixSocket, RpcChannel::Tcp] {
            assert_eq!(has_values(copying, 8_000_000), [true, true], "{copying:?}");
        }
        assert_eq!(has_values(RpcChannel::Local, 8_000_000), [false, false]);
        assert_eq!(has_values(RpcChannel::SharedMemory, 8_000_000), [false, false]);
        // An echoed payload is part of the message, whereas a local call passes it by reference.
        assert_eq!(has_values(RpcChannel::SharedMemory, 8), [true, true]);
        assert_eq!(has_values(RpcChannel::Local, 8), [false, false]);
    }

    #[test]
    fn a_footprint_has_latencies_and_memory_but_no_rate_and_no_cpu_time() {
        for channel in [RpcChannel::UnixSocket, RpcChannel::SharedMemory] {
            let found = available_metrics(&footprint(), channel, 8_000_000);
            assert_eq!(
                found,
                [
                    Metric::LatencyP50,
                    Metric::LatencyP95,
                    Metric::LatencyP99,
                    Metric::LatencyP999,
                    Metric::MemoryPerConsumer
                ]
            );
        }
        assert_eq!(cpu_percent(&footprint(), &[&measured()]), None);
        assert_eq!(cpu_percent(&rpc(), &[&measured()]), Some(200.0));
    }
}
