//! What an arm did at a size.

use crds::v1alpha1::Engagement;

use super::{
    ARM, OF_ARM, RUN, RUN_NAMESPACE, ResultMetric, SCENARIO, SIZE, Samples, label, metric, one, state_set,
};
use crate::metrics::figures::{OPTIMIZATIONS, QUANTILES};

const NANOS: f64 = 1e9;

const ENGAGEMENTS: [Engagement; 4] = [
    Engagement::Confirmed,
    Engagement::RequestedOnly,
    Engagement::NotEngaged,
    Engagement::NotApplicable,
];

/// These metrics.
pub(super) const METRICS: [ResultMetric; 7] = [
    metric(
        "fabricbench_arm_latency_seconds",
        "seconds",
        "Latency over all rounds and pairs: one way for ping-pong, post to completion for transfers",
        &[
            RUN_NAMESPACE,
            RUN,
            SCENARIO,
            SIZE,
            ARM,
            label("quantile", "0, 0.5, 0.95, 0.99, 0.999, 1"),
        ],
        Samples::Arm(|arm, emit| {
            for (quantile, nanos) in QUANTILES.into_iter().zip(arm.latency_nanos) {
                if let Some(nanos) = nanos {
                    emit(&[quantile], nanos as f64 / NANOS);
                }
            }
        }),
    ),
    metric(
        "fabricbench_arm_throughput_bytes_per_second",
        "bytes_per_second",
        "Payload bytes a second: the median of the rounds",
        OF_ARM,
        Samples::Arm(|arm, emit| one(arm.bytes_per_second.map(|rate| rate as f64), emit)),
    ),
    metric(
        "fabricbench_arm_completions_per_second",
        "completions_per_second",
        "Completed operations a second: the median of the rounds",
        OF_ARM,
        Samples::Arm(|arm, emit| one(arm.completions_per_second.map(|rate| rate as f64), emit)),
    ),
    metric(
        "fabricbench_arm_cpu_seconds_per_gib",
        "seconds_per_gib",
        "CPU time of both sides for a GiB (2^30 bytes) of payload: the median of the rounds",
        OF_ARM,
        Samples::Arm(|arm, emit| one(arm.cpu_nanos_per_gib.map(|nanos| nanos as f64 / NANOS), emit)),
    ),
    metric(
        "fabricbench_arm_valid_rounds",
        "rounds",
        "Rounds with a case to trust",
        OF_ARM,
        Samples::Arm(|arm, emit| one(Some(arm.valid_rounds.into()), emit)),
    ),
    metric(
        "fabricbench_arm_valid",
        "",
        "Whether the arm has any number to trust here: 1 or 0",
        OF_ARM,
        Samples::Arm(|arm, emit| one(Some(arm.valid.into()), emit)),
    ),
    metric(
        "fabricbench_arm_engagement",
        "",
        "Whether an optimization that the arm asks for took part",
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
                state_set(&ENGAGEMENTS, engagement, &[&format!("{optimization:?}")], emit);
            }
        }),
    ),
];
