//! Noise floor of a run, and whether it extends beyond the margin, shared by the report formats.

use std::collections::{BTreeMap, BTreeSet};

use campaign::compare::metric_name;
use campaign::plan::Role;
use campaign::stats::percent_change;
use crds::v1alpha1::Metric;

use crate::report::Report;

/// Describes the noise floor of one scenario, or of all scenarios if `scenario` is `None`: for each primary metric, the
/// widest control-arm interval, and the number of sizes that have such an interval.
///
/// Like the margin, the floor is symmetric on the log scale: ±2 % covers the ratios from 1/1.02 to 1.02.
pub(super) fn floor(report: &Report<'_>, scenario: Option<usize>) -> String {
    let mut floors: BTreeMap<Metric, f64> = BTreeMap::new();
    let mut known: BTreeMap<(usize, u64), bool> = BTreeMap::new();
    let controls = report.evaluation.comparisons.primary().filter(|one| {
        one.role == Role::ControlArm && scenario.is_none_or(|scenario| one.scenario == scenario)
    });
    for control in controls {
        // A run may have one control arm for each separation. A size counts only if all of its control arms have an
        // interval.
        *known
            .entry((control.scenario, control.size_bytes))
            .or_insert(true) &= control.interval.is_some();
        if let Some(interval) = &control.interval {
            let floor = floors.entry(control.metric).or_default();
            *floor = floor.max(interval.reach());
        }
    }
    if known.is_empty() {
        return "unknown: the run has no control arm (spec.sampling.control)".to_owned();
    }
    if floors.is_empty() {
        return "unknown: too few valid rounds for an interval of the control arm".to_owned();
    }
    let floors: Vec<String> = floors
        .iter()
        .map(|(metric, floor)| format!("{} within ±{:.1} %", metric_name(*metric), percent_change(*floor)))
        .collect();
    let sizes = match known.values().filter(|known| **known).count() {
        covered if covered == known.len() => "all sizes".to_owned(),
        covered => format!("{covered} of {} sizes", known.len()),
    };
    format!("{} (control arm, {sizes})", floors.join(", "))
}

/// Says that the noise forbids an answer at the run's margin, and what would allow one, for the widest of the controls
/// whose interval extends beyond the margin; `None` if there are none. The number of affected sizes follows if there are
/// several.
pub(super) fn above_margin(report: &Report<'_>) -> Option<String> {
    let noise = &report.evaluation.comparisons.noise;
    let widest = noise
        .iter()
        .max_by(|one, other| one.reach_percent.total_cmp(&other.reach_percent))?;
    let sizes: BTreeSet<(usize, u64)> = noise.iter().map(|one| (one.scenario, one.size_bytes)).collect();
    let others = match sizes.len() {
        1 => String::new(),
        count => format!(" ({count} sizes of the run are affected)"),
    };
    Some(format!("{widest}{others}"))
}
