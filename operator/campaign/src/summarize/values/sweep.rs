//! The highest rate that each arm of a load sweep sustains: the usable capacity in the sense of Jain, "The Art of
//! Computer Systems Performance Analysis", section 3.3, that is, the highest rate at which the response time stays
//! below a limit.

use crds::v1alpha1::Metric;
use serde::Serialize;

use super::cell::CellSummary;
use super::load::falls_behind;
use super::round_summary::RoundSummary;
use crate::plan::{Plan, PlannedScenario};

/// Maximum of the 99th percentile of latency at a sustained rate, relative to the value at the lowest rate.
pub const MAX_LATENCY_RATIO: f64 = 10.0;

/// Result of one arm in a load sweep.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SweepSummary {
    /// Name of the scenario in the spec.
    pub sweep: String,
    /// Transfer size in bytes.
    pub size_bytes: u64,
    /// Index of the arm in the plan.
    pub arm: usize,
    /// The rates, lowest first.
    pub points: Vec<RatePoint>,
    /// Highest sustained rate; `None` if the measurements needed to determine it are missing.
    pub knee: Option<Knee>,
    /// Capacity: completed operations per second per thread at the saturated rate at which their median is highest;
    /// `None` if no rate is saturated. A rate is saturated if operations complete at less than
    /// [`super::MIN_COMPLETED_SHARE`] of it.
    pub capacity: Option<RoundSummary>,
}

/// Values of one arm at one rate.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RatePoint {
    /// Index of the scenario in the plan.
    pub scenario: usize,
    /// Intended operations per second per thread.
    pub rate: u32,
    /// Completed operations per second per thread.
    pub completed_rate: Option<RoundSummary>,
    /// Completed rate as a fraction of the intended rate: the median over the rounds.
    pub completed_share: Option<f64>,
    /// Median latency in nanoseconds: the median over the rounds.
    pub p50_nanos: Option<f64>,
    /// 99th percentile of latency in nanoseconds: the median over the rounds.
    pub p99_nanos: Option<f64>,
    /// Whether the rate is sustained; `None` if it is unknown.
    pub sustained: Option<bool>,
}

/// Position of the highest rate such that it and all lower rates are sustained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", tag = "position")]
pub enum Knee {
    /// The lowest rate is not sustained.
    BelowRange,
    /// A rate within the range is the first that is not sustained.
    InRange {
        /// Highest sustained rate.
        rate: u32,
        /// Next rate, which is not sustained.
        #[serde(rename = "nextRate")]
        next: u32,
    },
    /// All rates are sustained.
    AboveRange,
}

impl SweepSummary {
    /// The rates at which the arm has a valid case.
    pub fn measured_points(&self) -> impl Iterator<Item = &RatePoint> {
        self.points.iter().filter(|point| point.p50_nanos.is_some())
    }

    /// The lowest rate above the knee that is sustained although a lower rate is not; `None` if there is no such rate.
    pub fn sustained_above_knee(&self) -> Option<u32> {
        let mut above = self
            .points
            .iter()
            .skip_while(|point| point.sustained != Some(false));
        above
            .find(|point| point.sustained == Some(true))
            .map(|point| point.rate)
    }

    /// Describes the knee, with the range of the sweep if the knee is outside it.
    pub fn describe(&self) -> String {
        let (first, last) = (self.points.first(), self.points.last());
        let rate = |point: Option<&RatePoint>| point.map_or(0, |point| point.rate);
        match self.knee {
            None => "unknown: measurements are missing".to_owned(),
            Some(Knee::BelowRange) => format!("below {}/s", rate(first)),
            Some(Knee::AboveRange) => format!("above {}/s", rate(last)),
            Some(Knee::InRange { rate, next }) => format!("{rate}/s (not {next}/s)"),
        }
    }
}

/// Summarizes every sweep of the plan for each arm, in plan order.
pub(in crate::summarize) fn sweeps(plan: &Plan, cells: &[CellSummary]) -> Vec<SweepSummary> {
    let indexed: Vec<(usize, &PlannedScenario)> = plan.scenarios.iter().enumerate().collect();
    let rates = indexed.chunk_by(|(_, a), (_, b)| a.sweep.is_some() && a.sweep == b.sweep);
    let mut summaries = Vec::new();
    for rates in rates {
        let Some((
            _,
            PlannedScenario {
                sweep: Some(sweep),
                sizes,
                ..
            },
        )) = rates.first()
        else {
            continue;
        };
        for size_bytes in sizes {
            for arm in 0..plan.arms.len() {
                let points = rates.iter().filter_map(|(scenario, planned)| {
                    let key = (*scenario, *size_bytes, arm);
                    let cell = cells
                        .iter()
                        .find(|cell| (cell.scenario, cell.size_bytes, cell.arm) == key)?;
                    point(*scenario, planned, cell)
                });
                summaries.push(summarize(sweep, *size_bytes, arm, points.collect()));
            }
        }
    }
    summaries
}

/// Values of `cell`, without deciding whether the rate is sustained.
fn point(scenario: usize, planned: &PlannedScenario, cell: &CellSummary) -> Option<RatePoint> {
    let posters = planned.assignment.workload.posters();
    let median = |metric| cell.metric(metric).map(|summary: &RoundSummary| summary.median);
    Some(RatePoint {
        scenario,
        rate: planned.rate()?,
        completed_rate: cell
            .metric(Metric::CompletionRate)
            .map(|summary| summary.divided_by(posters.into())),
        completed_share: cell.completed_share,
        p50_nanos: median(Metric::LatencyP50),
        p99_nanos: median(Metric::LatencyP99),
        sustained: None,
    })
}

