//! Three runs, and every room there could be for them.

use super::*;
use crate::metrics::fixture;

fn series(chosen: &Chosen) -> usize {
    let rows = chosen.run.rows.iter().take(chosen.rows);
    results::series_of_run(&chosen.run) + rows.map(results::series_of_row).sum::<usize>()
}

#[test]
fn the_newest_come_first_and_every_series_is_given_or_counted() {
    let runs: Vec<Arc<RunFigures>> = [("old", 1), ("new", 3), ("middle", 2)]
        .map(|(name, minute)| Arc::new(fixture::figures(name, minute)))
        .into();
    let whole: usize = choose(runs.clone(), usize::MAX).runs.iter().map(series).sum();
    let of_run = results::series_of_run(&runs[0]);
    for max_series in 0..=whole {
        let choice = choose(runs.clone(), max_series);
        let names: Vec<&str> = choice.runs.iter().map(|chosen| &*chosen.run.name).collect();
        assert!(["new", "middle", "old"].starts_with(&names), "{names:?}");
        assert_eq!(names.len(), (max_series / of_run).min(3));
        assert_eq!(names.len() + choice.runs_left_out, 3);
        assert!(choice.runs.iter().map(series).sum::<usize>() <= max_series);
        for chosen in &choice.runs {
            assert_eq!((series(chosen) as u64 + chosen.left_out) * 3, whole as u64);
        }
        let rows: Vec<usize> = choice.runs.iter().map(|chosen| chosen.rows).collect();
        assert!(rows.is_sorted_by(|newer, older| newer >= older), "{rows:?}");
    }
}
