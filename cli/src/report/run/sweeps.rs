//! Sections of the load sweeps: the highest sustained rate of each arm, a plot of latency by rate, and a table of all rates.

use campaign::format;
use campaign::summarize::{MAX_LATENCY_RATIO, MIN_COMPLETED_SHARE, RatePoint, SweepSummary};

use super::plots;
use crate::report::Report;
use crate::report::document::{Block, Column, Detail, Layout, Row, Section, Table};

/// Sections of the run's sweeps, in plan order.
pub(super) fn sections(report: &Report<'_>) -> Vec<Section> {
    let summaries = &report.evaluation.summary.sweeps;
    let same = |a: &SweepSummary, b: &SweepSummary| (&a.sweep, a.size_bytes) == (&b.sweep, b.size_bytes);
    let sweeps = summaries.chunk_by(same);
    sweeps.filter_map(|arms| section(report, arms)).collect()
}

/// Section of one sweep at one size.
fn section(report: &Report<'_>, arms: &[SweepSummary]) -> Option<Section> {
    let first = arms.first()?;
    let knees = arms.iter().map(|arm| {
        let (name, knee) = (report.arm_name(arm.arm), arm.describe());
        let line = match capacity(arm) {
            Some(capacity) => format!("{name}  {knee}; completes {capacity} when saturated"),
            None => format!("{name}  {knee}"),
        };
        let capacity = capacity(arm).unwrap_or_else(|| "not reached".to_owned());
        Row::new([name.to_owned(), knee, capacity]).line("knee", line)
    });
    let knees = Table::new("", Column::all(["arm", "sustained", "capacity"]), knees).layout(Layout::Lines);
    let rates = arms.iter().flat_map(|arm| {
        let points = arm.points.iter();
        points.map(|point| rate(report.arm_name(arm.arm), point))
    });
    let columns = [
        "arm",
        "rate",
        "completed",
        "completed share",
        "p50",
        "p99",
        "sustained",
    ];
    let rates = Table::new("all rates", Column::all(columns), rates).detail(Detail::Full);
    Some(Section {
        heading: first.sweep.clone(),
        description: format!(
            "highest sustained rate at {}, in operations/s per thread",
            format::size(first.size_bytes)
        ),
        blocks: vec![
            knees.into(),
            Block::note("", rule(), Detail::Full),
            Block::Plots(vec![plots::of_sweep(report, first, arms)]),
            rates.into(),
        ],
        ..Section::default()
    })
}

fn rate(arm: &str, point: &RatePoint) -> Row {
    let or_missing = |text: Option<String>| text.unwrap_or_else(|| "no valid case".to_owned());
    let completed = point.completed_rate.as_ref();
    let sustained = match point.sustained {
        Some(true) => "yes",
        Some(false) => "no",
        None => "unknown",
    };
    Row::new([
        arm.to_owned(),
        format!("{}/s", point.rate),
        or_missing(completed.map(|summary| format!("{:.0}/s", summary.median))),
        or_missing(
            point
                .completed_share
                .map(|share| format!("{:.1} %", 100.0 * share)),
        ),
        or_missing(point.p50_nanos.map(format::nanos)),
        or_missing(point.p99_nanos.map(format::nanos)),
        sustained.to_owned(),
    ])
}

/// Formats the capacity with its interval, such as `381/s [379, 382]`; `None` if no rate is saturated.
fn capacity(sweep: &SweepSummary) -> Option<String> {
    let summary = sweep.capacity.as_ref()?;
    let interval = summary.lower.zip(summary.upper);
    let interval = interval.map_or_else(String::new, |(lower, upper)| format!(" [{lower:.0}, {upper:.0}]"));
    Some(format!("{:.0}/s{interval}", summary.median))
}

/// Returns the rule that determines whether a rate is sustained, and what the capacity is.
fn rule() -> String {
    format!(
        "A rate is sustained if its operations complete at {:.0} % or more of the rate, and if their p99 latency is at most \
         {MAX_LATENCY_RATIO} times the value at the lowest rate, both as medians over the rounds. The capacity is the highest \
         completion rate under overload.",
        100.0 * MIN_COMPLETED_SHARE
    )
}
