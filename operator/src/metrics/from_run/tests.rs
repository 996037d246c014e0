//! Tests for the values that are read from a run, and for their order.

use serde_json::json;

use super::*;
use crate::metrics::fixture::{self, ALL};
use crate::metrics::values::Row;

/// Kind and name of each row.
fn rows(values: &RunValues) -> Vec<(&'static str, &str)> {
    let name = |index| values.names.get(index);
    values
        .rows
        .iter()
        .map(|row| match row {
            Row::Comparison(one) if one.primary => ("primary", name(one.arm)),
            Row::Comparison(one) => ("described", name(one.arm)),
            Row::Pair(pair) => ("pair", name(pair.target)),
            Row::Arm(arm) => ("arm", name(arm.arm)),
        })
        .collect()
}

#[test]
fn orders_primary_comparisons_first_and_other_metrics_last() {
    assert_eq!(
        rows(&fixture::values("r", 0)),
        [
            ("primary", "fi-inject"),
            ("primary", "base-control"),
            ("primary", "fi-inject"),
            ("pair", "node-2"),
            ("arm", "base"),
            ("arm", "fi-inject"),
            ("described", "fi-inject"),
        ]
    );
}

#[test]
fn counts_omitted_series_and_keeps_the_most_important() {
    let all = fixture::values("r", 0);
    let series = |values: &RunValues| {
        let of_rows = values.rows.iter().map(results::row_series_count);
        results::run_series_count(values) + of_rows.sum::<usize>()
    };
    let whole = series(&all);
    for max_series in 0..=whole {
        let some = RunValues::from_run(&fixture::finished("r", 0), max_series);
        assert_eq!(series(&some) + some.omitted as usize, whole);
        assert!(rows(&all).starts_with(&rows(&some)));
        assert!(series(&some) <= max_series || some.rows.is_empty());
    }
    assert_eq!(RunValues::from_run(&fixture::finished("r", 0), whole), all);
}

#[test]
fn ignores_duplicate_results() {
    let mut status = fixture::status();
    let duplicate = status["results"][0].clone();
    status["results"].as_array_mut().unwrap().push(duplicate);
    let twice = RunValues::from_run(&fixture::with_status("r", 0, status), ALL);
    assert_eq!(twice.rows, fixture::values("r", 0).rows);
}

#[test]
fn bounds_the_lists_of_a_run() {
    let mut status = fixture::status();
    let many = |what: &str| {
        json!(
            (0..500)
                .map(|number| format!("{what}-{number}"))
                .collect::<Vec<_>>()
        )
    };
    status["placement"]["nodes"] = many("node");
    status["environment"]["libraries"] = many(&"x".repeat(5000));
    let values = RunValues::from_run(&fixture::with_status("r", 0, status), ALL);
    assert_eq!(values.nodes.len(), 64);
    assert!(values.environment.len() <= 32);
    assert!(
        values
            .environment
            .iter()
            .all(|(_, value)| value.chars().count() <= 256)
    );
}

#[test]
fn reads_the_finish_time_from_conditions_without_controller_state() {
    let mut status = fixture::status();
    status.as_object_mut().unwrap().remove("execution");
    let values = RunValues::from_run(&fixture::with_status("r", 0, status), ALL);
    assert_eq!(values.finished, Some(1_772_362_801));
}
