//! The metrics that a workload has.

use crds::assignment::Workload;
use crds::v1alpha1::Metric;

use crate::workload::rules;

/// Cause and fix if a scenario whose tool prints the results has another metric.
pub(super) const NO_REPORTED_METRIC: &str = "a command has only the metrics that its tool reports. Use \
                                             ReportedLatency or ReportedBandwidth";

/// Cause and fix if a scenario with `workload` does not have `metric`.
pub(super) fn metric_problem(metric: Metric, workload: &Workload) -> Option<String> {
    if rules(workload).has_metric(metric) {
        return None;
    }
    if workload.tool().is_some() {
        return Some(NO_REPORTED_METRIC.to_owned());
    }
    Some(match metric {
        Metric::ReportedLatency | Metric::ReportedBandwidth => {
            format!("{metric} exists only in command scenarios. Use another metric")
        }
        Metric::MemoryPerConsumer => {
            "MemoryPerConsumer exists only in memoryFootprint scenarios. Use another metric".to_owned()
        }
        _ if workload.is_pipelined() => format!(
            "{metric} is not available for a transfer with `load`, which sets the rate. Use LatencyP50, or a \
             transfer scenario without `load`"
        ),
        _ => format!(
            "{metric} is not available for a ping-pong, a call or a footprint: with only one message in \
             flight, a rate is the inverse of the latency, and the CPU time of a footprint's consumers is \
             not measured. Use LatencyP50, or a transfer scenario"
        ),
    })
}

#[cfg(test)]
mod tests {
    use crds::assignment::{Extent, TransferWorkload};
    use crds::v1alpha1::{Arrivals, OpenLoop, TransferOperation};

    use super::*;

    #[test]
    fn only_transfers_without_a_load_have_a_throughput() {
        let transfer = |open_loop| {
            let measured = Extent::Iterations(1);
            Workload::Transfer(TransferWorkload {
                open_loop,
                ..TransferWorkload::new(TransferOperation::Write, 1, measured)
            })
        };
        assert_eq!(metric_problem(Metric::Throughput, &transfer(None)), None);
        let load = transfer(Some(OpenLoop {
            rate: 100,
            arrivals: Arrivals::Constant,
        }));
        assert_eq!(
            metric_problem(Metric::Throughput, &load).as_deref(),
            Some(
                "Throughput is not available for a transfer with `load`, which sets the rate. Use LatencyP50, or a \
                 transfer scenario without `load`"
            )
        );
        assert_eq!(metric_problem(Metric::LatencyP50, &load), None);
    }
}
