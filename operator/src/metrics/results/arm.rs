//! Metrics of an arm at one size.

use crds::v1alpha1::Engagement;

use super::metric::{
    ARM, ARM_LABELS, RUN, RUN_NAMESPACE, ResultMetric, SCENARIO, SIZE, Samples, emit_enum_if_known,
    emit_single, label, metric,
};
use crate::metrics::values::OPTIMIZATIONS;

const ENGAGEMENTS: [Engagement; 4] = [
    Engagement::Confirmed,
    Engagement::RequestedOnly,
    Engagement::NotEngaged,
    Engagement::NotApplicable,
];

/// Metrics of an arm, in addition to those of the quantities.
pub(super) const METRICS: [ResultMetric; 4] = [
    metric(
        "fabricbench_arm_section",
        "",
        "Report section that contains the arm's calls or memory footprint, and the cause; always 1",
        &[
            RUN_NAMESPACE,
            RUN,
            SCENARIO,
            SIZE,
            ARM,
            label("section", "Successful, Failed, Skipped"),
            label(
                "cause",
                "OutOfMemory, Timeout, Died, Invalid, Error, NoGpu, NotEnoughMemory; None for a successful arm",
            ),
        ],
        Samples::Arm(|arm, emit| {
            if let Some((section, cause)) = arm.section {
                let cause = cause.map_or_else(|| "None".to_owned(), |cause| format!("{cause:?}"));
                emit(&[&format!("{section:?}"), &cause], 1.0);
            }
        }),
    ),
    metric(
        "fabricbench_arm_valid_rounds",
        "rounds",
        "Number of rounds with a valid case",
        ARM_LABELS,
        Samples::Arm(|arm, emit| emit_single(Some(arm.valid_rounds.into()), emit)),
    ),
    metric(
        "fabricbench_arm_valid",
        "",
        "Whether the arm has at least one valid result: 1 or 0",
        ARM_LABELS,
        Samples::Arm(|arm, emit| emit_single(Some(arm.valid.into()), emit)),
    ),
    metric(
        "fabricbench_arm_engagement",
        "",
        "Whether an optimization requested by the arm was active",
        &[
            RUN_NAMESPACE,
            RUN,
            SCENARIO,
            SIZE,
            ARM,
            label("optimization", "Inject, Doorbell, Coalesce"),
            label(
                "engagement",
                "Confirmed, RequestedOnly, NotEngaged, NotApplicable",
            ),
        ],
        Samples::Arm(|arm, emit| {
            for (optimization, engagement) in OPTIMIZATIONS.into_iter().zip(arm.engagements) {
                emit_enum_if_known(&ENGAGEMENTS, engagement, &[&format!("{optimization:?}")], emit);
            }
        }),
    ),
];
