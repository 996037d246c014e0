//! Values of an arm at one size, by quantity. Performs no I/O.

use crds::quantity::Quantity::{self, *};
use crds::v1alpha1::Metric;

use super::cell::CellSummary;
use super::flows::FlowsSummary;
use super::observations::Observations;
use crate::stats::median_of;
use crate::workload::footprint::summary::FootprintSummary;
use crate::workload::parameter_serving::summary::Serving;
use crate::workload::rpc::summary::CallSummary;

/// Number of parts per million in 1.
const PPM: f64 = 1e6;
/// Number of nanoseconds in a second.
const NANOS: f64 = 1e9;

/// A quantity, and its value in the quantity's unit if it was measured.
type Measured = (Quantity, Option<f64>);

impl CellSummary {
    /// Returns the measured values in the units of their quantities, in no particular order.
    pub fn values(&self) -> impl Iterator<Item = (Quantity, f64)> {
        let all = of_every_quantity(self).into_iter();
        all.filter_map(|(quantity, value)| Some((quantity, value?)))
    }
}

fn of_every_quantity(cell: &CellSummary) -> Vec<Measured> {
    let found = &cell.observations;
    let groups: [Vec<Measured>; 9] = [
        latencies(cell).into(),
        rates(cell).into(),
        observed(found),
        observations(found).into(),
        calls(cell.call.as_ref()).into(),
        footprint(cell.footprint.as_ref()).into(),
        flows(cell.flows.as_ref()).into(),
        serving(found.serving.as_ref()),
        disturbance(cell).into(),
    ];
    groups.concat()
}

/// Converts an exact number.
fn whole(value: Option<u64>) -> Option<f64> {
    value.map(|value| value as f64)
}

fn latencies(cell: &CellSummary) -> [Measured; 6] {
    let tail = |quantile: f64| whole(cell.latency.tail_quantile(quantile));
    [
        (LatencyP50Nanos, whole(cell.latency.quantile(0.5))),
        (LatencyP95Nanos, tail(0.95)),
        (LatencyP99Nanos, tail(0.99)),
        (LatencyP999Nanos, tail(0.999)),
        (LatencyMinNanos, whole(cell.min_nanos)),
        (LatencyMaxNanos, whole(cell.max_nanos)),
    ]
}

fn rates(cell: &CellSummary) -> [Measured; 7] {
    let median = |metric: Metric| cell.metric(metric).map(|summary| summary.median);
    [
        (BytesPerSecond, median(Metric::Throughput)),
        (CompletionsPerSecond, median(Metric::CompletionRate)),
        (
            CpuNanosPerGib,
            median(Metric::CpuSecondsPerGib).map(|seconds| seconds * NANOS),
        ),
        (CpuPercent, cell.cpu_percent),
        (Iterations, cell.iterations.map(f64::from)),
        (ReportedLatencyNanos, median(Metric::ReportedLatency)),
        (ReportedBytesPerSecond, median(Metric::ReportedBandwidth)),
    ]
}

/// Statistics of observations.
fn observed(found: &Observations) -> Vec<Measured> {
    let sources = Quantity::ALL
        .into_iter()
        .filter_map(|quantity| Some((quantity, quantity.definition().source?)));
    sources
        .map(|(quantity, source)| (quantity, found.statistic(source)))
        .collect()
}

fn observations(found: &Observations) -> [Measured; 5] {
    let directions = found.directions.as_ref();
    [
        (MeanRoundTripNanos, found.mean_round_trip_nanos),
        (
            DirectionsInitiatorBytesPerSecond,
            directions.map(|both| both.from_initiator),
        ),
        (
            DirectionsTargetBytesPerSecond,
            directions.map(|both| both.from_target),
        ),
        (DirectionsBalancePpm, directions.map(|both| both.balance * PPM)),
        (PingBlockingPpm, found.blocking_ratio().map(|ratio| ratio * PPM)),
    ]
}

fn calls(found: Option<&CallSummary>) -> [Measured; 5] {
    let moments = found.and_then(|call| call.moments);
    [
        (CallMeanNanos, moments.map(|moments| moments.mean_nanos)),
        (
            CallDeviationNanos,
            moments.and_then(|moments| moments.deviation_nanos),
        ),
        (CallClockNanos, found.and_then(CallSummary::below_clock_nanos)),
        (CallHopNanos, found.and_then(CallSummary::hop_nanos)),
        (
            CallMemoryGrowthBytes,
            whole(found.and_then(|call| call.memory_growth_bytes)),
        ),
    ]
}

