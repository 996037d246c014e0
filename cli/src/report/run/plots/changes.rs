//! Plots of changes: of every arm at every size, and by one factor without and with another.

use campaign::compare::{ConditionalChange, FactorEffect};
use campaign::format;
use campaign::plan::{PlannedScenario, Role};
use crds::v1alpha1::Optimization;

use super::{LOW_HEIGHT, shows_rounds};
use crate::report::plot::{Axis, Color, Mark, Plot, PlotArm, Shape, SizeAxis, percent_label};
use crate::report::run::noise;
use crate::report::{Report, labels};

/// Maximum change that an axis covers, in percent. Longer whiskers end at the edge of the plot with a mark, and rounds with
/// larger changes are drawn at the edge.
const MAX_CHANGE: f64 = 150.0;
/// Vertical distance between neighboring arms in a row of changes.
const DOT_DISTANCE: u32 = 11;

/// Change of one arm at one size, in percent.
struct Dot {
    arm: PlotArm,
    /// Position on the vertical axis.
    y: f64,
    percent: f64,
    /// Lower and upper end of the interval; both are the change if there is none.
    interval: (f64, f64),
    /// Change of each round.
    rounds: Vec<f64>,
    /// Whether the comparison has a verdict. Dots without a verdict are hollow.
    has_verdict: bool,
}

impl Dot {
    /// Values that the horizontal axis must contain.
    fn values(&self) -> impl Iterator<Item = f64> {
        let values = [self.interval.0, self.interval.1, self.percent].into_iter();
        let all = values.chain(self.rounds.iter().copied());
        all.map(|change| change.clamp(-MAX_CHANGE, MAX_CHANGE))
    }

    fn marks(&self, x: &Axis) -> Vec<Mark> {
        let Self {
            arm,
            y,
            percent,
            interval: (low, high),
            ..
        } = *self;
        let mut marks: Vec<Mark> = self.rounds.iter().map(|change| arm.round((*change, y))).collect();
        if low < high {
            marks.push(arm.whisker((low, y), (high, y), 2));
        }
        marks.push(arm.outlined_marker((percent, y), 4, self.has_verdict));
        let ends = [(low.min(percent), false), (high.max(percent), true)];
        let beyond = ends.into_iter().filter(|(change, _)| !x.contains(*change));
        marks.extend(beyond.map(|(change, is_right)| arm.mark(Shape::Beyond((change, y), is_right))));
        marks
    }
}

/// Changes in the primary metric of the scenario with index `index`.
fn dots(report: &Report<'_>, index: usize, scenario: &PlannedScenario) -> Vec<Dot> {
    let plan = report.plan;
    let arms: Vec<usize> = (0..plan.arms.len()).filter(|arm| *arm != plan.baseline).collect();
    let rows = scenario.sizes.len() as f64;
    let shows_rounds = shows_rounds(report, scenario);
    let primary = report.evaluation.comparisons.primary();
    let dots = primary.filter(|one| one.scenario == index).filter_map(|one| {
        let row = scenario.sizes.iter().position(|size| *size == one.size_bytes)?;
        let slot = arms.iter().position(|arm| *arm == one.arm).unwrap_or_default();
        let percent = one.effect?.percent;
        let rounds = one.round_percents.iter().filter(|_| shows_rounds);
        Some(Dot {
            arm: PlotArm {
                index: one.arm,
                is_control: one.role == Role::ControlArm,
            },
            // Rows are numbered from top to bottom, but the values of the axis increase from bottom to top.
            y: rows - row as f64 - (slot as f64 + 1.0) / (arms.len() as f64 + 1.0),
            percent,
            interval: one.interval_percent().unwrap_or((percent, percent)),
            rounds: rounds.copied().collect(),
            has_verdict: one.verdict.is_some(),
        })
    });
    dots.collect()
}

