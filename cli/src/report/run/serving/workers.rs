//! Staleness of each worker in parameter serving.

use campaign::format;
use campaign::summarize::ServingWorker;

use crate::report::Report;
use crate::report::document::{Column, Detail, Note, Row, Table};

/// Maximum number of workers of one arm at one size in a short table.
const MAX_WORKERS: usize = 16;

/// Titles of the columns with the lags of a worker.
const LAG_COLUMNS: [&str; 7] = [
    "mean lag",
    "p50 lag",
    "p99 lag",
    "max lag",
    "p50 time lag",
    "p99 time lag",
    "max time lag",
];

/// Formats the lags of `worker`, in the order of [`LAG_COLUMNS`].
fn lag_cells(worker: &ServingWorker) -> [String; 7] {
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

/// Table of the workers in the scenario with index `scenario`. If an arm has too many workers, short formats show those with
/// the largest mean lag; they omit control arms.
pub(crate) fn table(report: &Report<'_>, scenario: usize) -> Table {
    let (mut rows, mut notes) = (Vec::new(), Vec::new());
    for view in report.cells_of(scenario) {
        let cell = view.cell;
        let Some(serving) = &cell.observations.serving else {
            continue;
        };
        let (name, size) = (&view.arm.name, format::size(cell.size_bytes));
        let stalest: Vec<usize> = stalest(&serving.workers)
            .iter()
            .map(|(number, _)| *number)
            .collect();
        for (number, worker) in serving.workers.iter().enumerate() {
            let counts = [number as u64, worker.versions, worker.steps, worker.cold_steps];
            let lost = serving.datagrams.is_some().then_some(worker.datagrams_lost);
            let lost = lost.map_or_else(|| "-".to_owned(), |lost| lost.to_string());
            let cells = [size.clone(), name.to_owned()]
                .into_iter()
                .chain(counts.map(|count| count.to_string()))
                .chain(lag_cells(worker))
                .chain([worker.torn.to_string(), lost]);
            let detail = match !view.is_control() && stalest.contains(&number) {
                true => Detail::Brief,
                false => Detail::Full,
            };
            rows.push(Row::new(cells).detail(detail));
        }
        if !view.is_control() && serving.workers.len() > MAX_WORKERS {
            let text = format!(
                "{name} at {size}: text and Markdown contain the {MAX_WORKERS} of {} workers with the largest mean lag, HTML and \
                 JSON all of them.",
                serving.workers.len()
            );
            notes.push(Note::new("", text, Detail::Brief));
        }
    }
    let explanation = "The values cover all valid cases. Cold steps are the steps before the first version; they are excluded from \
                       all lags. A worker that received no version has no lag. The medians and 99th percentiles are the \
                       largest over all cases.";
    notes.push(Note::new("", explanation, Detail::Full));
    let full = |titles: &[&'static str]| -> Vec<Column> {
        let titles = titles.iter();
        titles
            .map(|title| Column::new(*title).detail(Detail::Full))
            .collect()
    };
    let columns = [
        Column::all(["size", "arm", "worker"]),
        full(&["versions", "steps", "cold steps"]),
        Column::all(LAG_COLUMNS),
        full(&["torn", "lost datagrams"]),
    ];
    Table::new("staleness of each worker", columns.concat(), rows).notes(notes)
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
