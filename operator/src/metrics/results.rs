//! Result metrics: their names, units and labels, and how a run's values are converted to samples.
//!
//! All metrics are gauges, because they describe the current state of a run and disappear with the run. An enum is
//! exported as one series per value; the series for the current value is 1.

mod arm;
mod comparison;
mod metric;
mod quantities;
mod run;

pub use metric::{Emit, ResultMetric, Samples};
pub use quantities::{metric_of, series_of};

use super::RunValues;
use super::values::Row;

/// All result metrics, in exposition and documentation order.
pub fn all() -> impl Iterator<Item = &'static ResultMetric> {
    let of_arms = quantities::METRICS.iter().chain(&arm::METRICS);
    run::METRICS.iter().chain(of_arms).chain(&comparison::METRICS)
}

/// Returns the number of series for `run`, excluding the series for its rows.
pub(super) fn run_series_count(run: &RunValues) -> usize {
    let of_metric = |metric: &ResultMetric| match metric.samples {
        Samples::Run(samples) => count_samples(|emit| samples(run, emit)),
        Samples::OmittedSeries => 1,
        Samples::OmittedRuns
        | Samples::Quantities(_)
        | Samples::Arm(_)
        | Samples::Comparison(_)
        | Samples::Pair(_) => 0,
    };
    run::METRICS.iter().map(of_metric).sum()
}

/// Returns the number of series for `row`.
pub(super) fn row_series_count(row: &Row) -> usize {
    all()
        .map(|metric| count_samples(|emit| emit_row(metric, row, emit)))
        .sum()
}

/// Emits the samples of `metric` for `row`.
pub(super) fn emit_row(metric: &ResultMetric, row: &Row, emit: &mut Emit<'_>) {
    match (metric.samples, row) {
        (Samples::Quantities(name), Row::Arm(arm)) => quantities::emit(name, arm, emit),
        (Samples::Arm(samples), Row::Arm(arm)) => samples(arm, emit),
        (Samples::Comparison(samples), Row::Comparison(comparison)) => samples(comparison, emit),
        (Samples::Pair(samples), Row::Pair(pair)) => samples(pair, emit),
        _ => {}
    }
}

fn count_samples(samples: impl FnOnce(&mut Emit<'_>)) -> usize {
    let mut count = 0;
    samples(&mut |_, _| count += 1);
    count
}
