//! Which series a scrape gives, where there are more than it may have: the newest runs first.
//!
//! What runs say as a whole comes before what was measured, so that a fleet stays visible as a whole; then the newest runs
//! with all they measured, the most important rows first.

use std::sync::Arc;

use super::{RunFigures, results};

/// Most series of results.
#[derive(Clone, Copy, Debug)]
pub struct SeriesLimits {
    /// Of one run.
    pub per_run: usize,
    /// Of all runs together.
    pub all: usize,
}

/// What is given of a run.
#[derive(Clone, Debug)]
pub struct Chosen {
    /// The run.
    pub run: Arc<RunFigures>,
    /// How many of its rows, from the first on.
    pub rows: usize,
    /// Its series that are not given.
    pub left_out: u64,
}

/// What is given of all runs.
#[derive(Clone, Debug, Default)]
pub struct Choice {
    /// The runs, the newest first.
    pub runs: Vec<Chosen>,
    /// Runs of which nothing is given.
    pub runs_left_out: usize,
}

impl Chosen {
    /// Everything that is kept of `run`.
    pub fn whole(run: RunFigures) -> Self {
        Self {
            rows: run.rows.len(),
            left_out: run.left_out.into(),
            run: Arc::new(run),
        }
    }
}

/// At most `max_series` series of `runs`.
pub fn choose(mut runs: Vec<Arc<RunFigures>>, max_series: usize) -> Choice {
    runs.sort_by(|one, other| {
        let newest = other.created.cmp(&one.created);
        newest.then_with(|| (&one.namespace, &one.name).cmp(&(&other.namespace, &other.name)))
    });
    let all = runs.len();
    let mut room = max_series;
    let mut chosen = Vec::new();
    for run in runs {
        let Some(rest) = room.checked_sub(results::series_of_run(&run)) else {
            break;
        };
        room = rest;
        chosen.push(Chosen {
            left_out: run.left_out.into(),
            run,
            rows: 0,
        });
    }
    for chosen in &mut chosen {
        for row in &chosen.run.rows {
            let series = results::series_of_row(row);
            match room.checked_sub(series) {
                Some(rest) if chosen.left_out == u64::from(chosen.run.left_out) => {
                    room = rest;
                    chosen.rows += 1;
                }
                // Whoever comes later in a run is less important: it does not take the room.
                _ => chosen.left_out += series as u64,
            }
        }
    }
    Choice {
        runs_left_out: all - chosen.len(),
        runs: chosen,
    }
}

#[cfg(test)]
mod tests;