/// Plot of every arm's change at every size: dots with whiskers for the intervals, and a band for the margin. `None` if
/// there are no changes.
pub(super) fn changes(report: &Report<'_>, index: usize, scenario: &PlannedScenario) -> Option<Plot> {
    let dots = dots(report, index, scenario);
    if dots.is_empty() {
        return None;
    }
    let sampling = &report.plan.sampling;
    let (sizes, rows) = (scenario.sizes.len(), scenario.sizes.len() as f64);
    let margin = f64::from(sampling.margin_percent) / 100.0;
    let (least, most) = (-margin / (1.0 + margin) * 100.0, margin * 100.0);
    let values = dots.iter().flat_map(Dot::values);
    let x = Axis::linear_around(values.chain([least * 1.5, most * 1.5]), 7, percent_label);
    let ticks = scenario.sizes.iter().enumerate();
    let ticks = ticks.map(|(row, size)| (rows - row as f64 - 0.5, format::size(*size)));
    let band = Mark {
        color: Color::Band,
        shape: Shape::Area((least, 0.0), (most, rows)),
    };
    let across = (-MAX_CHANGE * 10.0, MAX_CHANGE * 10.0);
    let separators = (1..sizes).map(|row| {
        let row = row as f64;
        Mark::line(Color::Grid, vec![(across.0, row), (across.1, row)], 1)
    });
    let zero = Mark::line(Color::Text, vec![(0.0, 0.0), (0.0, rows)], 1);
    let marks = [band].into_iter().chain(separators).chain([zero]);
    let marks = marks.chain(dots.iter().flat_map(|dot| dot.marks(&x))).collect();
    let slots = report.plan.arms.len().max(2) - 1;
    Some(Plot {
        description: format!(
            "Change at each size in scenario {}. The table of verdicts shows the same values",
            scenario.assignment.name
        ),
        caption: format!(
            "Change in {} at each size, with its interval. The band is the margin of {} %. Hollow dots have no verdict. A \
             chevron at the edge marks a change or an interval that extends beyond the plot. Noise floor: {}.",
            labels::metric_title(&scenario.assignment.workload, scenario.primary),
            sampling.margin_percent,
            noise::floor(report, Some(index))
        ),
        height: (sizes * (slots + 1)) as u32 * DOT_DISTANCE + 76,
        x,
        x_title: "change from the baseline",
        y: Axis::linear(0.0, rows, ticks.collect()),
        has_rows: false,
        marks,
    })
}

/// Plot of the change by the first factor of `pair` at each size, without and with the second factor.
pub(crate) fn interaction(effects: &[&FactorEffect], pair: [Optimization; 2]) -> Plot {
    let points = effects.iter().filter(|effect| effect.factors == pair);
    let points: Vec<(u64, [ConditionalChange; 2])> = points
        .filter_map(|effect| Some((effect.size_bytes, effect.conditional?)))
        .collect();
    // Ends of the whisker within the range of the axis. Without an interval, both are the change.
    let ends = |change: &ConditionalChange| {
        let (low, high) = change
            .interval_percent
            .unwrap_or((change.percent, change.percent));
        (low.max(-MAX_CHANGE), high.min(MAX_CHANGE.max(change.percent)))
    };
    let changes = points.iter().flat_map(|(_, changes)| changes);
    let values = changes.flat_map(|change| [change.percent, ends(change).0, ends(change).1]);
    let y = Axis::linear_around(values.chain([0.0]), 6, percent_label);
    let SizeAxis { axis: x, low, high } = SizeAxis::new(points.iter().map(|(size, _)| *size));
    let mut marks = vec![Mark::line(Color::Text, vec![(low, 0.0), (high, 0.0)], 1)];
    // The lines have the color of the first variant.
    let arm = PlotArm {
        index: 1,
        is_control: false,
    };
    for state in [0, 1] {
        let changes = points.iter().filter_map(|(size, changes)| {
            let change = changes.get(state)?;
            Some((SizeAxis::position(*size), change))
        });
        let changes: Vec<_> = changes.collect();
        let width = 1 + state as u32;
        for (x, change) in &changes {
            let (low, high) = ends(change);
            marks.push(arm.whisker((*x, low), (*x, high), width));
        }
        let line: Vec<(f64, f64)> = changes.iter().map(|(x, change)| (*x, change.percent)).collect();
        marks.push(arm.line(line.clone(), width, 1.0));
        let points = line.into_iter();
        marks.extend(points.map(|at| arm.outlined_marker(at, 4, state == 1)));
    }
    let [first, second] = pair.map(Optimization::name);
    Plot {
        description: format!(
            "Change by {first} without and with {second}. The table of effects shows the interactions"
        ),
        caption: format!(
            "Change by {first} at each size, without {second} (hollow discs) and with {second} (filled discs), with \
             intervals. The lines coincide if the factors do not interact, which only the interval of the interaction in the \
             table can show."
        ),
        height: LOW_HEIGHT,
        x,
        x_title: "",
        y,
        has_rows: true,
        marks,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_beyond_the_plot_are_marked() {
        let beyond = |interval: (f64, f64)| {
            let dot = Dot {
                arm: PlotArm {
                    index: 1,
                    is_control: false,
                },
                y: 0.5,
                percent: 5.0,
                interval,
                rounds: Vec::new(),
                has_verdict: false,
            };
            let x = Axis::linear_around(dot.values(), 7, percent_label);
            let marks = dot.marks(&x).into_iter();
            let beyond = marks.filter_map(|mark| match mark.shape {
                Shape::Beyond(_, is_right) => Some(is_right),
                _ => None,
            });
            beyond.collect::<Vec<_>>()
        };
        assert_eq!(beyond((-20.0, MAX_CHANGE)), [] as [bool; 0]);
        assert_eq!(beyond((-20.0, 900.0)), [true]);
        assert_eq!(beyond((-2000.0, 900.0)), [false, true]);
    }
}
