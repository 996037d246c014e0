//! Metrics of a scenario, computed from the measurement of its case. Performs no I/O.
//!
//! Units are part of the names. A gigabyte is 10^9 bytes. Percentiles are computed from the histogram and capped at the
//! exact maximum, as they are in campaigns. A percentile other than the median is omitted if it would be the largest
//! sample.

mod checks;

use std::collections::BTreeMap;

use crds::histogram::Histogram;
use crds::record::{Durations, FabricFacts, Measurement, Posted, SideReport};
use crds::v1alpha1::SegmentTransfer;
use serde::Serialize;

use super::request::RequestedScenario;

/// Metrics of any scenario.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Metrics {
    /// Metrics of `large-array`.
    LargeArray(LargeArrayMetrics),
    /// Metrics of `small-messages`.
    SmallMessages(SmallMessagesMetrics),
    /// Metrics of `pingpong-flag`.
    PingpongFlag(PingpongFlagMetrics),
    /// Metrics of `streaming-duplex`.
    StreamingDuplex(StreamingDuplexMetrics),
    /// Metrics of `segment-transfer`.
    SegmentTransfer(SegmentTransferMetrics),
}

/// Bytes that one side sent, the time that it took, and their ratio.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Throughput {
    /// Payload bytes.
    pub bytes: u64,
    /// Time from the first post to the last completion, on the sender's clock. In `streaming-duplex`, the length of the
    /// window in which both sides send.
    pub seconds: f64,
    /// Payload divided by the time.
    pub gigabytes_per_second: f64,
}

/// Distribution of durations.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Distribution {
    /// Number of samples.
    pub samples: u64,
    /// Smallest sample.
    pub min_microseconds: f64,
    /// Median sample.
    pub p50_microseconds: f64,
    /// 95th percentile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p95_microseconds: Option<f64>,
    /// 99th percentile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99_microseconds: Option<f64>,
    /// Largest sample.
    pub max_microseconds: f64,
}

/// Metrics of `large-array`. A sample is the time from posting a message until it has arrived. If the library supports
/// flushes, the sample also includes the flush that follows the message.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LargeArrayMetrics {
    /// Throughput of all messages.
    pub total: Throughput,
    /// Rate of the median message.
    pub median_gigabytes_per_second: f64,
    /// Rate of the fastest message.
    pub best_gigabytes_per_second: f64,
    /// Rate of the slowest message.
    pub worst_gigabytes_per_second: f64,
    /// Time from a message's local completion to the completion of the flush that follows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flush: Option<Distribution>,
}

/// Metrics of `small-messages`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SmallMessagesMetrics {
    /// Throughput of all messages.
    pub total: Throughput,
    /// Number of completed messages per second.
    pub messages_per_second: f64,
    /// Time from posting a message to its completion, for each message.
    pub latency: Distribution,
}

/// Metrics of `pingpong-flag`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PingpongFlagMetrics {
    /// Total time of all round trips.
    pub total_seconds: f64,
    /// Mean round-trip time.
    pub mean_round_trip_microseconds: f64,
    /// Half the mean round-trip time.
    pub mean_one_way_microseconds: f64,
    /// Number of round trips per second.
    pub round_trips_per_second: f64,
    /// Round-trip times.
    pub round_trip: Distribution,
}

/// Metrics of `streaming-duplex`. Each direction is timed from one completion to another, while both sides send
/// continuously, so that the rates of the two directions can be added.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StreamingDuplexMetrics {
    /// Throughput from the client to the server, on the client's clock.
    pub client_to_server: Throughput,
    /// Throughput from the server to the client, on the server's clock.
    pub server_to_client: Throughput,
    /// Sum of the rates of both directions.
    pub combined_gigabytes_per_second: f64,
    /// Rate of the slower direction divided by the rate of the faster direction.
    pub balance: f64,
    /// Round-trip times of pings on the idle fabric.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ping_idle: Option<Distribution>,
    /// Round-trip times of pings during the transfer of chunks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ping_loaded: Option<Distribution>,
    /// 99th percentile during the transfer of chunks, divided by the 99th percentile on the idle fabric. The ratio
    /// shows head-of-line blocking.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ping_p99_ratio: Option<f64>,
}

/// Metrics of `segment-transfer`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SegmentTransferMetrics {
    /// Throughput of all requests of all threads.
    pub total: Throughput,
    /// Throughput in the requested unit, with the requested number of decimal places.
    pub reported: String,
    /// Number of completed requests.
    pub requests: u64,
    /// Number of completed batches.
    pub batches: u64,
    /// Number of completed batches per second.
    pub batches_per_second: f64,
    /// Time from posting a request to its completion, for each request.
    pub latency: Distribution,
    /// Time from posting a read to its completion, in the `mix` workload.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_back: Option<Distribution>,
    /// Time from the first post of the first batch until the batch was complete; the maximum over all threads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_batch_microseconds: Option<f64>,
    /// CPU time of both sides per GiB of payload.
    pub cpu_seconds_per_gib: f64,
}

