//! Result metrics and helpers to define them. A result metric consists of a definition and the source of its samples.

use std::fmt::Debug;

use crate::metrics::values::{ArmValues, ComparisonValues, PairValues};
use crate::metrics::{Definition, Kind, Label, RunValues};

/// Callback that receives a sample. The arguments are the values of the labels that the metric adds to the run and row
/// labels, and the sample value.
pub type Emit<'a> = dyn FnMut(&[&str], f64) + 'a;

/// Result metric.
#[derive(Clone, Copy, Debug)]
pub struct ResultMetric {
    /// Definition of the metric.
    pub definition: Definition,
    /// Source of the samples.
    pub samples: Samples,
}

/// Source of a metric's samples.
#[derive(Clone, Copy, Debug)]
pub enum Samples {
    /// Number of omitted runs: one sample without labels.
    OmittedRuns,
    /// Values of a run as a whole.
    Run(fn(&RunValues, &mut Emit<'_>)),
    /// Number of omitted series: one sample per run.
    OmittedSeries,
    /// Values of the quantities of each arm at each size that the metric contains. The name is the metric's in the
    /// catalogue.
    Quantities(&'static str),
    /// Other values of each arm at each size.
    Arm(fn(&ArmValues, &mut Emit<'_>)),
    /// Values of each comparison.
    Comparison(fn(&ComparisonValues, &mut Emit<'_>)),
    /// Values of each reported pair of nodes.
    Pair(fn(&PairValues, &mut Emit<'_>)),
}

pub(super) const RUN_NAMESPACE: Label = label("run_namespace", "");
pub(super) const RUN: Label = label("run", "");
pub(super) const SCENARIO: Label = label("scenario", "");
pub(super) const SIZE: Label = label("size_bytes", "decimal");
pub(super) const ARM: Label = label("arm", "a variant or control arm");
pub(super) const METRIC: Label = label("metric", "as in the manifest");

pub(super) const RUN_LABELS: &[Label] = &[RUN_NAMESPACE, RUN];
pub(super) const ARM_LABELS: &[Label] = &[RUN_NAMESPACE, RUN, SCENARIO, SIZE, ARM];

pub(super) const fn label(name: &'static str, values: &'static str) -> Label {
    Label { name, values }
}

pub(super) const fn metric(
    name: &'static str,
    unit: &'static str,
    help: &'static str,
    labels: &'static [Label],
    samples: Samples,
) -> ResultMetric {
    ResultMetric {
        definition: Definition {
            name,
            kind: Kind::Gauge,
            unit,
            help,
            labels,
        },
        samples,
    }
}

/// Converts a change in parts per million to a ratio.
pub(super) fn ratio(change_ppm: i64) -> f64 {
    1.0 + change_ppm as f64 / 1e6
}

/// Emits `value` without additional labels, if it is set.
pub(super) fn emit_single(value: Option<f64>, emit: &mut Emit<'_>) {
    if let Some(value) = value {
        emit(&[], value);
    }
}

/// Emits one series per variant of an enum if the current variant is known.
pub(super) fn emit_enum_if_known<T: Copy + Debug + PartialEq>(
    all: &[T],
    current: Option<T>,
    before: &[&str],
    emit: &mut Emit<'_>,
) {
    if current.is_some() {
        enum_series(all, current, before, emit);
    }
}

/// Emits one series per variant of an enum. The name of the variant is the last label value, after the values in
/// `before`.
pub(super) fn enum_series<T: Copy + Debug + PartialEq>(
    all: &[T],
    current: Option<T>,
    before: &[&str],
    emit: &mut Emit<'_>,
) {
    for variant in all {
        let name = format!("{variant:?}");
        let labels = [before, &[&*name]].concat();
        emit(&labels, (current == Some(*variant)).into());
    }
}
