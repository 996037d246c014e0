//! CSV report: one row for each scenario, size, arm and metric.

use std::collections::BTreeMap;

use campaign::summarize::{CellSummary, METRICS};
use crds::printable::printable;
use crds::quantity::Quantity;
use crds::record::ProtocolUse;
use crds::v1alpha1::{CallCause, CallSection, Metric};

use super::Report;
use super::document::ResultText;

/// Names of the columns before those of the quantities. Names include the unit, unless the unit depends on the metric.
const COLUMNS: [&str; 32] = [
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
    "protocols",
    "call_section",
    "call_cause",
    "footprint_section",
    "footprint_cause",
    "footprint_consumers",
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
    let names = COLUMNS.map(str::to_owned).into_iter();
    writer.write_record(names.chain(Quantity::ALL.map(Quantity::column)))?;
    for cell in &report.evaluation.summary.cells {
        let values: BTreeMap<Quantity, f64> = cell.values().collect();
        let values =
            Quantity::ALL.map(|quantity| values.get(&quantity).copied().map(value).unwrap_or_default());
        for metric in METRICS {
            writer.write_record(row(report, cell, metric).iter().chain(&values))?;
        }
    }
    let bytes = writer.into_inner().map_err(|error| error.into_error())?;
    Ok(printable(&String::from_utf8_lossy(&bytes)).into_owned())
}

fn row(report: &Report<'_>, cell: &CellSummary, metric: Metric) -> [String; 32] {
    let footprint = cell.footprint.as_ref();
    let call = cell.call.as_ref();
    let section =
        |section: Option<CallSection>| section.map(|section| format!("{section:?}")).unwrap_or_default();
    let cause = |cause: Option<CallCause>| cause.map(|cause| format!("{cause:?}")).unwrap_or_default();
    let scenario = report.plan.scenarios.get(cell.scenario);
    let arm = report.plan.arms.get(cell.arm);
    let summary = cell.metric(metric);
    let comparisons = &report.evaluation.comparisons;
    let comparison = comparisons.find(cell.scenario, cell.size_bytes, cell.arm, metric);
    let text = comparison.map(ResultText::from);
    let ends = comparison.and_then(|comparison| comparison.interval_percent());
    let number = |value: Option<f64>| value.map(format_significant).unwrap_or_default();
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
        protocols(&cell.protocols),
        section(call.map(|call| call.section)),
        cause(call.and_then(|call| call.cause)),
        section(footprint.map(|footprint| footprint.section)),
        cause(footprint.and_then(|footprint| footprint.cause)),
        footprint
            .map(|footprint| footprint.consumers.to_string())
            .unwrap_or_default(),
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

/// Formats a value of a quantity: exactly if it is a whole number.
pub(super) fn value(value: f64) -> String {
    match value.fract() == 0.0 {
        true => format!("{value}"),
        false => format_significant(value),
    }
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