/// Metrics, with the reason for each omitted metric.
#[derive(Clone, Debug, PartialEq)]
pub struct ComputedMetrics {
    /// Metrics of the scenario.
    pub metrics: Metrics,
    /// Reason for each omitted metric, by name.
    pub omitted: BTreeMap<String, String>,
    /// Disturbances during the measurement.
    pub warnings: Vec<String>,
}

/// Computes the metrics of `scenario`. `fabrics` are the fabric facts of the client and the server.
///
/// # Errors
/// Returns why the measurement cannot be correct.
pub fn compute(
    scenario: &RequestedScenario,
    measurement: &Measurement,
    fabrics: [Option<&FabricFacts>; 2],
) -> Result<ComputedMetrics, String> {
    let sides = [&measurement.initiator, &measurement.target];
    let in_flight = checks::in_flight(scenario);
    for (side, fabric) in sides.into_iter().zip(fabrics) {
        checks::check(side, in_flight, fabric)?;
    }
    let posted = measurement
        .initiator
        .posted
        .as_ref()
        .ok_or("the client measured no operations")?;
    let mut omitted = BTreeMap::new();
    let metrics = match scenario {
        RequestedScenario::LargeArray(_) => {
            let metrics = large_array(scenario.size_bytes(), posted);
            if metrics.flush.is_none() {
                let library = fabrics[0].and_then(|fabric| fabric.library.as_ref());
                let library = library.map_or("the library", |library| library.name.as_str());
                omitted.insert("flush".into(), format!("{library} has no flush"));
            }
            Metrics::LargeArray(metrics)
        }
        RequestedScenario::SmallMessages(_) => Metrics::SmallMessages(SmallMessagesMetrics {
            total: throughput(posted),
            messages_per_second: posted.operations as f64 / seconds(posted.elapsed_nanos),
            latency: distribution(&posted.latency, posted.min_nanos, posted.max_nanos, 1.0),
        }),
        RequestedScenario::PingpongFlag(_) => Metrics::PingpongFlag(pingpong_flag(posted)),
        RequestedScenario::StreamingDuplex(_) => {
            let target = measurement
                .target
                .posted
                .as_ref()
                .ok_or("the server measured no operations")?;
            if posted.simultaneous.is_none() || target.simultaneous.is_none() {
                return Err("the directions were not measured while both sides sent".into());
            }
            Metrics::StreamingDuplex(streaming_duplex(posted, target))
        }
        RequestedScenario::SegmentTransfer(scenario) => {
            Metrics::SegmentTransfer(segment_transfer(scenario, measurement, posted))
        }
    };
    for (name, distribution) in distributions(&metrics) {
        for (percentile, value) in [
            ("p95", distribution.p95_microseconds),
            ("p99", distribution.p99_microseconds),
        ] {
            if value.is_none() {
                let reason = format!("{} samples are too few", distribution.samples);
                omitted.insert(format!("{name}.{percentile}Microseconds"), reason);
            }
        }
    }
    let two_way = matches!(
        scenario,
        RequestedScenario::PingpongFlag(_) | RequestedScenario::StreamingDuplex(_)
    );
    Ok(ComputedMetrics {
        metrics,
        omitted,
        warnings: checks::warnings(sides, two_way),
    })
}

/// CPU time of a side as a percentage of the window length: 100 is one CPU.
pub fn cpu_percent(side: &SideReport) -> f64 {
    100.0 * side.cpu_nanos as f64 / side.window_nanos as f64
}

/// Returns the distributions in `metrics`, by name.
pub fn distributions(metrics: &Metrics) -> Vec<(&'static str, &Distribution)> {
    match metrics {
        Metrics::LargeArray(metrics) => metrics.flush.iter().map(|flush| ("flush", flush)).collect(),
        Metrics::SmallMessages(metrics) => vec![("latency", &metrics.latency)],
        Metrics::PingpongFlag(metrics) => vec![("roundTrip", &metrics.round_trip)],
        Metrics::StreamingDuplex(metrics) => {
            let idle = metrics.ping_idle.iter().map(|ping| ("pingIdle", ping));
            let loaded = metrics.ping_loaded.iter().map(|ping| ("pingLoaded", ping));
            idle.chain(loaded).collect()
        }
        Metrics::SegmentTransfer(metrics) => {
            let reads = metrics.read_back.iter().map(|reads| ("readBack", reads));
            std::iter::once(("latency", &metrics.latency))
                .chain(reads)
                .collect()
        }
    }
}

