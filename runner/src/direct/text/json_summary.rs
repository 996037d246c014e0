//! Summary of a report as JSON, for the console. Performs no I/O.

use serde::Serialize;

use crate::direct::metrics::Metrics;
use crate::direct::report::{CpuPercent, Report, ScenarioState};
use crate::direct::request::RequestedTransport;

/// Transport, and name, size, state and metrics of each scenario, as JSON. The metrics are those of the JSON file.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct JsonSummary<'a> {
    run_id: &'a str,
    transport: &'a RequestedTransport,
    scenarios: Vec<ScenarioSummary<'a>>,
}

/// One scenario of a [`JsonSummary`].
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ScenarioSummary<'a> {
    name: &'a str,
    size_bytes: u64,
    state: ScenarioState,
    #[serde(skip_serializing_if = "Option::is_none")]
    metrics: Option<&'a Metrics>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu_percent: Option<CpuPercent>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<&'a str>,
}

/// Formats the results as JSON, one object that starts and ends on lines of its own. `None` only if a value cannot be
/// represented.
pub(super) fn format(report: &Report) -> Option<String> {
    let scenarios = report.scenarios.iter().map(|scenario| ScenarioSummary {
        name: scenario.name,
        size_bytes: scenario.size_bytes,
        state: scenario.state,
        metrics: scenario.metrics.as_ref(),
        cpu_percent: scenario.cpu_percent,
        failure: scenario.failure.as_deref(),
    });
    let summary = JsonSummary {
        run_id: &report.run_id,
        transport: &report.transport,
        scenarios: scenarios.collect(),
    };
    serde_json::to_string_pretty(&summary).ok()
}
