//! Tests series selection from three runs at every limit from zero to the total number of series.

use super::*;
use crate::metrics::fixture;

fn series(selected: &SelectedRun) -> usize {
    let rows = selected.run.rows.iter().take(selected.rows);
    results::run_series_count(&selected.run) + rows.map(results::row_series_count).sum::<usize>()
}

#[test]
fn selects_newest_runs_first_and_counts_omitted_series() {
    let runs: Vec<Arc<RunValues>> = [("old", 1), ("new", 3), ("middle", 2)]
        .map(|(name, minute)| Arc::new(fixture::values(name, minute)))
        .into();
    let whole: usize = select(runs.clone(), usize::MAX).runs.iter().map(series).sum();
    let of_run = results::run_series_count(&runs[0]);
    for max_series in 0..=whole {
        let selection = select(runs.clone(), max_series);
        let names: Vec<&str> = selection
            .runs
            .iter()
            .map(|selected| &*selected.run.name)
            .collect();
        assert!(["new", "middle", "old"].starts_with(&names), "{names:?}");
        assert_eq!(names.len(), (max_series / of_run).min(3));
        assert_eq!(names.len() + selection.omitted_runs, 3);
        assert!(selection.runs.iter().map(series).sum::<usize>() <= max_series);
        for selected in &selection.runs {
            assert_eq!((series(selected) as u64 + selected.omitted) * 3, whole as u64);
        }
        let rows: Vec<usize> = selection.runs.iter().map(|selected| selected.rows).collect();
        assert!(rows.is_sorted_by(|newer, older| newer >= older), "{rows:?}");
    }
}

/// A tenant with many new runs would otherwise hide the runs of all others.
#[test]
fn runs_of_one_namespace_do_not_displace_those_of_others() {
    let of = |namespace: &str, name: &str, minute| {
        Arc::new(RunValues {
            namespace: namespace.into(),
            ..fixture::values(name, minute)
        })
    };
    let mut runs: Vec<_> = (10..40)
        .map(|minute| of("noisy", &format!("run-{minute}"), minute))
        .collect();
    runs.extend([
        of("quiet", "older", 1),
        of("quiet", "newer", 2),
        of("third", "only", 3),
    ]);
    let of_run = results::run_series_count(&runs[0]);
    let selection = select(runs, 5 * of_run);
    let names: Vec<&str> = selection.runs.iter().map(|one| &*one.run.name).collect();
    assert_eq!(names, ["run-39", "only", "newer", "run-38", "older"]);
    assert_eq!(selection.omitted_runs, 28);
}
