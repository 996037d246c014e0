//! The metrics of results: name, unit, labels, and how a run's figures become samples. The only place where either is said.
//!
//! All are gauges, for their values go with the run. States are one series a state, 1 for the one that holds.

mod arm;
mod comparison;
mod run;

use std::fmt::Debug;

use super::figures::{ArmFigures, ComparisonFigures, PairFigures, Row};
use super::{Definition, Kind, Label, RunFigures};

/// Takes the values of the labels that a metric adds to those of its run and row, and the value.
pub type Emit<'a> = dyn FnMut(&[&str], f64) + 'a;

/// A metric of results.
#[derive(Clone, Copy, Debug)]
pub struct ResultMetric {
    /// What it is.
    pub definition: Definition,
    /// Where its samples come from.
    pub samples: Samples,
}

/// Where samples come from.
#[derive(Clone, Copy, Debug)]
pub enum Samples {
    /// Runs of which nothing is given: one sample, without labels.
    RunsLeftOut,
    /// A run as a whole.
    Run(fn(&RunFigures, &mut Emit<'_>)),
    /// Its series that are not given: one sample.
    LeftOut,
    /// Each arm at each size.
    Arm(fn(&ArmFigures, &mut Emit<'_>)),
    /// Each comparison.
    Comparison(fn(&ComparisonFigures, &mut Emit<'_>)),
    /// Each pair of nodes that stands out.
    Pair(fn(&PairFigures, &mut Emit<'_>)),
}

const RUN_NAMESPACE: Label = label("run_namespace", "");
const RUN: Label = label("run", "");
const SCENARIO: Label = label("scenario", "");
const SIZE: Label = label("size_bytes", "decimal");
const ARM: Label = label("arm", "a variant or control arm");
const METRIC: Label = label("metric", "as in the manifest");

const OF_RUN: &[Label] = &[RUN_NAMESPACE, RUN];
const OF_ARM: &[Label] = &[RUN_NAMESPACE, RUN, SCENARIO, SIZE, ARM];

/// Every metric of results, in the order of expositions and documentation.
pub fn all() -> impl Iterator<Item = &'static ResultMetric> {
    let of_rows = arm::METRICS.iter().chain(&comparison::METRICS);
    run::METRICS.iter().chain(of_rows)
}

/// Series of `run` as a whole.
pub(super) fn series_of_run(run: &RunFigures) -> usize {
    let of_metric = |metric: &ResultMetric| match metric.samples {
        Samples::Run(samples) => counted(|emit| samples(run, emit)),
        Samples::LeftOut => 1,
        Samples::RunsLeftOut | Samples::Arm(_) | Samples::Comparison(_) | Samples::Pair(_) => 0,
    };
    run::METRICS.iter().map(of_metric).sum()
}

/// Series of `row`.
pub(super) fn series_of_row(row: &Row) -> usize {
    all()
        .map(|metric| counted(|emit| of_row(metric, row, emit)))
        .sum()
}

/// The samples of `row` that `metric` has.
pub(super) fn of_row(metric: &ResultMetric, row: &Row, emit: &mut Emit<'_>) {
    match (metric.samples, row) {
        (Samples::Arm(samples), Row::Arm(arm)) => samples(arm, emit),
        (Samples::Comparison(samples), Row::Comparison(comparison)) => samples(comparison, emit),
        (Samples::Pair(samples), Row::Pair(pair)) => samples(pair, emit),
        _ => {}
    }
}

fn counted(samples: impl FnOnce(&mut Emit<'_>)) -> usize {
    let mut count = 0;
    samples(&mut |_, _| count += 1);
    count
}

const fn label(name: &'static str, values: &'static str) -> Label {
    Label { name, values }
}

const fn metric(
    name: &'static str,
    unit: &'static str,
    help: &'static str,
    labels: &'static [Label],
    samples: Samples,
) -> ResultMetric {
    ResultMetric {
        definition: Definition {
            name,
            kind: Kind::Gauge,
            unit,
            help,
            labels,
        },
        samples,
    }
}

/// A change in parts per million, as a ratio.
fn ratio(change_ppm: i64) -> f64 {
    1.0 + change_ppm as f64 / 1e6
}

/// The one series of a metric, where there is a value.
fn one(value: Option<f64>, emit: &mut Emit<'_>) {
    if let Some(value) = value {
        emit(&[], value);
    }
}

/// A series for each state, where it is known which holds.
fn state_set<T: Copy + Debug + PartialEq>(all: &[T], holds: Option<T>, before: &[&str], emit: &mut Emit<'_>) {
    if holds.is_some() {
        states(all, holds, before, emit);
    }
}

/// A series for each state; its label comes after the values `before`.
fn states<T: Copy + Debug + PartialEq>(all: &[T], holds: Option<T>, before: &[&str], emit: &mut Emit<'_>) {
    for state in all {
        let word = format!("{state:?}");
        let labels = [before, &[&*word]].concat();
        emit(&labels, (holds == Some(*state)).into());
    }
}
