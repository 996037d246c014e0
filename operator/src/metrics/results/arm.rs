//! Metrics of an arm at one size.

use crds::v1alpha1::Engagement;

use super::metric::{
    ARM, ARM_LABELS, RUN, RUN_NAMESPACE, ResultMetric, SCENARIO, SIZE, Samples, emit_enum_if_known,
    emit_single, label, metric,
};
use crate::metrics::values::{OPTIMIZATIONS, QUANTILES};

const NANOS: f64 = 1e9;
const PPM: f64 = 1e6;

const ENGAGEMENTS: [Engagement; 4] = [
    Engagement::Confirmed,
    Engagement::RequestedOnly,
    Engagement::NotEngaged,
    Engagement::NotApplicable,
];

/// Metrics of an arm.
pub(super) const METRICS: [ResultMetric; 23] = [
    metric(
        "fabricbench_arm_latency_seconds",
        "seconds",
        "Latency over all rounds and pairs: one-way for ping-pong, from post to completion for transfers, from the first call of \
         a sample to its reply for calls, from the message to its confirmation for a memory footprint, and from the \
         publication of a version to its use for parameter serving",
        &[
            RUN_NAMESPACE,
            RUN,
            SCENARIO,
            SIZE,
            ARM,
            label("quantile_level", "0, 0.5, 0.95, 0.99, 0.999, 1"),
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
        "Payload bytes per second, median of the rounds; absent if no bytes are moved, for example in local calls",
        ARM_LABELS,
        Samples::Arm(|arm, emit| emit_single(arm.bytes_per_second.map(|rate| rate as f64), emit)),
    ),
    metric(
        "fabricbench_arm_completions_per_second",
        "completions_per_second",
        "Completed operations per second, median of the rounds",
        ARM_LABELS,
        Samples::Arm(|arm, emit| emit_single(arm.completions_per_second.map(|rate| rate as f64), emit)),
    ),
    metric(
        "fabricbench_arm_cpu_seconds_per_gib",
        "seconds_per_gib",
        "CPU time of both workers per GiB (2^30 bytes) of payload, median of the rounds",
        ARM_LABELS,
        Samples::Arm(|arm, emit| emit_single(arm.cpu_nanos_per_gib.map(|nanos| nanos as f64 / NANOS), emit)),
    ),
    metric(
        "fabricbench_arm_direction_bytes_per_second",
        "bytes_per_second",
        "Payload bytes per second in each direction if both workers send, median of the rounds",
        &[
            RUN_NAMESPACE,
            RUN,
            SCENARIO,
            SIZE,
            ARM,
            label("sender", "initiator, target"),
        ],
        Samples::Arm(|arm, emit| {
            if let Some(directions) = arm.observed.as_ref().and_then(|observed| observed.directions) {
                emit(&["initiator"], directions.initiator_bytes_per_second as f64);
                emit(&["target"], directions.target_bytes_per_second as f64);
            }
        }),
    ),
    metric(
        "fabricbench_arm_flush_seconds",
        "seconds",
        "Time from the local completion of a message to the completion of the flush that follows it, over all rounds",
        &[
            RUN_NAMESPACE,
            RUN,
            SCENARIO,
            SIZE,
            ARM,
            label("quantile_level", "0.5, 1"),
        ],
        Samples::Arm(|arm, emit| {
            if let Some(flush) = arm.observed.as_ref().and_then(|observed| observed.flush) {
                emit(&["0.5"], flush.p50_nanos as f64 / NANOS);
                emit(&["1"], flush.max_nanos as f64 / NANOS);
            }
        }),
    ),
    metric(
        "fabricbench_arm_ping_p99_seconds",
        "seconds",
        "99th percentile of the ping round-trip time on the idle fabric and during the messages, over all rounds",
        &[
            RUN_NAMESPACE,
            RUN,
            SCENARIO,
            SIZE,
            ARM,
            label("fabric", "idle, loaded"),
        ],
        Samples::Arm(|arm, emit| {
            if let Some(ping) = arm.observed.as_ref().and_then(|observed| observed.ping) {
                for (fabric, nanos) in [("idle", ping.idle_p99_nanos), ("loaded", ping.loaded_p99_nanos)] {
                    if let Some(nanos) = nanos {
                        emit(&[fabric], nanos as f64 / NANOS);
                    }
                }
            }
        }),
    ),
    metric(
        "fabricbench_arm_flow_bytes_per_second",
        "bytes_per_second",
        "Payload bytes per second of the slowest, median and fastest flow in the ManyToMany pattern",
        &[
            RUN_NAMESPACE,
            RUN,
            SCENARIO,
            SIZE,
            ARM,
            label("flow", "slowest, median, fastest"),
        ],
        Samples::Arm(|arm, emit| {
            if let Some(flows) = arm.observed.as_ref().and_then(|observed| observed.flows) {
                emit(&["slowest"], flows.slowest_bytes_per_second as f64);
                emit(&["median"], flows.median_bytes_per_second as f64);
                emit(&["fastest"], flows.fastest_bytes_per_second as f64);
            }
        }),
    ),
    metric(
        "fabricbench_arm_receiver_bytes_per_second",
        "bytes_per_second",
        "Payload bytes per second of the slowest and fastest receiver in the ManyToMany pattern",
        &[
            RUN_NAMESPACE,
            RUN,
            SCENARIO,
            SIZE,
            ARM,
            label("receiver", "slowest, fastest"),
        ],
        Samples::Arm(|arm, emit| {
            if let Some(flows) = arm.observed.as_ref().and_then(|observed| observed.flows) {
                emit(&["slowest"], flows.slowest_receiver_bytes_per_second as f64);
                emit(&["fastest"], flows.fastest_receiver_bytes_per_second as f64);
            }
        }),
    ),
    metric(
        "fabricbench_arm_flow_fairness_ratio",
        "ratio",
        "Jain's fairness index of the flows in the ManyToMany pattern, median of the rounds: 1 if all have the same rate",
        ARM_LABELS,
        Samples::Arm(|arm, emit| {
            let flows = arm.observed.as_ref().and_then(|observed| observed.flows);
            emit_single(flows.map(|flows| flows.fairness_ppm as f64 / PPM), emit);
        }),
    ),
    metric(
        "fabricbench_arm_read_back_seconds",
        "seconds",
        "Time from post to completion of the reads that follow the writes of a batch, over all rounds",
        &[
            RUN_NAMESPACE,
            RUN,
            SCENARIO,
            SIZE,
            ARM,
            label("quantile_level", "0.5, 0.99"),
        ],
        Samples::Arm(|arm, emit| {
            if let Some(reads) = arm.observed.as_ref().and_then(|observed| observed.read_back) {
                emit(&["0.5"], reads.p50_nanos as f64 / NANOS);
                if let Some(nanos) = reads.p99_nanos {
                    emit(&["0.99"], nanos as f64 / NANOS);
                }
            }
        }),
    ),
    metric(
        "fabricbench_arm_first_batch_seconds",
        "seconds",
        "Duration of the first warm-up batch of a case: median over the rounds",
        ARM_LABELS,
        Samples::Arm(|arm, emit| {
            let nanos = arm
                .observed
                .as_ref()
                .and_then(|observed| observed.first_batch_nanos);
            emit_single(nanos.map(|nanos| nanos as f64 / NANOS), emit);
        }),
    ),
    metric(
        "fabricbench_arm_reported_latency_seconds",
        "seconds",
        "Latency reported by a command, as defined by its tool: median over the rounds",
        ARM_LABELS,
        Samples::Arm(|arm, emit| {
            let observed = arm.observed.as_ref();
            let nanos = observed.and_then(|observed| observed.reported_latency_nanos);
            emit_single(nanos.map(|nanos| nanos as f64 / NANOS), emit);
        }),
    ),
    metric(
        "fabricbench_arm_reported_bytes_per_second",
        "bytes_per_second",
        "Bandwidth reported by a command, as defined by its tool: median over the rounds",
        ARM_LABELS,
        Samples::Arm(|arm, emit| {
            let observed = arm.observed.as_ref();
            let rate = observed.and_then(|observed| observed.reported_bytes_per_second);
            emit_single(rate.map(|rate| rate as f64), emit);
        }),
    ),
    metric(
        "fabricbench_arm_call_seconds",
        "seconds",
        "Time from a call to its reply, over all rounds: mean and standard deviation of a sample, and mean of each of its \
         calls",
        &[
            RUN_NAMESPACE,
            RUN,
            SCENARIO,
            SIZE,
            ARM,
            label("statistic", "mean, deviation, hop"),
        ],
        Samples::Arm(|arm, emit| {
            if let Some(call) = arm.observed.as_ref().and_then(|observed| observed.call) {
                let values = [
                    ("mean", call.mean_nanos),
                    ("deviation", call.deviation_nanos),
                    ("hop", call.hop_nanos),
                ];
                for (statistic, nanos) in values {
                    if let Some(nanos) = nanos {
                        emit(&[statistic], nanos as f64 / NANOS);
                    }
                }
            }
        }),
    ),
    metric(
        "fabricbench_arm_call_memory_growth_bytes",
        "bytes",
        "Largest increase in host and extension memory during the calls of a case",
        ARM_LABELS,
        Samples::Arm(|arm, emit| {
            let call = arm.observed.as_ref().and_then(|observed| observed.call);
            let growth = call.and_then(|call| call.memory_growth_bytes);
            emit_single(growth.map(|bytes| bytes as f64), emit);
        }),
    ),
    metric(
        "fabricbench_arm_footprint_bytes",
        "bytes",
        "Memory of a host and its consumers, median of the rounds: Pss of the host alone, Pss of a consumer without and with \
         the tensor, its Rss, Pss of the tensor in all processes, and memory saved by sharing",
        &[
            RUN_NAMESPACE,
            RUN,
            SCENARIO,
            SIZE,
            ARM,
            label("memory", "baseline, own, consumer, consumer_rss, tensor, saved"),
        ],
        Samples::Arm(|arm, emit| {
            if let Some(found) = arm.observed.as_ref().and_then(|observed| observed.footprint) {
                let values = [
                    ("baseline", found.baseline_bytes),
                    ("own", found.own_bytes),
                    ("consumer", found.consumer_bytes),
                    ("consumer_rss", found.consumer_rss_bytes),
                    ("tensor", found.tensor_bytes),
                    ("saved", found.saved_bytes),
                ];
                for (memory, bytes) in values {
                    if let Some(bytes) = bytes {
                        emit(&[memory], bytes as f64);
                    }
                }
            }
        }),
    ),
    metric(
        "fabricbench_arm_footprint_slope_bytes",
        "bytes",
        "Change in host and consumer memory from one tensor distribution to the next, median of the rounds",
        ARM_LABELS,
        Samples::Arm(|arm, emit| {
            let found = arm.observed.as_ref().and_then(|observed| observed.footprint);
            emit_single(
                found
                    .and_then(|found| found.slope_bytes)
                    .map(|bytes| bytes as f64),
                emit,
            );
        }),
    ),
    metric(
        "fabricbench_arm_disturbance_ratio",
        "ratio",
        "Other work on the machines in the valid cases: time that a thread of the instrument waited for a CPU as a share of \
         the measured time, and CPU time of other processes as a share of the worker's CPUs",
        &[
            RUN_NAMESPACE,
            RUN,
            SCENARIO,
            SIZE,
            ARM,
            label("disturbance", "run_queue, foreign_cpu"),
        ],
        Samples::Arm(|arm, emit| {
            if let Some(found) = arm.observed.as_ref().and_then(|observed| observed.disturbance) {
                for (disturbance, ppm) in [
                    ("run_queue", found.run_queue_ppm),
                    ("foreign_cpu", found.foreign_cpu_ppm),
                ] {
                    if let Some(ppm) = ppm {
                        emit(&[disturbance], ppm as f64 / PPM);
                    }
                }
            }
        }),
    ),
    metric(
        "fabricbench_arm_foreign_bytes",
        "bytes",
        "Bytes of other traffic on the network interfaces in the valid cases",
        ARM_LABELS,
        Samples::Arm(|arm, emit| {
            let found = arm.observed.as_ref().and_then(|observed| observed.disturbance);
            emit_single(
                found
                    .and_then(|found| found.foreign_bytes)
                    .map(|bytes| bytes as f64),
                emit,
            );
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
