//! Selects the series that a scrape returns within the limit, newest runs first. Namespaces take turns, so that the runs of one
//! namespace cannot displace those of all others.
//!
//! Values that describe a run as a whole take precedence over measured values, so that as many runs as possible stay
//! visible. Measured values follow, starting with the most important rows of the newest run.

use std::collections::HashMap;
use std::sync::Arc;

use super::{RunValues, results};

/// Limits on the number of result series.
#[derive(Clone, Copy, Debug)]
pub struct SeriesLimits {
    /// Maximum number of series per run.
    pub per_run: usize,
    /// Maximum number of series across all runs.
    pub all: usize,
}

/// Run included in a scrape.
#[derive(Clone, Debug)]
pub struct SelectedRun {
    /// Values of the run.
    pub run: Arc<RunValues>,
    /// Number of included rows, starting with the first row.
    pub rows: usize,
    /// Number of omitted series.
    pub omitted: u64,
}

/// Runs included in a scrape.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Included runs: the newest of each namespace, newest first, then the second newest of each namespace, and so on.
    pub runs: Vec<SelectedRun>,
    /// Number of omitted runs.
    pub omitted_runs: usize,
}

impl SelectedRun {
    /// Includes all values of `run`.
    pub fn with_all_rows(run: RunValues) -> Self {
        Self {
            rows: run.rows.len(),
            omitted: run.omitted.into(),
            run: Arc::new(run),
        }
    }
}

/// Returns `runs` in the order in which they are included.
fn in_turns(mut runs: Vec<Arc<RunValues>>) -> Vec<Arc<RunValues>> {
    runs.sort_by(|one, other| {
        let newest = other.created.cmp(&one.created);
        newest.then_with(|| (&one.namespace, &one.name).cmp(&(&other.namespace, &other.name)))
    });
    let mut turns: HashMap<Box<str>, usize> = HashMap::new();
    let mut runs: Vec<(usize, Arc<RunValues>)> = runs
        .into_iter()
        .map(|run| {
            let turn = turns.entry(run.namespace.clone()).or_default();
            *turn += 1;
            (*turn, run)
        })
        .collect();
    // The order within a turn remains.
    runs.sort_by_key(|(turn, _)| *turn);
    runs.into_iter().map(|(_, run)| run).collect()
}

/// Selects at most `max_series` series from `runs`.
pub fn select(runs: Vec<Arc<RunValues>>, max_series: usize) -> Selection {
    let runs = in_turns(runs);
    let all = runs.len();
    let mut room = max_series;
    let mut selected = Vec::new();
    for run in runs {
        let Some(rest) = room.checked_sub(results::run_series_count(&run)) else {
            break;
        };
        room = rest;
        selected.push(SelectedRun {
            omitted: run.omitted.into(),
            run,
            rows: 0,
        });
    }
    for selected in &mut selected {
        for row in &selected.run.rows {
            let series = results::row_series_count(row);
            match room.checked_sub(series) {
                Some(rest) if selected.omitted == u64::from(selected.run.omitted) => {
                    room = rest;
                    selected.rows += 1;
                }
                // Once a row is omitted, all later rows are omitted, even if they would fit, because they are less
                // important.
                _ => selected.omitted += series as u64,
            }
        }
    }
    Selection {
        omitted_runs: all - selected.len(),
        runs: selected,
    }
}

#[cfg(test)]
mod tests;
