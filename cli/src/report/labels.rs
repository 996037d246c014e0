//! Names and formatted values, shared by the report formats.

use crds::assignment::Workload;
use crds::v1alpha1::{ExpectationOutcome, FabricProof, Metric};

use campaign::compare::{ExpectationAnswer, metric_name};
use campaign::format;
use campaign::plan::PlannedScenario;
use campaign::stats::median_of;
use campaign::summarize::CellSummary;
use campaign::workload::rules;

/// Text of a value that a command's tool printed as 0 in at least one case.
pub(super) const BELOW_RESOLUTION: &str = "below the resolution of the tool";

/// Formats `value` of `metric` with its unit.
pub(super) fn metric_value(metric: Metric, value: f64) -> String {
    printed_value(metric, value, 0.0)
}

/// Formats `value` of `metric` with its unit, without digits below `resolution`, the last digit that a tool printed; 0 if
/// the value is exact.
pub(super) fn printed_value(metric: Metric, value: f64, resolution: f64) -> String {
    match metric {
        Metric::LatencyP50
        | Metric::LatencyP95
        | Metric::LatencyP99
        | Metric::LatencyP999
        | Metric::ReportedLatency => format::nanos_printed(value, resolution),
        Metric::Throughput | Metric::ReportedBandwidth => format::bytes_per_second_printed(value, resolution),
        Metric::CompletionRate => format::per_second(value),
        Metric::CpuSecondsPerGib => format!("{value:.2} s/GiB"),
        Metric::MemoryPerConsumer => format::bytes(value as u64),
    }
}

/// Formats the median of `metric` over the rounds of `cell` in `scenario` with its unit; `None` if it has no value.
/// Throughput is in the unit from the spec, if one is set.
pub(super) fn median(scenario: &PlannedScenario, cell: &CellSummary, metric: Metric) -> Option<String> {
    let median = cell.metric(metric)?.median;
    Some(match scenario.rate_format {
        Some(format) if metric == Metric::Throughput => format.text(median),
        _ => printed_value(metric, median, resolution(cell, metric)),
    })
}

/// Last digit of the values of `metric` that a tool printed, in the metric's unit: the median, over the rounds, of the
/// width of the range of true values that are printed alike. 0 if the values are exact.
fn resolution(cell: &CellSummary, metric: Metric) -> f64 {
    let ranges = cell.printed_ranges.get(&metric);
    let widths = ranges.map(|ranges| ranges.values().map(|(least, most)| most - least));
    let mut widths: Vec<f64> = widths.into_iter().flatten().collect();
    median_of(&mut widths).unwrap_or_default()
}

/// Returns the name of `metric` with the kind of latency that `workload` measures: ping-pong reports half the
/// round-trip time as one-way latency, calls report the time to their reply, and an open loop measures from the
/// intended start.
pub(super) fn metric_title(workload: &Workload, metric: Metric) -> String {
    if !metric.is_latency() {
        return metric_name(metric).to_owned();
    }
    format!("{} {}", rules(workload).latency_name(), metric_name(metric))
}

/// Returns the label of an expectation outcome.
pub(super) fn expectation_outcome(answer: &ExpectationAnswer) -> &'static str {
    match answer.outcome {
        ExpectationOutcome::Met if answer.above_maximum => "Met, above the expected maximum",
        ExpectationOutcome::Met => "Met",
        ExpectationOutcome::NotMet => "NotMet",
        ExpectationOutcome::Inconclusive => "Inconclusive",
    }
}

/// Returns the name of a fabric proof.
pub(super) fn fabric_proof(proof: FabricProof) -> &'static str {
    match proof {
        FabricProof::Verified => "verified",
        FabricProof::Shared => "shared with other traffic",
        FabricProof::Declared => "declared only",
        FabricProof::Contradicted => "contradicted",
    }
}

/// Formats sizes as a comma-separated list, such as `64 B, 128 B`.
pub(super) fn sizes(sizes: &[u64]) -> String {
    sizes
        .iter()
        .map(|bytes| format::size(*bytes))
        .collect::<Vec<_>>()
        .join(", ")
}
