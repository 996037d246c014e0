//! Reads a run's metric values from its status, up to a maximum number of series. Performs no I/O.

use std::collections::BTreeSet;

use crds::v1alpha1::{BenchmarkRun, BenchmarkRunStatus};

use super::values::{NameTable, row, run};
use super::{RunValues, results};

impl RunValues {
    /// Reads the values of `run`. Values that describe the run as a whole are bounded and always included; rows are
    /// included in order until `max_series` series are reached.
    pub fn from_run(run: &BenchmarkRun, max_series: usize) -> Self {
        let empty = BenchmarkRunStatus::default();
        let status = run.status.as_ref().unwrap_or(&empty);
        let mut values = run::values(run, status);
        values.add_rows(row::rows(status), max_series);
        values
    }

    /// Adds `rows` in order until the limit is reached, and counts the series of the remaining rows.
    fn add_rows(&mut self, rows: Vec<row::NamedRow<'_>>, max_series: usize) {
        let mut series = results::run_series_count(self);
        let mut names = NameTable::default();
        let mut added = Vec::new();
        let mut seen = BTreeSet::new();
        let mut full = false;
        for named in rows {
            // Duplicate rows in a status would produce duplicate series, which parsers reject.
            if !seen.insert(named.key()) {
                continue;
            }
            let row_series = results::row_series_count(named.row());
            full |= series.saturating_add(row_series) > max_series;
            if full {
                let omitted = u32::try_from(row_series).unwrap_or(u32::MAX);
                self.omitted = self.omitted.saturating_add(omitted);
            } else {
                series += row_series;
                added.push(named.into_row(&mut names));
            }
        }
        self.names = names.into();
        self.rows = added.into();
    }
}

#[cfg(test)]
mod tests;
