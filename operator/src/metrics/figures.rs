//! What the metrics need of one run, and no more: kept for as long as the run is there. Pure.
//!
//! Names stand once a run, numbers as integers in the units of the status. What a cap leaves out is not kept at all.

mod names;
mod row;
mod run;

use std::collections::BTreeSet;

use crds::v1alpha1::{BenchmarkRun, BenchmarkRunStatus, ConditionType, FabricProof, Outcome, State};

pub use names::Names;
pub use row::{ArmFigures, ComparisonFigures, OPTIMIZATIONS, PairFigures, QUANTILES, Row};

use super::results;
use names::NameTable;

/// What the metrics need of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunFigures {
    /// Its namespace; empty where it ran without a cluster.
    pub namespace: Box<str>,
    /// Its name.
    pub name: Box<str>,
    /// When it was created, in seconds since 1970.
    pub created: Option<i64>,
    /// When it ended, in seconds since 1970.
    pub finished: Option<i64>,
    /// What it is doing.
    pub state: Option<State>,
    /// What it comes to.
    pub outcome: Option<Outcome>,
    /// Its conditions.
    pub conditions: Box<[ConditionFigure]>,
    /// Blocks done, and blocks of the plan.
    pub blocks: Option<(u32, u32)>,
    /// Provider, as the library returned it; empty before the first measured case.
    pub provider: Box<str>,
    /// Name of the baseline.
    pub baseline: Box<str>,
    /// What the workers ran on: kind and value, each once.
    pub environment: Box<[(&'static str, Box<str>)]>,
    /// Nodes of the workers, each once.
    pub nodes: Box<[Box<str>]>,
    /// How much worse each node is than the others, in parts per million.
    pub node_deviations: Box<[(Box<str>, i64)]>,
    /// How it is known which fabric carried the bytes.
    pub proof: Option<FabricProof>,
    /// Expectations that are met, not met, inconclusive.
    pub expectations: [u32; 3],
    /// Scenarios, arms and nodes that the rows name.
    pub names: Names,
    /// What was measured: the most important first.
    pub rows: Box<[Row]>,
    /// Series of rows that are not kept, here or already in the status.
    pub left_out: u32,
}

/// A condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConditionFigure {
    /// Its type.
    pub type_: ConditionType,
    /// Whether it holds.
    pub holds: bool,
    /// Its reason.
    pub reason: Box<str>,
}

impl RunFigures {
    /// What `run` says now, with the first rows that have at most `max_series` series together with those of the run itself.
    ///
    /// Those of the run itself are bounded, and always there.
    pub fn of(run: &BenchmarkRun, max_series: usize) -> Self {
        let none = BenchmarkRunStatus::default();
        let status = run.status.as_ref().unwrap_or(&none);
        let mut figures = run::figures(run, status);
        figures.keep(row::rows(status), max_series);
        figures
    }

    /// Keeps the first of `rows` that fit, and counts the series of the others.
    fn keep(&mut self, rows: Vec<row::Named<'_>>, max_series: usize) {
        let mut series = results::series_of_run(self);
        let mut names = NameTable::default();
        let mut kept = Vec::new();
        let mut known = BTreeSet::new();
        let mut full = false;
        for named in rows {
            // A status with the same thing twice would give a series twice, which no reader takes.
            if !known.insert(named.place()) {
                continue;
            }
            let of_row = results::series_of_row(named.row());
            full |= series.saturating_add(of_row) > max_series;
            match full {
                true => {
                    self.left_out = self
                        .left_out
                        .saturating_add(u32::try_from(of_row).unwrap_or(u32::MAX))
                }
                false => {
                    series += of_row;
                    kept.push(named.row_in(&mut names));
                }
            }
        }
        self.names = names.into();
        self.rows = kept.into();
    }
}

#[cfg(test)]
mod tests;
