//! What to measure if the resolution of printed values leaves a verdict open. Performs no I/O.

use std::fmt::Write;

use crds::v1alpha1::{Metric, Verdict};

use super::comparison::Comparison;
use super::expectations::metric_name;
use super::reason::Inconclusive;
use crate::format;
use crate::plan::Plan;
use crate::stats::percent_change;

/// Names the resolution as the cause of every `Inconclusive` verdict that it leaves open.
pub(super) fn explain(plan: &Plan, all: &mut [Comparison]) {
    let is_open = |one: &Comparison| one.is_resolution_open && one.verdict == Some(Verdict::Inconclusive);
    let explained: Vec<(usize, String)> = all
        .iter()
        .enumerate()
        .filter(|(_, one)| is_open(one))
        .map(|(index, one)| (index, advice(plan, all, one)))
        .collect();
    for (index, message) in explained {
        if let Some(comparison) = all.get_mut(index) {
            comparison.inconclusive = Some(Inconclusive::Resolution { message });
        }
    }
}

/// Which changes the printed values allow, and what to measure instead.
fn advice(plan: &Plan, all: &[Comparison], comparison: &Comparison) -> String {
    let mut text = match &comparison.resolution {
        Some(resolution) => format!(
            "the last digit of the printed values alone allows a change of {}, and more rounds do not narrow it",
            format::interval(percent_change(resolution.lower), percent_change(resolution.upper))
        ),
        None => comparison
            .reason
            .as_ref()
            .map(ToString::to_string)
            .unwrap_or_default(),
    };
    // Writing to a String cannot fail.
    let _ = write!(
        text,
        ": use {}more iterations of the tool, or a larger size",
        finer_metric(plan, all, comparison).unwrap_or_default()
    );
    text
}

/// The other value that the tool prints, if its resolution is inside the margin.
fn finer_metric(plan: &Plan, all: &[Comparison], comparison: &Comparison) -> Option<String> {
    let other = match comparison.metric {
        Metric::ReportedBandwidth => Metric::ReportedLatency,
        Metric::ReportedLatency => Metric::ReportedBandwidth,
        _ => return None,
    };
    let found = all.iter().find(|one| {
        (one.scenario, one.size_bytes, one.arm, one.metric)
            == (comparison.scenario, comparison.size_bytes, comparison.arm, other)
    })?;
    let half_width = percent_change(found.resolution?.half_width());
    (half_width <= f64::from(plan.sampling.margin_percent)).then(|| {
        format!(
            "primaryMetric: {other:?} ({}, known to \u{b1}{half_width:.2} %), ",
            metric_name(other)
        )
    })
}
