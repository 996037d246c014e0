//! Metrics for comparisons with the baseline and for node pairs.

use crds::v1alpha1::Verdict;

use super::metric::{
    ARM, Emit, METRIC, RUN, RUN_NAMESPACE, ResultMetric, SCENARIO, SIZE, Samples, enum_series, label, metric,
    ratio,
};
use crate::metrics::Label;
use crate::metrics::values::ComparisonValues;

const VERDICTS: [Verdict; 4] = [
    Verdict::Improved,
    Verdict::NoChange,
    Verdict::Regressed,
    Verdict::Inconclusive,
];

const WITHHELD: &str = "NotMeasured, FabricContradicted, DifferentDevices, ControlViolated, NotEngaged, NotApplicable, \
     NotAnalyzed, InterfaceShared";

const COMPARISON_LABELS: &[Label] = &[
    RUN_NAMESPACE,
    RUN,
    SCENARIO,
    SIZE,
    ARM,
    METRIC,
    label("primary", "true, false"),
    label("negative_control", "true, false"),
];

/// Metrics for comparisons and pairs.
pub(super) const METRICS: [ResultMetric; 6] = [
    metric(
        "fabricbench_comparison_ratio",
        "ratio",
        "Ratio of the arm to the baseline; 1 means no change",
        COMPARISON_LABELS,
        Samples::Comparison(|comparison, emit| emit_comparison(comparison, comparison.effect_ppm, emit)),
    ),
    metric(
        "fabricbench_comparison_ratio_lower",
        "ratio",
        "Lower bound of the simultaneous confidence interval for the ratio",
        COMPARISON_LABELS,
        Samples::Comparison(|comparison, emit| emit_comparison(comparison, comparison.lower_ppm, emit)),
    ),
    metric(
        "fabricbench_comparison_ratio_upper",
        "ratio",
        "Upper bound of the simultaneous confidence interval for the ratio",
        COMPARISON_LABELS,
        Samples::Comparison(|comparison, emit| emit_comparison(comparison, comparison.upper_ppm, emit)),
    ),
    metric(
        "fabricbench_comparison_verdict",
        "",
        "Verdict of a comparison on the primary metric; None if it is withheld or the comparison is a negative control",
        &[
            RUN_NAMESPACE,
            RUN,
            SCENARIO,
            SIZE,
            ARM,
            METRIC,
            label("verdict", "Improved, NoChange, Regressed, Inconclusive, None"),
        ],
        Samples::Comparison(|comparison, emit| {
            if comparison.primary {
                let metric = comparison.metric.to_string();
                enum_series(&VERDICTS, comparison.verdict, &[&metric], emit);
                emit(&[&metric, "None"], comparison.verdict.is_none().into());
            }
        }),
    ),
    metric(
        "fabricbench_comparison_withheld",
        "",
        "Reason for withholding the verdict on a variant; always 1",
        &[
            RUN_NAMESPACE,
            RUN,
            SCENARIO,
            SIZE,
            ARM,
            METRIC,
            label("reason", WITHHELD),
        ],
        Samples::Comparison(|comparison, emit| {
            if let Some(withheld) = comparison.withheld {
                emit(&[&comparison.metric.to_string(), &format!("{withheld:?}")], 1.0);
            }
        }),
    ),
    metric(
        "fabricbench_pair_deviation_ratio",
        "ratio",
        "Ratio of a node pair to the median pair, for the baseline on the primary metric; only the pairs that deviate most",
        &[
            RUN_NAMESPACE,
            RUN,
            SCENARIO,
            SIZE,
            label("initiator", "a node"),
            label("target", "a node"),
        ],
        Samples::Pair(|pair, emit| emit(&[], ratio(pair.deviation_ppm))),
    ),
];

fn emit_comparison(comparison: &ComparisonValues, change_ppm: Option<i64>, emit: &mut Emit<'_>) {
    let text = |value| if value { "true" } else { "false" };
    if let Some(change_ppm) = change_ppm {
        let labels = [
            &*comparison.metric.to_string(),
            text(comparison.primary),
            text(comparison.negative_control),
        ];
        emit(&labels, ratio(change_ppm));
    }
}
