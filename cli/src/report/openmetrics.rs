//! OpenMetrics report: all metrics that an operator would export for the run.

use std::fmt;

use campaign::status::{Phase, StatusInput, status};
use crds::v1alpha1::{BenchmarkRun, State};
use operator::metrics::limits::Selection;
use operator::metrics::{RunValues, SelectedRun, exposition};

use super::Report;

/// Renders the metrics of `run`.
///
/// Measured values and the outcome come from `report`. State, conditions (which hold the start and end times), execution
/// and placement come from the status of `run`, so the report of an unfinished run, which has no outcome yet, matches what
/// the operator exports.
///
/// # Errors
/// Returns an error if formatting fails, which does not happen when writing to memory.
pub fn render(run: &BenchmarkRun, report: &Report<'_>) -> Result<String, fmt::Error> {
    let before = run.status.clone().unwrap_or_default();
    let mut measured = status(&StatusInput {
        plan: report.plan,
        phase: Phase::finished(report.evaluation),
        evaluation: report.evaluation,
        records: None,
        generation: run.metadata.generation,
        now: "",
        previous: run.status.as_ref(),
    });
    measured.state = before.state;
    let is_finished = matches!(before.state, Some(State::Complete | State::Failed));
    measured.outcome = measured.outcome.filter(|_| is_finished);
    measured.conditions = before.conditions;
    measured.execution = before.execution;
    measured.placement = before.placement.or(measured.placement);
    let run = BenchmarkRun {
        status: Some(measured),
        ..run.clone()
    };
    exposition::open_metrics(Selection {
        runs: vec![SelectedRun::with_all_rows(RunValues::from_run(&run, usize::MAX))],
        omitted_runs: 0,
    })
}
