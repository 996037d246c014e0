//! Metrics for parameter serving, and the metric that shows which report section contains calls and memory footprints.

use crds::v1alpha1::ServingResult;

use super::metric::{
    ARM, ARM_LABELS, Emit, RUN, RUN_NAMESPACE, ResultMetric, SCENARIO, SIZE, Samples, emit_single, label,
    metric,
};
use crate::metrics::values::ArmValues;

const NANOS: f64 = 1e9;
const PPM: f64 = 1e6;

fn serving(arm: &ArmValues) -> Option<ServingResult> {
    arm.observed.as_ref().and_then(|observed| observed.serving)
}

/// Returns a parameter-serving value divided by `unit`.
fn value(arm: &ArmValues, of: impl Fn(&ServingResult) -> Option<u64>, unit: f64) -> Option<f64> {
    of(&serving(arm)?).map(|value| value as f64 / unit)
}

/// Emits the values that are set, each with its label.
fn labeled(values: &[(&str, Option<u64>)], unit: f64, emit: &mut Emit<'_>) {
    for (label, value) in values {
        if let Some(value) = value {
            emit(&[label], *value as f64 / unit);
        }
    }
}

/// Arm metrics that exist only for parameter serving, calls and memory footprints.
pub(super) const METRICS: [ResultMetric; 17] = [
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
            let observed = arm.observed.as_ref();
            let call = observed.and_then(|observed| observed.call);
            let footprint = observed.and_then(|observed| observed.footprint);
            let call = call.map(|call| (call.section, call.cause));
            let found = call.or_else(|| footprint.map(|found| (found.section, found.cause)));
            if let Some((section, cause)) = found {
                let cause = cause.map_or_else(|| "None".to_owned(), |cause| format!("{cause:?}"));
                emit(&[&format!("{section:?}"), &cause], 1.0);
            }
        }),
    ),
    metric(
        "fabricbench_arm_version_lag_mean",
        "",
        "Mean version lag over all worker steps in parameter serving: the number of newer versions",
        ARM_LABELS,
        Samples::Arm(|arm, emit| emit_single(value(arm, |one| one.version_lag_mean_ppm, PPM), emit)),
    ),
    metric(
        "fabricbench_arm_worst_worker_version_lag_mean",
        "",
        "Mean version lag of the worker with the largest mean in parameter serving",
        ARM_LABELS,
        Samples::Arm(|arm, emit| emit_single(value(arm, |one| one.worst_worker_lag_ppm, PPM), emit)),
    ),
    metric(
        "fabricbench_arm_workers_without_version",
        "workers",
        "Number of workers in parameter serving that had no version at any step of at least one valid case",
        ARM_LABELS,
        Samples::Arm(|arm, emit| {
            emit_single(
                value(arm, |one| Some(one.workers_without_version.into()), 1.0),
                emit,
            )
        }),
    ),
    metric(
        "fabricbench_arm_time_lag_seconds",
        "seconds",
        "Time lag at worker steps in parameter serving, over all rounds",
        &[
            RUN_NAMESPACE,
            RUN,
            SCENARIO,
            SIZE,
            ARM,
            label("quantile_level", "0.5, 0.99, 1"),
        ],
        Samples::Arm(|arm, emit| {
            if let Some(one) = serving(arm) {
                let values = [
                    ("0.5", one.time_lag_p50_nanos),
                    ("0.99", one.time_lag_p99_nanos),
                    ("1", one.time_lag_max_nanos),
                ];
                labeled(&values, NANOS, emit);
            }
        }),
    ),
    metric(
        "fabricbench_arm_posted_staleness",
        "",
        "Mean staleness that the trainer in parameter serving computes from the workers' posts, in versions: store lag, post lag, and the value of the original benchmark",
        &[
            RUN_NAMESPACE,
            RUN,
            SCENARIO,
            SIZE,
            ARM,
            label("lag", "store, post, original"),
        ],
        Samples::Arm(|arm, emit| {
            if let Some(one) = serving(arm) {
                let values = [
                    ("store", one.store_lag_ppm),
                    ("post", one.post_lag_ppm),
                    ("original", one.original_staleness_ppm),
                ];
                labeled(&values, PPM, emit);
            }
        }),
    ),
    metric(
        "fabricbench_arm_push_seconds",
        "seconds",
        "Time from the publication of a version to its delivery to all workers in parameter serving, for the versions that all workers received, over all rounds",
        &[
            RUN_NAMESPACE,
            RUN,
            SCENARIO,
            SIZE,
            ARM,
            label("quantile_level", "0.5, 1"),
        ],
        Samples::Arm(|arm, emit| {
            if let Some(one) = serving(arm) {
                let values = [("0.5", one.push_p50_nanos), ("1", one.push_max_nanos)];
                labeled(&values, NANOS, emit);
            }
        }),
    ),
    metric(
        "fabricbench_arm_push_bytes_per_second",
        "bytes_per_second",
        "Bytes that the trainer delivers in parameter serving, divided by the median push time",
        ARM_LABELS,
        Samples::Arm(|arm, emit| emit_single(value(arm, |one| one.push_bytes_per_second, 1.0), emit)),
    ),
    metric(
        "fabricbench_arm_published_versions",
        "versions",
        "Number of versions that the trainer in parameter serving published, over all rounds",
        ARM_LABELS,
        Samples::Arm(|arm, emit| emit_single(value(arm, |one| Some(one.published), 1.0), emit)),
    ),
    metric(
        "fabricbench_arm_versions_not_delivered_to_all",
        "versions",
        "Number of published versions in parameter serving that were not delivered to all workers and are not included in any push time, over all rounds",
        ARM_LABELS,
        Samples::Arm(|arm, emit| {
            emit_single(value(arm, |one| one.published_not_delivered_to_all, 1.0), emit)
        }),
    ),
    metric(
        "fabricbench_arm_pull_seconds",
        "seconds",
        "Median duration of a fetch that returned a newer version in parameter serving",
        ARM_LABELS,
        Samples::Arm(|arm, emit| emit_single(value(arm, |one| one.pull_p50_nanos, NANOS), emit)),
    ),
    metric(
        "fabricbench_arm_cold_steps",
        "steps",
        "Number of worker steps in parameter serving before the worker's first version, which are excluded from all lags, over all rounds",
        ARM_LABELS,
        Samples::Arm(|arm, emit| emit_single(value(arm, |one| Some(one.cold_steps), 1.0), emit)),
    ),
    metric(
        "fabricbench_arm_cold_seconds",
        "seconds",
        "Longest time until a worker received its first version in parameter serving",
        ARM_LABELS,
        Samples::Arm(|arm, emit| emit_single(value(arm, |one| Some(one.cold_nanos), NANOS), emit)),
    ),
    metric(
        "fabricbench_arm_torn_versions",
        "versions",
        "Number of torn versions that the workers in parameter serving detected and did not use, over all rounds",
        ARM_LABELS,
        Samples::Arm(|arm, emit| emit_single(value(arm, |one| Some(one.torn), 1.0), emit)),
    ),
    metric(
        "fabricbench_arm_sent_datagrams",
        "datagrams",
        "Number of datagrams sent to each worker in parameter serving, summed over all rounds and workers",
        ARM_LABELS,
        Samples::Arm(|arm, emit| emit_single(value(arm, |one| one.datagrams_sent, 1.0), emit)),
    ),
    metric(
        "fabricbench_arm_lost_datagrams",
        "datagrams",
        "Number of datagrams that did not reach a worker in parameter serving, over all rounds and workers",
        ARM_LABELS,
        Samples::Arm(|arm, emit| emit_single(value(arm, |one| one.datagrams_lost, 1.0), emit)),
    ),
    metric(
        "fabricbench_arm_clock_bound_seconds",
        "seconds",
        "Largest possible error of times between the trainer's and a worker's clock in parameter serving: 0 if they use the same clock",
        ARM_LABELS,
        Samples::Arm(|arm, emit| emit_single(value(arm, |one| Some(one.clock_bound_nanos), NANOS), emit)),
    ),
];