fn summarize(sweep: &str, size_bytes: u64, arm: usize, mut points: Vec<RatePoint>) -> SweepSummary {
    let reference = points.first().and_then(|point| point.p99_nanos);
    for point in &mut points {
        point.sustained = is_sustained(point.completed_share, point.p99_nanos, reference);
    }
    SweepSummary {
        sweep: sweep.to_owned(),
        size_bytes,
        arm,
        knee: knee(&points),
        capacity: capacity(&points).cloned(),
        points,
    }
}

/// The completed rate at the saturated rate at which its median is highest. If several rates tie, the lowest one is
/// used.
fn capacity(points: &[RatePoint]) -> Option<&RoundSummary> {
    let is_saturated = |point: &&RatePoint| point.completed_share.is_some_and(falls_behind);
    let completed = points
        .iter()
        .filter(is_saturated)
        .filter_map(|point| point.completed_rate.as_ref());
    completed.rev().max_by(|a, b| a.median.total_cmp(&b.median))
}

/// Whether a rate is sustained. `reference` is the 99th percentile of latency at the lowest rate.
fn is_sustained(share: Option<f64>, p99: Option<f64>, reference: Option<f64>) -> Option<bool> {
    let (share, p99, reference) = (share?, p99?, reference?);
    Some(!falls_behind(share) && p99 <= MAX_LATENCY_RATIO * reference)
}

fn knee(points: &[RatePoint]) -> Option<Knee> {
    let mut sustained: Option<u32> = None;
    for point in points {
        match (point.sustained?, sustained) {
            (true, _) => sustained = Some(point.rate),
            (false, None) => return Some(Knee::BelowRange),
            (false, Some(rate)) => {
                let next = point.rate;
                return Some(Knee::InRange { rate, next });
            }
        }
    }
    sustained.map(|_| Knee::AboveRange)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(values: &[(u32, f64, f64)]) -> Vec<RatePoint> {
        let point = |(rate, share, p99): &(u32, f64, f64)| RatePoint {
            scenario: 0,
            rate: *rate,
            completed_rate: RoundSummary::from_rounds(vec![(1, f64::from(*rate) * share)]),
            completed_share: Some(*share),
            p50_nanos: Some(p99 / 2.0),
            p99_nanos: Some(*p99),
            sustained: None,
        };
        values.iter().map(point).collect()
    }

    fn sweep(values: &[(u32, f64, f64)]) -> SweepSummary {
        summarize("sweep", 64, 0, points(values))
    }

    #[test]
    fn knee_is_the_last_rate_before_the_first_that_is_not_sustained() {
        let slow = sweep(&[
            (100, 1.0, 5.0),
            (200, 1.0, 50.0),
            (400, 0.97, 51.0),
            (800, 0.5, 9.0),
        ]);
        assert_eq!(slow.knee, Some(Knee::InRange { rate: 200, next: 400 }));
        assert_eq!(slow.describe(), "200/s (not 400/s)");
        // 400 is not saturated: its latency is too long, but its transfers complete in time.
        assert_eq!(slow.sustained_above_knee(), None);
        assert_eq!(slow.capacity.map(|capacity| capacity.median), Some(400.0));
        let recovered = sweep(&[(100, 1.0, 5.0), (200, 0.94, 5.0), (400, 1.0, 5.0)]);
        assert_eq!(recovered.knee, Some(Knee::InRange { rate: 100, next: 200 }));
        assert_eq!(recovered.sustained_above_knee(), Some(400));
        assert_eq!(recovered.capacity.map(|capacity| capacity.median), Some(188.0));
    }

    #[test]
    fn capacity_is_the_highest_completed_rate_of_the_saturated_rates() {
        let collapsing = sweep(&[
            (100, 1.0, 5.0),
            (200, 0.9, 50.0),
            (400, 0.5, 99.0),
            (800, 0.2, 99.0),
        ]);
        assert_eq!(collapsing.capacity.map(|capacity| capacity.median), Some(200.0));
    }

    #[test]
    fn knee_outside_the_range_has_no_number() {
        let above = sweep(&[(100, 1.0, 5.0), (200, 1.0, 9.0)]);
        assert_eq!((above.knee, &above.capacity), (Some(Knee::AboveRange), &None));
        assert_eq!(above.describe(), "above 200/s");
        let below = sweep(&[(100, 0.5, 5.0), (200, 0.25, 5.0)]);
        assert_eq!(below.knee, Some(Knee::BelowRange));
        assert_eq!(below.describe(), "below 100/s");
        assert_eq!(below.capacity.map(|capacity| capacity.median), Some(50.0));
    }

    #[test]
    fn missing_measurements_leave_the_knee_unknown_unless_a_lower_rate_decides_it() {
        let mut missing = points(&[(100, 1.0, 5.0), (200, 1.0, 5.0), (400, 0.5, 500.0)]);
        missing[1].completed_share = None;
        assert_eq!(summarize("sweep", 64, 0, missing.clone()).knee, None);
        missing[2].completed_share = None;
        missing[1].completed_share = Some(0.9);
        let knee = summarize("sweep", 64, 0, missing).knee;
        assert_eq!(knee, Some(Knee::InRange { rate: 100, next: 200 }));
        assert_eq!(summarize("sweep", 64, 0, Vec::new()).knee, None);
    }
}