fn footprint(found: Option<&FootprintSummary>) -> [Measured; 12] {
    let memory = found.and_then(|footprint| footprint.memory);
    let own_range = memory.and_then(|memory| memory.own_range);
    [
        (FootprintBaselineBytes, memory.map(|memory| memory.baseline)),
        (
            FootprintBaselineRssBytes,
            memory.map(|memory| memory.baseline_rss),
        ),
        (FootprintOwnBytes, memory.map(|memory| memory.own)),
        (FootprintOwnMinBytes, own_range.map(|(min, _)| min)),
        (FootprintOwnMaxBytes, own_range.map(|(_, max)| max)),
        (FootprintConsumerBytes, memory.map(|memory| memory.consumer)),
        (
            FootprintConsumerRssBytes,
            memory.map(|memory| memory.consumer_rss),
        ),
        (FootprintTensorBytes, memory.map(|memory| memory.tensor)),
        (FootprintVramBytes, memory.and_then(|memory| memory.vram)),
        (FootprintSavedBytes, memory.map(|memory| memory.saved_bytes())),
        (FootprintSavedPpm, memory.map(|memory| memory.saved_share() * PPM)),
        (FootprintSlopeBytes, memory.map(|memory| memory.slope)),
    ]
}

fn flows(found: Option<&FlowsSummary>) -> [Measured; 6] {
    let mut rates = found.map(FlowsSummary::sorted_rates).unwrap_or_default();
    let ends = rates.first().copied().zip(rates.last().copied());
    let receivers = ends.and(found).and_then(FlowsSummary::receiver_range);
    let fairness = ends.and(found).map(|flows| flows.fairness * PPM);
    [
        (FlowsSlowestBytesPerSecond, ends.map(|(slowest, _)| slowest)),
        (FlowsMedianBytesPerSecond, median_of(&mut rates)),
        (FlowsFastestBytesPerSecond, ends.map(|(_, fastest)| fastest)),
        (
            FlowsSlowestReceiverBytesPerSecond,
            receivers.map(|(slowest, _)| slowest),
        ),
        (
            FlowsFastestReceiverBytesPerSecond,
            receivers.map(|(_, fastest)| fastest),
        ),
        (FlowsFairnessPpm, fairness),
    ]
}

fn serving(found: Option<&Serving>) -> Vec<Measured> {
    let value = |value: fn(&Serving) -> Option<f64>| found.and_then(value);
    let number = |value: fn(&Serving) -> Option<u64>| whole(found.and_then(value));
    let lag = |value: fn(&Serving) -> Option<f64>| found.and_then(value).map(|lag| lag.max(0.0) * PPM);
    vec![
        (ServingWorkers, number(|one| Some(one.workers.len() as u64))),
        (
            ServingWorkersWithoutVersion,
            number(|one| Some(one.workers_without_version() as u64)),
        ),
        (ServingVersionLagMeanPpm, lag(|one| one.mean_version_lag)),
        (ServingVersionLagP50, number(|one| one.version_lag.quantile(0.5))),
        (
            ServingVersionLagP99,
            number(|one| one.version_lag.tail_quantile(0.99)),
        ),
        (ServingVersionLagMax, number(|one| one.version_lag.quantile(1.0))),
        (ServingWorstWorkerLagPpm, lag(Serving::worst_worker_lag)),
        (ServingTimeLagP50Nanos, number(|one| one.time_lag.quantile(0.5))),
        (
            ServingTimeLagP99Nanos,
            number(|one| one.time_lag.tail_quantile(0.99)),
        ),
        (ServingTimeLagMaxNanos, number(|one| one.time_lag.quantile(1.0))),
        (ServingPublished, number(|one| Some(one.published))),
        (
            ServingPublishedNotDeliveredToAll,
            number(|one| one.not_delivered_to_all),
        ),
        (ServingPushP50Nanos, number(|one| one.pushes.quantile(0.5))),
        (ServingPushMaxNanos, number(|one| one.pushes.quantile(1.0))),
        (ServingPushBytesPerSecond, value(|one| one.push_bytes_per_second)),
        (ServingPullP50Nanos, number(|one| one.pulls.quantile(0.5))),
        (ServingStoreLagPpm, lag(|one| one.store_lag)),
        (ServingPostLagPpm, lag(|one| one.post_lag)),
        (ServingOriginalStalenessPpm, lag(|one| one.original_staleness)),
        (ServingColdSteps, number(|one| Some(one.cold_steps))),
        (ServingColdNanos, number(|one| Some(one.cold_nanos))),
        (ServingTorn, number(|one| Some(one.torn))),
        (ServingDatagramsSent, number(|one| Some(one.datagrams?.sent))),
        (ServingDatagramsLost, number(|one| Some(one.datagrams?.lost))),
        (ServingClockBoundNanos, number(|one| Some(one.clock_bound_nanos))),
    ]
}

fn disturbance(cell: &CellSummary) -> [Measured; 3] {
    let found = cell.disturbance;
    let ppm = |share: Option<f64>| share.map(|share| share * PPM);
    [
        (
            DisturbanceRunQueuePpm,
            ppm(found.and_then(|found| found.run_queue_share)),
        ),
        (
            DisturbanceForeignCpuPpm,
            ppm(found.and_then(|found| found.foreign_cpu_share)),
        ),
        (
            DisturbanceForeignBytes,
            whole(found.and_then(|found| found.foreign_bytes)),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_quantity_of_the_catalogue_has_one_value() {
        let all = of_every_quantity(&CellSummary::default());
        let mut quantities: Vec<Quantity> = all.into_iter().map(|(quantity, _)| quantity).collect();
        quantities.sort();
        assert_eq!(quantities, Quantity::ALL);
    }
}
