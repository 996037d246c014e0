//! CSV report: one row for each scenario, size, arm and metric.

use campaign::summarize::{CallSummary, CellSummary, FlowsSummary, METRICS};
use crds::printable::printable;
use crds::record::ProtocolUse;
use crds::v1alpha1::{CallCause, CallSection, Metric};

use super::Report;
use super::comparison::ComparisonText;

/// Column names. Names include the unit, unless the unit depends on the metric.
const COLUMNS: [&str; 83] = [
    "run",
    "scenario",
    "size_bytes",
    "arm",
    "metric",
    "unit",
    "primary",
    "rounds",
    "median",
    "min",
    "max",
    "lower_95",
    "upper_95",
    "change_percent",
    "change_lower_percent",
    "change_upper_percent",
    "minimum_detectable_percent",
    "compared_rounds",
    "verdict",
    "reason",
    "cases",
    "valid_cases",
    "invalid_reason",
    "optimizations",
    "fabric",
    "emulated",
    "cpu_percent",
    "mean_round_trip_ns",
    "initiator_bytes_per_second",
    "target_bytes_per_second",
    "flush_p50_ns",
    "flush_max_ns",
    "ping_idle_p99_ns",
    "ping_loaded_p99_ns",
    "protocols",
    "slowest_flow_bytes_per_second",
    "fastest_flow_bytes_per_second",
    "flow_fairness",
    "read_back_p50_ns",
    "read_back_p99_ns",
    "first_batch_ns",
    "call_section",
    "call_cause",
    "call_mean_ns",
    "call_deviation_ns",
    "call_hop_ns",
    "footprint_baseline_bytes",
    "footprint_consumer_bytes",
    "footprint_consumer_rss_bytes",
    "footprint_tensor_bytes",
    "footprint_saved_bytes",
    "footprint_slope_bytes",
    "workers_without_version",
    "version_lag_mean",
    "version_lag_p99",
    "version_lag_max",
    "time_lag_p50_ns",
    "time_lag_p99_ns",
    "store_lag_versions",
    "post_lag_versions",
    "original_staleness_versions",
    "published",
    "published_not_delivered_to_all",
    "push_p50_ns",
    "push_bytes_per_second",
    "pull_p50_ns",
    "cold_steps",
    "torn",
    "datagrams_sent",
    "datagrams_lost",
    "call_min_ns",
    "call_max_ns",
    "footprint_section",
    "footprint_cause",
    "footprint_consumers",
    "footprint_own_bytes",
    "footprint_saved_percent",
    "footprint_baseline_rss_bytes",
    "call_clock_ns",
    "footprint_vram_bytes",
    "run_queue_share",
    "foreign_cpu_share",
    "foreign_bytes",
];

/// Unit of `metric` in this format and in JSON.
pub fn unit(metric: Metric) -> &'static str {
    match metric {
        Metric::LatencyP50
        | Metric::LatencyP95
        | Metric::LatencyP99
        | Metric::LatencyP999
        | Metric::ReportedLatency => "ns",
        Metric::Throughput | Metric::ReportedBandwidth => "bytes/s",
        Metric::CompletionRate => "operations/s",
        Metric::CpuSecondsPerGib => "s/GiB",
        Metric::MemoryPerConsumer => "bytes",
    }
}

/// Renders the report as CSV with a header row.
///
/// # Errors
/// Returns an error if the CSV writer fails, which does not happen when writing to memory.
pub fn render(report: &Report<'_>) -> Result<String, ::csv::Error> {
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    writer.write_record(COLUMNS)?;
    for cell in &report.evaluation.summary.cells {
        for metric in METRICS {
            writer.write_record(row(report, cell, metric))?;
        }
    }
    let bytes = writer.into_inner().map_err(|error| error.into_error())?;
    Ok(printable(&String::from_utf8_lossy(&bytes)).into_owned())
}