fn large_array(size: u64, posted: &Posted) -> LargeArrayMetrics {
    let median = quantile(&posted.latency, 50, posted.max_nanos);
    LargeArrayMetrics {
        total: throughput(posted),
        median_gigabytes_per_second: size as f64 / median as f64,
        best_gigabytes_per_second: size as f64 / posted.min_nanos as f64,
        worst_gigabytes_per_second: size as f64 / posted.max_nanos as f64,
        flush: posted.flush.as_ref().map(duration_distribution),
    }
}

/// Computes the metrics of `pingpong-flag`, whose samples are half the round-trip time.
fn pingpong_flag(posted: &Posted) -> PingpongFlagMetrics {
    let mean = posted.elapsed_nanos as f64 / posted.operations as f64 / 1e3;
    PingpongFlagMetrics {
        total_seconds: seconds(posted.elapsed_nanos),
        mean_round_trip_microseconds: mean,
        mean_one_way_microseconds: mean / 2.0,
        round_trips_per_second: posted.operations as f64 / seconds(posted.elapsed_nanos),
        round_trip: distribution(&posted.latency, posted.min_nanos, posted.max_nanos, 2.0),
    }
}

fn streaming_duplex(client: &Posted, server: &Posted) -> StreamingDuplexMetrics {
    let (up, down) = (throughput(client), throughput(server));
    let (first, second) = (up.gigabytes_per_second, down.gigabytes_per_second);
    let sampled =
        |durations: &Durations| (durations.histogram.count() > 0).then(|| duration_distribution(durations));
    let ping = client.ping.as_ref();
    let ping_idle = ping.and_then(|ping| sampled(&ping.idle));
    let ping_loaded = ping.and_then(|ping| sampled(&ping.loaded));
    let p99 = |distribution: Option<Distribution>| distribution.and_then(|found| found.p99_microseconds);
    StreamingDuplexMetrics {
        client_to_server: up,
        server_to_client: down,
        combined_gigabytes_per_second: first + second,
        balance: first.min(second) / first.max(second),
        ping_p99_ratio: p99(ping_loaded)
            .zip(p99(ping_idle))
            .map(|(loaded, idle)| loaded / idle),
        ping_idle,
        ping_loaded,
    }
}

fn segment_transfer(
    scenario: &SegmentTransfer,
    measurement: &Measurement,
    posted: &Posted,
) -> SegmentTransferMetrics {
    let total = throughput(posted);
    let batches = posted.operations / u64::from(scenario.batch);
    let [initiator, target] = [&measurement.initiator, &measurement.target];
    let cpu_nanos = (initiator.cpu_nanos + target.cpu_nanos) as f64;
    let gib = posted.payload_bytes as f64 / f64::from(1 << 30);
    SegmentTransferMetrics {
        reported: scenario.format().text(total.gigabytes_per_second * 1e9),
        requests: posted.operations,
        batches,
        batches_per_second: batches as f64 / total.seconds,
        latency: distribution(&posted.latency, posted.min_nanos, posted.max_nanos, 1.0),
        read_back: posted.read_back.as_ref().map(duration_distribution),
        first_batch_microseconds: posted.first_burst_nanos.map(|nanos| nanos as f64 / 1e3),
        cpu_seconds_per_gib: cpu_nanos / 1e9 / gib,
        total,
    }
}

fn throughput(posted: &Posted) -> Throughput {
    let (_, bytes, elapsed_nanos) = posted.timed();
    Throughput {
        bytes,
        seconds: seconds(elapsed_nanos),
        gigabytes_per_second: bytes as f64 / elapsed_nanos as f64,
    }
}

fn duration_distribution(durations: &Durations) -> Distribution {
    distribution(
        &durations.histogram,
        durations.min_nanos,
        durations.max_nanos,
        1.0,
    )
}

/// Distribution of the samples of `histogram`, multiplied by `factor`.
fn distribution(histogram: &Histogram, min: u64, max: u64, factor: f64) -> Distribution {
    let samples = histogram.count();
    let microseconds = |nanos: u64| nanos as f64 * factor / 1e3;
    let percentile = |percent: u64| {
        let rank = (samples * percent).div_ceil(100);
        (rank < samples).then(|| microseconds(quantile(histogram, percent, max)))
    };
    Distribution {
        samples,
        min_microseconds: microseconds(min),
        p50_microseconds: microseconds(quantile(histogram, 50, max)),
        p95_microseconds: percentile(95),
        p99_microseconds: percentile(99),
        max_microseconds: microseconds(max),
    }
}

/// Percentile of `histogram`, capped at `max`, which is the exact maximum.
fn quantile(histogram: &Histogram, percent: u64, max: u64) -> u64 {
    histogram.quantile(percent as f64 / 100.0).unwrap_or(max).min(max)
}

fn seconds(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}

#[cfg(test)]
mod tests;
