//! Scaling of parameter serving with the worker count: combines the results of scenarios that were created from the
//! same list of worker counts. The results of each worker are in a separate file.

mod workers;

use campaign::format;
use campaign::format::pluralized;
use campaign::summarize::{CellSummary, CellView, Serving};

use super::plots::{self, LatencyCurve};
use crate::report::Report;
use crate::report::document::{Block, Column, Detail, Layout, Note, Row, Section, Table};
use crate::report::plot::{Plot, PlotArm};
pub(super) use workers::table as workers;

/// Results of one arm at one size for several worker counts.
struct Curve<'a> {
    /// Name of the scenario in the spec.
    name: &'a str,
    /// Size of the parameters, in bytes.
    size_bytes: u64,
    /// Index of the arm in the plan.
    arm: usize,
    /// One element for each worker count, in spec order.
    points: Vec<Point<'a>>,
}

/// Results for one worker count.
struct Point<'a> {
    /// Number of workers.
    workers: u32,
    /// Results of the arm.
    cell: &'a CellSummary,
    /// Staleness; `None` if there is no valid case.
    serving: Option<&'a Serving>,
}

impl Point<'_> {
    /// Formats the mean version lag.
    fn lag(&self) -> String {
        let Some(serving) = self.serving else {
            return "no valid case".to_owned();
        };
        let lag = serving.mean_version_lag;
        let mut text = lag.map_or_else(|| "no version".to_owned(), |lag| format!("{lag:.2} versions"));
        let without = serving.workers_without_version();
        if without > 0 && lag.is_some() {
            text.push_str(&format!(
                " ({without} of {} without a version)",
                pluralized(serving.workers.len() as u64, "worker")
            ));
        }
        text
    }

    /// Formats the median time from the publication of a version to its use.
    fn latency(&self) -> Option<String> {
        self.cell
            .latency
            .quantile(0.5)
            .map(|nanos| format::nanos(nanos as f64))
    }

    /// Formats the median push time, and the number of versions that have one.
    fn push_time(&self) -> Option<String> {
        let serving = self.serving?;
        let missing = serving.not_delivered_to_all?;
        let counts = format!(
            "{} of {} versions",
            serving.published - missing,
            serving.published
        );
        Some(match serving.pushes.quantile(0.5) {
            Some(nanos) => format!("{} ({counts})", format::nanos(nanos as f64)),
            None => counts,
        })
    }

    /// Formats the delivered bytes per second.
    fn rate(&self) -> Option<String> {
        self.serving?.push_bytes_per_second.map(format::bytes_per_second)
    }
}

/// Section with the results for each worker count; `None` if no scenario has several.
pub(super) fn scaling(report: &Report<'_>) -> Option<Section> {
    let curves = curves(report);
    // The arms of a scenario at one size are adjacent.
    let groups = curves.chunk_by(|one, other| (one.name, one.size_bytes) == (other.name, other.size_bytes));
    let plots: Vec<Plot> = groups.filter_map(plot).collect();
    let rows = curves
        .iter()
        .flat_map(|curve| curve.points.iter().map(move |point| row(report, curve, point)));
    let columns = [
        "scenario",
        "size",
        "arm",
        "workers",
        "lag",
        "used after",
        "push",
        "rate",
    ];
    let note = "Lag is the mean number of newer versions over all steps. \"Used after\" is the median time from the publication \
                of a version to its use. The push time is the time from the publication of a version until the trainer has \
                delivered it to all workers. The table shows the median push time over the versions that all workers \
                received, and the number of these versions. In Push mode, the rate counts the copies of all workers.";
    let table = Table::new("", Column::all(columns), rows)
        .layout(Layout::Lines)
        .notes([Note::new("", note, Detail::Full)]);
    (!curves.is_empty()).then(|| Section {
        heading: "Scaling with the number of workers".to_owned(),
        blocks: vec![Block::Plots(plots), table.into()],
        ..Section::default()
    })
}

fn row(report: &Report<'_>, curve: &Curve<'_>, point: &Point<'_>) -> Row {
    let (size, arm) = (format::size(curve.size_bytes), report.arm_name(curve.arm));
    let [used, push, rate] = [point.latency(), point.push_time(), point.rate()];
    let parts = [
        used.as_ref().map(|latency| format!("used after {latency}")),
        push.as_ref().map(|push| format!("push {push}")),
        rate.clone(),
    ];
    let parts: Vec<String> = [point.lag()]
        .into_iter()
        .chain(parts.into_iter().flatten())
        .collect();
    let line = format!(
        "{}: {arm} of {} at {size}: {}",
        pluralized(point.workers.into(), "worker"),
        curve.name,
        parts.join(", ")
    );
    let absent = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
    Row::new([
        curve.name.to_owned(),
        size,
        arm.to_owned(),
        point.workers.to_string(),
        point.lag(),
        absent(used),
        absent(push),
        absent(rate),
    ])
    .line("scaling", line)
}

/// Plot of the time from publication to use for `arms`, the curves of one scenario at one size; `None` if no arm has
/// values.
fn plot(arms: &[Curve<'_>]) -> Option<Plot> {
    let first = arms.first()?;
    let points = |curve: &Curve<'_>, nanos: fn(&Point<'_>) -> Option<u64>| -> Vec<(f64, f64)> {
        let points = curve.points.iter();
        points
            .filter_map(|point| Some((f64::from(point.workers), nanos(point)? as f64)))
            .collect()
    };
    let curves = arms.iter().map(|curve| LatencyCurve {
        arm: PlotArm {
            index: curve.arm,
            // Curves of control arms are not reported.
            is_control: false,
        },
        p50: points(curve, |point| point.cell.latency.quantile(0.5)),
        p99: points(curve, |point| point.cell.latency.tail_quantile(0.99)),
        knee: None,
    });
    let curves: Vec<_> = curves.filter(|curve| !curve.p50.is_empty()).collect();
    if curves.is_empty() {
        return None;
    }
    let mut loads: Vec<u32> = first.points.iter().map(|point| point.workers).collect();
    loads.sort_unstable();
    let (name, size) = (first.name, format::size(first.size_bytes));
    Some(Plot {
        description: format!(
            "Time from publication to use by number of workers for {name} at {size}. The table below shows the same medians"
        ),
        caption: format!(
            "{name} at {size}: time from publication to use by number of workers, p99 (discs) and p50 (bars)"
        ),
        ..plots::by_load(curves, loads)
    })
}

/// Returns the curves of all scenarios with several worker counts, without control arms.
fn curves<'a>(report: &Report<'a>) -> Vec<Curve<'a>> {
    let mut curves: Vec<Curve<'a>> = Vec::new();
    for view in report.cells().filter(|view| !view.is_control()) {
        let CellView { scenario, cell, .. } = view;
        let workload = &scenario.assignment.workload;
        let (Some(name), [false, true]) = (&scenario.several_counts, workload.measuring_sides()) else {
            continue;
        };
        let point = Point {
            workers: workload.threads() * report.plan.many_to_many.map_or(1, |pattern| pattern.receivers),
            cell,
            serving: cell.observations.serving.as_ref(),
        };
        let same = |curve: &&mut Curve<'_>| {
            (curve.name, curve.size_bytes, curve.arm) == (name.as_str(), cell.size_bytes, cell.arm)
        };
        match curves.iter_mut().find(same) {
            Some(curve) => curve.points.push(point),
            None => curves.push(Curve {
                name,
                size_bytes: cell.size_bytes,
                arm: cell.arm,
                points: vec![point],
            }),
        }
    }
    curves
}