fn row(report: &Report<'_>, cell: &CellSummary, metric: Metric) -> [String; 83] {
    let footprint = cell.footprint.as_ref();
    let memory = footprint.and_then(|footprint| footprint.memory);
    let call = cell.call.as_ref();
    let section =
        |section: Option<CallSection>| section.map(|section| format!("{section:?}")).unwrap_or_default();
    let cause = |cause: Option<CallCause>| cause.map(|cause| format!("{cause:?}")).unwrap_or_default();
    let scenario = report.plan.scenarios.get(cell.scenario);
    let arm = report.plan.arms.get(cell.arm);
    let summary = cell.metric(metric);
    let comparisons = &report.evaluation.comparisons;
    let comparison = comparisons.find(cell.scenario, cell.size_bytes, cell.arm, metric);
    let text = comparison.map(ComparisonText::from);
    let ends = comparison.and_then(|comparison| comparison.interval_percent());
    let number = |value: Option<f64>| value.map(format_significant).unwrap_or_default();
    let observed = &cell.observations;
    let serving = observed.serving.as_ref();
    let datagrams = serving.and_then(|found| found.datagrams);
    let nanos = |value: Option<u64>| value.map(|nanos| nanos.to_string()).unwrap_or_default();
    let flow_rates = cell
        .flows
        .as_ref()
        .map(FlowsSummary::sorted_rates)
        .unwrap_or_default();
    let optimizations = cell.evidence.iter().map(|evidence| {
        let optimization = evidence.optimization.name();
        format!("{optimization}={:?}", evidence.engagement)
    });
    let differences = cell.differences.iter().map(|difference| {
        let name = difference.subject.split('=').next().unwrap_or_default();
        format!("{name}={:?}", difference.engagement)
    });
    [
        report.plan.run.clone(),
        scenario
            .map(|scenario| scenario.assignment.name.clone())
            .unwrap_or_default(),
        cell.size_bytes.to_string(),
        arm.map(|arm| arm.name.clone()).unwrap_or_default(),
        metric.to_string(),
        unit(metric).to_owned(),
        scenario
            .is_some_and(|scenario| scenario.primary == metric)
            .to_string(),
        summary.map_or(0, |summary| summary.rounds).to_string(),
        number(summary.map(|summary| summary.median)),
        number(summary.map(|summary| summary.min)),
        number(summary.map(|summary| summary.max)),
        number(summary.and_then(|summary| summary.lower)),
        number(summary.and_then(|summary| summary.upper)),
        number(
            comparison
                .and_then(|comparison| comparison.effect)
                .map(|effect| effect.percent),
        ),
        number(ends.map(|(lower, _)| lower)),
        number(ends.map(|(_, upper)| upper)),
        number(comparison.and_then(|comparison| comparison.minimum_detectable_percent)),
        comparison
            .map(|comparison| comparison.rounds.to_string())
            .unwrap_or_default(),
        comparison
            .and_then(|comparison| comparison.verdict)
            .map(|verdict| format!("{verdict:?}"))
            .unwrap_or_default(),
        match text {
            Some(text) => text.reason.unwrap_or_default(),
            None => "baseline".to_owned(),
        },
        cell.cases.to_string(),
        cell.valid_cases.to_string(),
        cell.invalid_reason().unwrap_or_default(),
        optimizations.chain(differences).collect::<Vec<_>>().join(";"),
        cell.fabric
            .as_ref()
            .map(|proof| format!("{:?}", proof.proof))
            .unwrap_or_default(),
        cell.emulated
            .map(|answer| format!("{answer:?}"))
            .unwrap_or_default(),
        number(cell.cpu_percent),
        number(observed.mean_round_trip_nanos),
        number(observed.directions.map(|directions| directions.from_initiator)),
        number(observed.directions.map(|directions| directions.from_target)),
        nanos(observed.flushes.quantile(0.5)),
        nanos(observed.longest_flush()),
        nanos(observed.idle_pings.tail_quantile(0.99)),
        nanos(observed.loaded_pings.tail_quantile(0.99)),
        protocols(&cell.protocols),
        number(flow_rates.first().copied()),
        number(flow_rates.last().copied()),
        number(cell.flows.as_ref().map(|flows| flows.fairness)),
        nanos(observed.read_backs.quantile(0.5)),
        nanos(observed.read_backs.tail_quantile(0.99)),
        number(observed.first_batch_nanos),
        section(call.map(|call| call.section)),
        cause(call.and_then(|call| call.cause)),
        number(call.and_then(|call| Some(call.moments?.mean_nanos))),
        number(call.and_then(|call| call.moments?.deviation_nanos)),
        number(call.and_then(CallSummary::hop_nanos)),
        number(memory.map(|memory| memory.baseline)),
        number(memory.map(|memory| memory.consumer)),
        number(memory.map(|memory| memory.consumer_rss)),
        number(memory.map(|memory| memory.tensor)),
        number(memory.map(|memory| memory.saved_bytes())),
        number(memory.map(|memory| memory.slope)),
        nanos(serving.map(|found| found.workers_without_version() as u64)),
        number(serving.and_then(|found| found.mean_version_lag)),
        nanos(serving.and_then(|found| found.version_lag.tail_quantile(0.99))),
        nanos(serving.and_then(|found| found.version_lag.quantile(1.0))),
        nanos(serving.and_then(|found| found.time_lag.quantile(0.5))),
        nanos(serving.and_then(|found| found.time_lag.tail_quantile(0.99))),
        number(serving.and_then(|found| found.store_lag)),
        number(serving.and_then(|found| found.post_lag)),
        number(serving.and_then(|found| found.original_staleness)),
        nanos(serving.map(|found| found.published)),
        nanos(serving.and_then(|found| found.not_delivered_to_all)),
        nanos(serving.and_then(|found| found.pushes.quantile(0.5))),
        number(serving.and_then(|found| found.push_bytes_per_second)),
        nanos(serving.and_then(|found| found.pulls.quantile(0.5))),
        nanos(serving.map(|found| found.cold_steps)),
        nanos(serving.map(|found| found.torn)),
        nanos(datagrams.map(|datagrams| datagrams.sent)),
        nanos(datagrams.map(|datagrams| datagrams.lost)),
        nanos(call.and(cell.min_nanos)),
        nanos(call.and(cell.max_nanos)),
        section(footprint.map(|footprint| footprint.section)),
        cause(footprint.and_then(|footprint| footprint.cause)),
        nanos(footprint.map(|footprint| footprint.consumers.into())),
        number(memory.map(|memory| memory.own)),
        number(memory.map(|memory| 100.0 * memory.saved_share())),
        number(memory.map(|memory| memory.baseline_rss)),
        number(call.and_then(CallSummary::below_clock_nanos)),
        number(memory.and_then(|memory| memory.vram)),
        number(cell.disturbance.and_then(|found| found.run_queue_share)),
        number(cell.disturbance.and_then(|found| found.foreign_cpu_share)),
        nanos(cell.disturbance.and_then(|found| found.foreign_bytes)),
    ]
}

/// Lists protocols as `description over lanes: count`.
fn protocols(protocols: &[ProtocolUse]) -> String {
    let each = protocols.iter().map(|protocol| {
        let steps = protocol.steps.as_ref().map_or_else(String::new, |steps| {
            format!(
                " (total: creation {} ns, post {} ns, completion {} ns)",
                steps.creation_nanos, steps.post_nanos, steps.completion_nanos
            )
        });
        format!(
            "{} over {}: {}{steps}",
            protocol.description, protocol.lanes, protocol.count
        )
    });
    each.collect::<Vec<_>>().join(";")
}

/// Formats `value` with six significant digits, which exceeds the precision of any measurement.
pub(super) fn format_significant(value: f64) -> String {
    let magnitude = value.abs().log10().floor();
    match magnitude.is_finite() {
        true => {
            let digits = (5.0 - magnitude).clamp(0.0, 12.0) as usize;
            format!("{value:.digits$}")
        }
        false => "0".to_owned(),
    }
}
