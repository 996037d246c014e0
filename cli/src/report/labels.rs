//! Names and formatted values, shared by the report formats.

use crds::assignment::Workload;
use crds::v1alpha1::{ExpectationOutcome, FabricProof, Metric};

use campaign::compare::{ExpectationAnswer, metric_name};
use campaign::format;
use campaign::plan::PlannedScenario;

/// Text of a value that a command's tool printed as 0 in at least one case.
pub const BELOW_RESOLUTION: &str = "below the resolution of the tool";

/// Formats `value` of `metric` with its unit.
pub fn metric_value(metric: Metric, value: f64) -> String {
    match metric {
        Metric::LatencyP50
        | Metric::LatencyP95
        | Metric::LatencyP99
        | Metric::LatencyP999
        | Metric::ReportedLatency => format::nanos(value),
        Metric::Throughput | Metric::ReportedBandwidth => format::bytes_per_second(value),
        Metric::CompletionRate => format::per_second(value),
        Metric::CpuSecondsPerGib => format!("{value:.2} s/GiB"),
        Metric::MemoryPerConsumer => format::bytes(value as u64),
    }
}

/// Formats `value` of `metric` in `scenario` with its unit. Throughput is in the unit from the spec, if one is set.
pub fn value_in(scenario: Option<&PlannedScenario>, metric: Metric, value: f64) -> String {
    match scenario.and_then(|scenario| scenario.rate_format) {
        Some(format) if metric == Metric::Throughput => format.text(value),
        _ => metric_value(metric, value),
    }
}

/// Returns the name of `metric` with the kind of latency that `workload` measures: ping-pong reports half the
/// round-trip time as one-way latency, calls report the time to their reply, and an open loop measures from the
/// intended start.
pub fn metric_title(workload: &Workload, metric: Metric) -> String {
    let latency = !matches!(
        metric,
        Metric::Throughput
            | Metric::CompletionRate
            | Metric::CpuSecondsPerGib
            | Metric::MemoryPerConsumer
            | Metric::ReportedLatency
            | Metric::ReportedBandwidth
    );
    let kind = match workload {
        _ if !latency => return metric_name(metric).to_owned(),
        Workload::PingPong(_) => "one-way",
        Workload::Rpc(rpc) if rpc.open_loop.is_some() => "start-to-reply",
        Workload::Rpc(_) => "call-to-reply",
        Workload::MemoryFootprint(_) => "distribution",
        Workload::ParameterServing(_) => "publication-to-use",
        Workload::Command(_) => "reported",
        Workload::Transfer(transfer) if transfer.open_loop.is_some() => "start-to-completion",
        Workload::Transfer(_) => "post-to-completion",
    };
    format!("{kind} {}", metric_name(metric))
}

/// Returns the label of an expectation outcome.
pub fn expectation_outcome(answer: &ExpectationAnswer) -> &'static str {
    match answer.outcome {
        ExpectationOutcome::Met if answer.above_maximum => "Met, above the expected maximum",
        ExpectationOutcome::Met => "Met",
        ExpectationOutcome::NotMet => "NotMet",
        ExpectationOutcome::Inconclusive => "Inconclusive",
    }
}

/// Returns the name of a fabric proof.
pub fn fabric_proof(proof: FabricProof) -> &'static str {
    match proof {
        FabricProof::Verified => "verified",
        FabricProof::Shared => "shared with other traffic",
        FabricProof::Declared => "declared only",
        FabricProof::Contradicted => "contradicted",
    }
}

/// Formats sizes as a comma-separated list, such as `64 B, 128 B`.
pub fn sizes(sizes: &[u64]) -> String {
    sizes
        .iter()
        .map(|bytes| format::size(*bytes))
        .collect::<Vec<_>>()
        .join(", ")
}
