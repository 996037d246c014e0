//! Staleness of each worker in parameter serving.

use campaign::format;
use campaign::summarize::ServingWorker;

use crate::report::Report;
use crate::report::result_table::ResultTable;

/// Maximum number of workers of one arm at one size in a short table.
const MAX_WORKERS: usize = 16;

/// Titles of the columns with the lags of a worker.
pub const LAG_COLUMNS: [&str; 7] = [
    "mean lag",
    "p50 lag",
    "p99 lag",
    "max lag",
    "p50 time lag",
    "p99 time lag",
    "max time lag",
];

/// Formats the lags of `worker`, in the order of [`LAG_COLUMNS`].
pub fn lag_cells(worker: &ServingWorker) -> [String; 7] {
    let Some((mean, lags)) = worker.mean_version_lag().zip(worker.lags) else {
        return LAG_COLUMNS.map(|_| "no version".to_owned());
    };
    let nanos = |nanos: u64| format::nanos(nanos as f64);
    [
        format!("{mean:.3}"),
        lags.version_p50.to_string(),
        lags.version_p99.to_string(),
        lags.version_max.to_string(),
        nanos(lags.time_p50_nanos),
        nanos(lags.time_p99_nanos),
        nanos(lags.time_max_nanos),
    ]
}

/// Short table of the workers in the scenario with index `scenario`, without control arms. If an arm has too many workers,
/// the table contains those with the largest mean lag. `None` if the scenario has no workers.
pub fn table(report: &Report<'_>, scenario: usize) -> Option<ResultTable> {
    let (mut rows, mut notes) = (Vec::new(), Vec::new());
    let cells = report.evaluation.summary.cells.iter();
    for cell in cells.filter(|cell| cell.scenario == scenario) {
        let arm = report.plan.arms.get(cell.arm);
        let Some(arm) = arm.filter(|arm| arm.control.is_none()) else {
            continue;
        };
        let Some(serving) = &cell.observations.serving else {
            continue;
        };
        let size = format::size(cell.size_bytes);
        for (number, worker) in stalest(&serving.workers) {
            let start = [size.clone(), arm.name.clone(), number.to_string()];
            rows.push(start.into_iter().chain(lag_cells(worker)).collect());
        }
        if serving.workers.len() > MAX_WORKERS {
            notes.push(format!(
                "{} at {size}: the {MAX_WORKERS} of {} workers with the largest mean lag. The HTML and JSON reports contain \
                 all of them.",
                arm.name,
                serving.workers.len()
            ));
        }
    }
    (!rows.is_empty()).then(|| ResultTable {
        title: "staleness of each worker".to_owned(),
        columns: ["size", "arm", "worker"].into_iter().chain(LAG_COLUMNS).collect(),
        rows,
        ends_with_sentences: false,
        notes,
    })
}

/// Returns the workers that a short table contains, with their numbers, in ascending order of the numbers.
fn stalest(workers: &[ServingWorker]) -> Vec<(usize, &ServingWorker)> {
    let mut numbered: Vec<(usize, &ServingWorker)> = workers.iter().enumerate().collect();
    // A worker without a version is the stalest.
    let lag = |worker: &ServingWorker| worker.mean_version_lag().unwrap_or(f64::INFINITY);
    numbered.sort_by(|(_, one), (_, other)| lag(other).total_cmp(&lag(one)));
    numbered.truncate(MAX_WORKERS);
    numbered.sort_by_key(|(number, _)| *number);
    numbered
}

#[cfg(test)]
mod tests {
    use campaign::summarize::WorkerLags;

    use super::*;

    #[test]
    fn workers_with_the_largest_lags_are_listed_by_number() {
        let worker = |version_lag_sum| ServingWorker {
            steps: 10,
            version_lag_sum,
            lags: Some(WorkerLags::default()),
            ..ServingWorker::default()
        };
        let mut workers: Vec<ServingWorker> = (0..20).map(|number| worker(100 - number)).collect();
        workers[19] = ServingWorker::default();
        let numbers: Vec<usize> = stalest(&workers).iter().map(|(number, _)| *number).collect();
        let expected: Vec<usize> = (0..15).chain([19]).collect();
        assert_eq!(numbers, expected);
        assert_eq!(lag_cells(&workers[19])[6], "no version");
        assert_eq!(lag_cells(&workers[0])[..2], ["10.000", "0"]);
    }
}
