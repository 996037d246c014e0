//! Tests that parse the formatted metrics of a run.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::metrics::fixture::{self, ALL, arm, comparison};
use crate::metrics::limits::SelectedRun;
use reader::{Labels, Metrics, read};

#[path = "../../../tests/exposition/reader.rs"]
mod reader;

fn write_exposition(runs: Vec<RunValues>) -> String {
    let runs = runs.into_iter().map(SelectedRun::with_all_rows).collect();
    open_metrics(Selection {
        runs,
        omitted_runs: 0,
    })
    .unwrap()
}

fn samples(metrics: &Metrics) -> usize {
    metrics.values().map(|series| series.len()).sum()
}

#[test]
fn finished_run_with_every_kind_of_value() {
    let text = write_exposition(vec![fixture::values("nixl-1", 0)]);
    let metrics = read(&text);
    assert_eq!(metrics.len(), results::all().count());
    insta::assert_snapshot!(text);
}

#[test]
fn samples_have_the_documented_labels() {
    let metrics = read(&write_exposition(vec![fixture::values("nixl-1", 0)]));
    for metric in results::all() {
        let Definition { name, labels, .. } = metric.definition;
        let mut documented: Vec<&str> = labels.iter().map(|label| label.name).collect();
        documented.sort_unstable();
        assert!(!metrics[name].is_empty(), "{name}");
        for series in metrics[name].keys() {
            assert_eq!(series.keys().collect::<Vec<_>>(), documented, "{name}");
        }
    }
}

#[test]
fn new_run_has_a_creation_time_and_no_results() {
    let run = fixture::with_status("new", 0, json!({}));
    let metrics = read(&write_exposition(vec![RunValues::from_run(&run, ALL)]));
    assert_eq!(
        metrics["fabricbench_run_created_timestamp_seconds"]
            .values()
            .sum::<f64>(),
        1_772_359_200.0
    );
    for name in [
        "fabricbench_run_state",
        "fabricbench_run_outcome",
        "fabricbench_arm_valid",
    ] {
        assert!(metrics[name].is_empty(), "{name}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn formatted_values_parse_back(
        names in prop::collection::vec(any::<String>(), 1..4),
        sizes in prop::collection::vec(any::<u64>(), 1..4),
        change in -1_000_000..10_000_000_i64,
        nanos in 0..i64::MAX,
        max_series in 0..200_usize,
    ) {
        let mut status = fixture::status();
        let cells = || names.iter().flat_map(|name| sizes.iter().map(move |size| (name, *size)));
        status["results"] = cells().map(|(name, size)| arm(name, size)).collect();
        status["results"][0]["values"]["latencyP50Nanos"] = nanos.into();
        status["comparisons"] = names.iter().map(|name| comparison(name, "LatencyP50", true)).collect();
        status["comparisons"][0]["effectPpm"] = change.into();
        status["environment"]["libraries"] = json!(names);
        let run = fixture::with_status("r", 0, status);
        let metrics = read(&write_exposition(vec![RunValues::from_run(&run, ALL)]));
        let of_arm = |metric: &str, name: &str, size: u64| {
            let mut series = metrics[metric].iter();
            let wanted = |labels: &Labels| labels["arm"] == name && labels["size_bytes"] == size.to_string();
            series.find(|(labels, _)| wanted(labels)).map(|(_, value)| *value)
        };
        for (name, size) in cells() {
            prop_assert_eq!(of_arm("fabricbench_arm_valid", name, size), Some(1.0));
        }
        prop_assert_eq!(
            of_arm("fabricbench_comparison_ratio", &names[0], 64),
            Some(1.0 + change as f64 / 1e6)
        );
        let whole = samples(&metrics);
        let bounded = read(&write_exposition(vec![RunValues::from_run(&run, max_series)]));
        let omitted = bounded["fabricbench_run_series_dropped"].values().sum::<f64>() as usize;
        prop_assert_eq!(samples(&bounded) + omitted, whole);
        // One series, the number of omitted runs, does not belong to the run.
        let of_run = samples(&bounded) - 1;
        let rows: usize = ["arm", "comparison", "pair"].iter().map(|kind| {
            let prefix = format!("fabricbench_{kind}");
            bounded.iter().filter(|(name, _)| name.starts_with(&prefix)).map(|(_, series)| series.len()).sum::<usize>()
        }).sum();
        prop_assert!(of_run <= max_series || rows == 0, "{} of {}", of_run, max_series);
    }
}
