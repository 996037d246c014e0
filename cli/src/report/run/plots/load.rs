//! Plots of latency by load, which is a rate or a number of workers.

use campaign::format;
use campaign::summarize::{Knee, RatePoint, SweepSummary};

use super::{HEIGHT, arm_of};
use crate::report::Report;
use crate::report::plot::{Axis, Plot, PlotArm, Shape};

/// Horizontal distance between the knees of two arms, as a fraction of the axis.
const KNEE_DODGE: f64 = 0.008;
/// Dash and gap lengths of a knee's line.
const KNEE_DASH: (u32, u32) = (3, 3);
/// Maximum number of labels of loads on an axis.
const MAX_LABELS: usize = 6;

/// Plot of the latency by rate in the sweep of which `first` is the first arm.
pub(crate) fn of_sweep(report: &Report<'_>, first: &SweepSummary, arms: &[SweepSummary]) -> Plot {
    let curves = arms.iter().map(|arm| {
        let of = |value: fn(&RatePoint) -> Option<f64>| {
            let points = arm.points.iter();
            points
                .filter_map(|point| Some((f64::from(point.rate), value(point)?)))
                .collect()
        };
        LatencyCurve {
            arm: arm_of(report, arm.arm),
            p50: of(|point| point.p50_nanos),
            p99: of(|point| point.p99_nanos),
            knee: match arm.knee {
                Some(Knee::InRange { rate, .. }) => Some(rate.into()),
                _ => None,
            },
        }
    });
    let loads = first.points.iter().map(|point| point.rate).collect();
    let mut plot = by_load(curves.collect(), loads);
    plot.description = format!(
        "Latency by rate in the sweep {}. The table of all rates shows the same values",
        first.sweep
    );
    plot.caption = "latency from the intended start by rate (operations/s per thread): p99 (discs) and p50 (bars), medians \
                    over the rounds. The dashed vertical lines are the highest sustained rates."
        .to_owned();
    plot
}

/// Latencies of one arm by load.
pub(crate) struct LatencyCurve {
    /// The arm.
    pub arm: PlotArm,
    /// Loads and median latencies in nanoseconds, lowest load first.
    pub p50: Vec<(f64, f64)>,
    /// Loads and 99th percentiles of latency in nanoseconds.
    pub p99: Vec<(f64, f64)>,
    /// Highest sustained load, if it is known and within the range of the plot.
    pub knee: Option<f64>,
}

/// Plot of latency by load, which is a rate or a number of workers. Both axes are logarithmic. `loads` contains all loads,
/// lowest first.
pub(crate) fn by_load(curves: Vec<LatencyCurve>, loads: Vec<u32>) -> Plot {
    let latencies = curves.iter().flat_map(|curve| curve.p50.iter().chain(&curve.p99));
    let values: Vec<f64> = latencies.map(|(_, nanos)| *nanos).collect();
    let bottom = values.iter().copied().fold(f64::INFINITY, f64::min);
    let top = values.iter().copied().fold(0.0, f64::max);
    let first = f64::from(loads.first().copied().unwrap_or(1).max(1));
    let last = f64::from(loads.last().copied().unwrap_or(1).max(1));
    let ratio = (last / first).max(1.01);
    let (low, high) = (first / ratio.powf(0.05), last * ratio.powf(0.05));
    let every = loads.len().div_ceil(MAX_LABELS);
    let ticks = loads.iter().enumerate().map(|(index, load)| {
        let label = (index % every == 0).then(|| load.to_string());
        (f64::from(*load), label.unwrap_or_default())
    });
    let mut marks = Vec::new();
    for (index, curve) in curves.into_iter().enumerate() {
        let LatencyCurve { arm, p50, p99, knee } = curve;
        if let Some(knee) = knee {
            let knee = knee * (high / low).powf(KNEE_DODGE * index as f64);
            marks.push(arm.mark(Shape::Line {
                points: vec![(knee, bottom), (knee, top)],
                width: 2,
                opacity: 1.0,
                dash: Some(KNEE_DASH),
            }));
        }
        marks.push(arm.line(p50.clone(), 1, 1.0));
        marks.push(arm.line(p99.clone(), 2, 1.0));
        // Discs mark the 99th percentile, and short bars the median.
        marks.extend(p99.into_iter().map(|point| arm.marker(point, 3)));
        let half = (high / low).powf(KNEE_DODGE);
        let bars = p50.into_iter();
        marks.extend(bars.map(|(load, nanos)| arm.whisker((load / half, nanos), (load * half, nanos), 3)));
    }
    Plot {
        description: String::new(),
        caption: String::new(),
        height: HEIGHT,
        x: Axis::logarithmic(low, high, ticks.collect()),
        x_title: "",
        y: Axis::logarithmic_around(values.into_iter(), format::nanos),
        has_rows: true,
        marks,
    }
}
