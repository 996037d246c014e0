//! What is kept of a run, and in which order.

use serde_json::json;

use super::*;
use crate::metrics::fixture::{self, ALL};

/// Kind and name of each row that is kept.
fn kept(figures: &RunFigures) -> Vec<(&'static str, &str)> {
    let name = |place| figures.names.at(place);
    figures
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
fn primary_comparisons_come_first_and_described_ones_last() {
    assert_eq!(
        kept(&fixture::figures("r", 0)),
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
fn what_does_not_fit_is_counted_and_leaves_the_most_important() {
    let all = fixture::figures("r", 0);
    let series = |figures: &RunFigures| {
        let of_rows = figures.rows.iter().map(results::series_of_row);
        results::series_of_run(figures) + of_rows.sum::<usize>()
    };
    let whole = series(&all);
    for max_series in 0..=whole {
        let some = RunFigures::of(&fixture::finished("r", 0), max_series);
        assert_eq!(series(&some) + some.left_out as usize, whole);
        assert!(kept(&all).starts_with(&kept(&some)));
        assert!(series(&some) <= max_series || some.rows.is_empty());
    }
    assert_eq!(RunFigures::of(&fixture::finished("r", 0), whole), all);
}

#[test]
fn the_same_thing_twice_is_one_row() {
    let mut status = fixture::status();
    let again = status["results"][0].clone();
    status["results"].as_array_mut().unwrap().push(again);
    let twice = RunFigures::of(&fixture::with_status("r", 0, status), ALL);
    assert_eq!(twice.rows, fixture::figures("r", 0).rows);
}

#[test]
fn lists_of_a_run_are_bounded() {
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
    let figures = RunFigures::of(&fixture::with_status("r", 0, status), ALL);
    assert_eq!(figures.nodes.len(), 64);
    assert!(figures.environment.len() <= 32);
    assert!(
        figures
            .environment
            .iter()
            .all(|(_, value)| value.chars().count() <= 256)
    );
}

#[test]
fn a_run_without_a_memory_of_its_own_ended_when_its_conditions_say() {
    let mut status = fixture::status();
    status.as_object_mut().unwrap().remove("execution");
    let figures = RunFigures::of(&fixture::with_status("r", 0, status), ALL);
    assert_eq!(figures.finished, Some(1_772_362_801));
}
