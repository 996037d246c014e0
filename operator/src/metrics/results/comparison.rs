//! What an arm did against the baseline at a size, and what the baseline did on one pair of nodes against the others.

use crds::v1alpha1::Verdict;

use super::{
    ARM, Emit, METRIC, RUN, RUN_NAMESPACE, ResultMetric, SCENARIO, SIZE, Samples, label, metric, ratio,
    states,
};
use crate::metrics::Label;
use crate::metrics::figures::ComparisonFigures;

const VERDICTS: [Verdict; 4] = [
    Verdict::Improved,
    Verdict::NoChange,
    Verdict::Regressed,
    Verdict::Inconclusive,
];

const WITHHELD: &str = "NotMeasured, FabricContradicted, DifferentDevices, ControlViolated, NotEngaged";

const OF_COMPARISON: &[Label] = &[
    RUN_NAMESPACE,
    RUN,
    SCENARIO,
    SIZE,
    ARM,
    METRIC,
    label("primary", "true, false"),
    label("negative_control", "true, false"),
];

/// These metrics.
pub(super) const METRICS: [ResultMetric; 6] = [
    metric(
        "fabricbench_comparison_ratio",
        "ratio",
        "Arm by baseline: 1 is no change",
        OF_COMPARISON,
        Samples::Comparison(|comparison, emit| of_comparison(comparison, comparison.effect_ppm, emit)),
    ),
    metric(
        "fabricbench_comparison_ratio_lower",
        "ratio",
        "Lower end of the simultaneous interval of the ratio",
        OF_COMPARISON,
        Samples::Comparison(|comparison, emit| of_comparison(comparison, comparison.lower_ppm, emit)),
    ),
    metric(
        "fabricbench_comparison_ratio_upper",
        "ratio",
        "Upper end of the simultaneous interval of the ratio",
        OF_COMPARISON,
        Samples::Comparison(|comparison, emit| of_comparison(comparison, comparison.upper_ppm, emit)),
    ),
    metric(
        "fabricbench_comparison_verdict",
        "",
        "The verdict of a comparison on the primary metric; None where it is withheld",
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
                states(&VERDICTS, comparison.verdict, &[&metric], emit);
                emit(&[&metric, "None"], comparison.verdict.is_none().into());
            }
        }),
    ),
    metric(
        "fabricbench_comparison_withheld",
        "",
        "Why a variant has no verdict: 1",
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
        "Baseline of a pair of nodes by the median pair, on the primary metric: of the pairs that deviate most",
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

fn of_comparison(comparison: &ComparisonFigures, change_ppm: Option<i64>, emit: &mut Emit<'_>) {
    let word = |yes| if yes { "true" } else { "false" };
    if let Some(change_ppm) = change_ppm {
        let labels = [
            &*comparison.metric.to_string(),
            word(comparison.primary),
            word(comparison.negative_control),
        ];
        emit(&labels, ratio(change_ppm));
    }
}
