//! Scaling of parameter serving with the worker count: combines the results of scenarios that were created from the
//! same list of worker counts. The results of each worker are in a separate file.

mod workers;

use campaign::format;
use campaign::format::pluralized;
use campaign::summarize::{CellSummary, Serving};

use super::Report;
pub(super) use workers::table as workers;
pub use workers::{LAG_COLUMNS, lag_cells};

/// Results of one arm at one size for several worker counts.
pub struct Curve<'a> {
    /// Name of the scenario in the spec.
    pub name: &'a str,
    /// Size of the parameters, in bytes.
    pub size_bytes: u64,
    /// Index of the arm in the plan.
    pub arm: usize,
    /// One element for each worker count, in spec order.
    pub points: Vec<Point<'a>>,
}

/// Results for one worker count.
pub struct Point<'a> {
    /// Number of workers.
    pub workers: u32,
    /// Results of the arm.
    pub cell: &'a CellSummary,
    /// Staleness; `None` if there is no valid case.
    pub serving: Option<&'a Serving>,
}

impl Point<'_> {
    /// Formats the mean version lag.
    pub fn lag(&self) -> String {
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
    pub fn latency(&self) -> Option<String> {
        self.cell
            .latency
            .quantile(0.5)
            .map(|nanos| format::nanos(nanos as f64))
    }

    /// Formats the median push time, and the number of versions that have one.
    pub fn push_time(&self) -> Option<String> {
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
    pub fn rate(&self) -> Option<String> {
        self.serving?.push_bytes_per_second.map(format::bytes_per_second)
    }
}

impl Curve<'_> {
    /// Formats the curve as one line of text.
    pub fn line(&self) -> String {
        let points = self.points.iter().map(|point| {
            let mut text = format!("{}: {}", pluralized(point.workers.into(), "worker"), point.lag());
            let used = point.latency().map(|latency| format!("used after {latency}"));
            let push = point.push_time().map(|push| format!("push {push}"));
            for part in [used, push, point.rate()].into_iter().flatten() {
                text.push_str(", ");
                text.push_str(&part);
            }
            text
        });
        points.collect::<Vec<_>>().join("; ")
    }
}

/// Returns the curves of all scenarios with several worker counts, without control arms.
pub fn curves<'a>(report: &Report<'a>) -> Vec<Curve<'a>> {
    let mut curves: Vec<Curve<'a>> = Vec::new();
    for cell in &report.evaluation.summary.cells {
        let Some(planned) = report.plan.scenarios.get(cell.scenario) else {
            continue;
        };
        let (Some(name), Some(serving)) = (&planned.several_counts, planned.assignment.workload.serving())
        else {
            continue;
        };
        let arm = report.plan.arms.get(cell.arm);
        if arm.is_none_or(|arm| arm.control.is_some()) {
            continue;
        }
        let point = Point {
            workers: serving.workers * report.plan.many_to_many.map_or(1, |pattern| pattern.receivers),
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
