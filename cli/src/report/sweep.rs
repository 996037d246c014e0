//! Sentences about load sweeps, shared by the report formats.

use campaign::format;
use campaign::summarize::{MAX_LATENCY_RATIO, MIN_COMPLETED_SHARE, SweepSummary};

use super::Report;

/// The results of all arms in one sweep at one size.
pub struct SweepText<'a> {
    /// Name of the scenario in the spec.
    pub name: &'a str,
    /// Heading of the lines, such as `highest sustained rate at 64 KiB, in operations/s per thread`.
    pub title: String,
    /// Results of the arms, in plan order.
    pub arms: Vec<&'a SweepSummary>,
}

/// Returns the run's sweeps, in plan order.
pub fn sweeps<'a>(report: &Report<'a>) -> Vec<SweepText<'a>> {
    let summaries = &report.evaluation.summary.sweeps;
    let same = |a: &SweepSummary, b: &SweepSummary| (&a.sweep, a.size_bytes) == (&b.sweep, b.size_bytes);
    let of_sweep = summaries.chunk_by(same).filter_map(|arms| {
        let first = arms.first()?;
        Some(SweepText {
            name: &first.sweep,
            title: format!(
                "highest sustained rate at {}, in operations/s per thread",
                format::size(first.size_bytes)
            ),
            arms: arms.iter().collect(),
        })
    });
    of_sweep.collect()
}

/// Returns the name of the arm in `sweep`.
pub fn arm_name<'a>(report: &Report<'a>, sweep: &SweepSummary) -> &'a str {
    report
        .plan
        .arms
        .get(sweep.arm)
        .map_or("", |arm| arm.name.as_str())
}

/// Formats the knee and the capacity of an arm.
pub fn line(sweep: &SweepSummary) -> String {
    match capacity(sweep) {
        Some(capacity) => format!("{}; completes {capacity} when saturated", sweep.describe()),
        None => sweep.describe(),
    }
}

/// Formats the capacity with its interval, such as `381/s [379, 382]`; `None` if no rate is saturated.
pub fn capacity(sweep: &SweepSummary) -> Option<String> {
    let summary = sweep.capacity.as_ref()?;
    let interval = summary.lower.zip(summary.upper);
    let interval = interval.map_or_else(String::new, |(lower, upper)| format!(" [{lower:.0}, {upper:.0}]"));
    Some(format!("{:.0}/s{interval}", summary.median))
}

/// Returns the rule that determines whether a rate is sustained.
pub fn rule() -> String {
    format!(
        "A rate is sustained if its operations complete at {:.0} % or more of the rate, and if their p99 latency is at most \
         {MAX_LATENCY_RATIO} times the value at the lowest rate, both as medians over the rounds.",
        100.0 * MIN_COMPLETED_SHARE
    )
}
