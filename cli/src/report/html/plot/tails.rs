//! Plot of the latency tail: quantiles from the median to the 99.99th percentile, on an axis that is logarithmic in the
//! exceedance probability.

use campaign::format;
use campaign::stats::Distribution;
use campaign::summarize::CallSummary;
use plotters::style::Color;

use super::axis::Axis;
use super::{DrawError, LABEL_MARGIN, arm, chart_with_grid, palette, svg};

/// Latency distribution of one arm.
#[derive(Clone, Debug)]
pub struct Tail<'a> {
    /// Index of the arm in the plan, which determines its color and marker.
    pub arm: usize,
    /// Whether the arm is a control arm.
    pub control: bool,
    /// Latencies in nanoseconds.
    pub latency: &'a Distribution,
    /// The calls whose latencies these are; `None` for other operations. Latencies below the clock are not drawn.
    pub call: Option<&'a CallSummary>,
}

const HEIGHT: u32 = 260;
/// Number of points in a curve.
const POINTS: u32 = 80;

/// Draws the plot as SVG with `description` as its text alternative. Returns `None` if no latency can be drawn, because the
/// plot would have an invented axis.
pub fn tails(description: &str, tails: &[Tail<'_>]) -> Result<Option<String>, DrawError> {
    // The axis counts nines: 99 % is at 2, 99.9 % at 3 and the median at 0.3.
    let median = 0.5_f64.log10().abs();
    let labels = ["90 %", "99 %", "99.9 %", "99.99 %"];
    let nines = labels
        .iter()
        .enumerate()
        .map(|(index, label)| (index as f64 + 1.0, (*label).to_owned()));
    let ticks = std::iter::once((median, "50 %".to_owned()))
        .chain(nines)
        .collect();
    let x = Axis::linear(median, 4.0, ticks);
    let curve = |tail: &Tail<'_>| -> Vec<(f64, f64)> {
        let latency = tail.latency;
        let is_below_clock = |nanos: f64| tail.call.is_some_and(|call| call.is_below_clock(nanos));
        let points = (0..=POINTS).map(|step| median + (4.0 - median) * f64::from(step) / f64::from(POINTS));
        // Quantiles beyond the last sample would only repeat the maximum.
        let observed = points.filter(|nines| 10f64.powf(*nines) <= latency.count() as f64 * 1.0001);
        observed
            .filter_map(|nines| {
                let nanos = latency.quantile(1.0 - 10f64.powf(-nines))? as f64;
                (!is_below_clock(nanos)).then_some((nines, nanos))
            })
            .collect()
    };
    let curves: Vec<_> = tails.iter().map(|tail| (tail, curve(tail))).collect();
    if curves.iter().all(|(_, points)| points.is_empty()) {
        return Ok(None);
    }
    let y = Axis::logarithmic_around(
        curves.iter().flat_map(|(_, points)| points).map(|point| point.1),
        format::nanos,
    );
    svg(HEIGHT, description, |area| {
        let mut chart = chart_with_grid(area, (x, y), LABEL_MARGIN)?;
        for (tail, points) in curves {
            let color = palette::arm(tail.arm, tail.control);
            arm::draw_line(
                &mut chart,
                (tail.arm, tail.control),
                points,
                color.stroke_width(2),
            )?;
        }
        Ok(())
    })
    .map(Some)
}

#[cfg(test)]
mod tests {
    use crds::histogram::Histogram;
    use crds::v1alpha1::{CallSection, RpcPayload};

    use super::*;

    #[test]
    fn calls_below_the_clock_are_not_drawn() {
        let mut samples = Histogram::new();
        (1..1000).for_each(|nanos| samples.record(nanos));
        let latency = Distribution::from(&samples);
        let drawn = |clock_nanos: Option<f64>| {
            let call = CallSummary {
                payload: RpcPayload::SmallInt,
                section: CallSection::Successful,
                cause: None,
                message: None,
                hops: 1,
                is_open_loop: false,
                moments: None,
                clock_nanos,
                below_clock: true,
                memory_growth_bytes: None,
            };
            let tail = Tail {
                arm: 0,
                control: false,
                latency: &latency,
                call: Some(&call),
            };
            tails("", &[tail]).unwrap()
        };
        let all = drawn(None).unwrap();
        assert_eq!(drawn(Some(1.0)).as_ref(), Some(&all));
        assert_ne!(drawn(Some(400.0)).unwrap(), all);
        assert_eq!(drawn(Some(5_000.0)), None);
    }
}
