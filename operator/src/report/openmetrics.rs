//! The report as OpenMetrics text: the metrics that an operator serves of the run, all of them.

use std::fmt;

use crds::v1alpha1::BenchmarkRun;

use super::Report;
use crate::campaign::status::{Phase, StatusInput, status};
use crate::metrics::limits::Selection;
use crate::metrics::{RunValues, SelectedRun, exposition};

/// `run` with what `report` says of it.
///
/// What was measured is computed anew; when the run began and ended, what it came to, and where it ran, its status
/// remembers: of a run that still runs, it says of the first three what an operator says.
///
/// # Errors
/// None: writing into memory does not fail.
pub fn render(run: &BenchmarkRun, report: &Report<'_>) -> Result<String, fmt::Error> {
    let before = run.status.clone().unwrap_or_default();
    let mut measured = status(&StatusInput {
        plan: report.plan,
        plan_hash: report.plan_hash,
        phase: Phase::finished(report.evaluation),
        evaluation: report.evaluation,
        records: None,
        generation: run.metadata.generation,
        now: "",
        previous: run.status.as_ref(),
    });
    measured.state = before.state;
    measured.outcome = before.outcome;
    measured.conditions = before.conditions;
    measured.execution = before.execution;
    measured.placement = before.placement.or(measured.placement);
    let run = BenchmarkRun {
        status: Some(measured),
        ..run.clone()
    };
    exposition::open_metrics(Selection {
        runs: vec![SelectedRun::whole(RunValues::from_run(&run, usize::MAX))],
        omitted_runs: 0,
    })
}
