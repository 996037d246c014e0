//! Estimates the data volume and the duration of a plan. The estimates are used for warnings, for deadlines and to
//! limit the length of record streams. Estimates of time and payload are accurate only to an order of magnitude.
//! Performs no I/O.

use std::time::Duration;

use crds::assignment::pilot::{self, PilotCount};
use crds::assignment::{BlockAssignment, Extent, Pass, Workload};
use crds::record::{MAX_CONFIGURATION_RECORDS, MAX_RECORDED_VARIABLES};
use crds::v1alpha1::{LibfabricProvider, TransportSpec};
use serde::Serialize;

use super::model::{Leg, Plan, PlannedScenario};
use crate::workload::{Speed, rules};

/// Size in bytes of a case record without its histograms, with four rails on four interfaces and large values in all
/// fields. A test in this module verifies this value.
const CASE_BYTES: u64 = 3712;
/// Additional bytes of a case record if both sides post, excluding the second histogram.
const POSTED_BYTES: u64 = 512;
/// Additional bytes of a case record of a bidirectional transfer, in which each side has a separate window.
const WINDOWS_BYTES: u64 = 128;
/// Additional bytes of a case record for each rail beyond the fourth, if the rail has a separate interface and both
/// sides post on it and report it.
const RAIL_BYTES: u64 = 544;
/// Size in bytes of a case record of the integrity pass, which contains about a dozen numbers.
const INTEGRITY_CASE_BYTES: u64 = 1024;
/// Number of samples assumed for a case with a fixed duration, to estimate the length of its histogram.
const TIMED_SAMPLES: u64 = 100_000;
/// Size in bytes of the `hello` record of one worker: at most one line.
const HELLO_BYTES: u64 = crds::record::MAX_LINE_BYTES as u64;
/// Size in bytes of a claim record, excluding its devices.
const CLAIM_BYTES: u64 = 600;
/// Size in bytes of one device in a claim record.
const CLAIMED_DEVICE_BYTES: u64 = 256;
/// Size in bytes of the `endpoints` record of one arm at one worker, excluding its rails.
const ENDPOINTS_BYTES: u64 = 3072;
/// Size in bytes of one rail in an `endpoints` record.
const ENDPOINTS_RAIL_BYTES: u64 = 320;
/// Size in bytes of the `cold` record of one arm at one worker in one round, and of possible warnings in that round.
const COLD_BYTES: u64 = 512;
/// Size of the `block` record, in bytes.
const BLOCK_BYTES: u64 = 256;
/// Assumed number of transfers in a case of the integrity pass: one window of the default size.
const INTEGRITY_OPERATIONS: u32 = 16;
/// Time to start a gang of pods if the image is already present on the nodes.
const LEG_SECONDS: f64 = 5.0;
/// Time to start and stop one instrument process, including loading a library, registering memory and connecting.
const PROCESS_SECONDS: f64 = 0.5;
/// Time for the barriers and reports of one case.
const CASE_SECONDS: f64 = 0.02;

/// Time until the hardware counters of an RDMA device include all earlier traffic: the default refresh interval of
/// Linux plus the safety margin that the runner adds.
const COUNTER_SECONDS: f64 = 0.03;

/// Estimated size and duration of a run or leg.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Estimate {
    /// Number of cases, over all pairs.
    pub cases: u64,
    /// Payload bytes of all cases, including warm-up. For a case with a fixed duration, the volume is computed from the
    /// speeds in [`Estimate::assumption`].
    pub payload_bytes: u64,
    /// Size of all record streams, in bytes.
    pub stream_bytes: u64,
    /// Duration in seconds at the speeds in [`Estimate::assumption`].
    pub seconds: u64,
    /// Assumed speeds of the transport.
    pub assumption: Assumption,
}

/// Assumed speeds of a transport. They correspond to good hardware of that type, so a run may take longer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Assumption {
    /// One-way latency of a small message, in nanoseconds.
    pub latency_nanos: u64,
    /// Payload throughput of one rail, in bytes per second.
    pub rail_bytes_per_second: u64,
}

/// Estimates the size and the duration of `plan`.
pub fn estimate(plan: &Plan) -> Estimate {
    let legs = plan.legs.iter().map(|leg| leg_estimate(plan, leg));
    legs.fold(Estimate::zero(plan), |total, leg| Estimate {
        cases: total.cases + leg.cases,
        payload_bytes: total.payload_bytes.saturating_add(leg.payload_bytes),
        stream_bytes: total.stream_bytes + leg.stream_bytes,
        seconds: total.seconds + leg.seconds,
        assumption: total.assumption,
    })
}

/// Estimates the size and the duration of one leg of `plan`.
pub fn leg_estimate(plan: &Plan, leg: &Leg) -> Estimate {
    let mut total = Estimate::zero(plan);
    let mut seconds = LEG_SECONDS;
    let turns = u64::from(plan.turns());
    let arms = leg.arms.len() as u64;
    total.stream_bytes += leg_overhead_bytes(plan, arms);
    for round in &leg.rounds {
        seconds += PROCESS_SECONDS * leg.processes.len() as f64;
        total.stream_bytes += round_overhead_bytes(plan, arms);
        for block in &round.blocks {
            let Some(scenario) = plan.scenarios.get(block.scenario as usize) else {
                continue;
            };
            let case = CaseEstimate::estimate(plan, scenario, block.size_bytes, block.pass);
            let arms = block.order.len() as u64;
            let cases = arms * plan.pairs();
            total.cases += cases;
            total.payload_bytes = total
                .payload_bytes
                .saturating_add(case.bytes.saturating_mul(cases));
            total.stream_bytes += block_stream_bytes(plan, block);
            let overhead = CASE_SECONDS + counter_seconds(plan, scenario);
            seconds += (case.seconds + overhead) * (arms * turns) as f64;
        }
    }
    total.seconds = seconds.ceil() as u64;
    total
}

/// Time that a case spends waiting for the hardware counters of RDMA devices, before and after the window. If both
/// sides post, their waits before the window add up, because the target starts to wait only after the initiator has
/// finished.
fn counter_seconds(plan: &Plan, scenario: &PlannedScenario) -> f64 {
    let waits = if scenario.assignment.workload.is_bidirectional() {
        3
    } else {
        2
    };
    if plan.transports().any(TransportSpec::uses_rdma_devices) {
        f64::from(waits) * COUNTER_SECONDS
    } else {
        0.0
    }
}

/// Limit of a case with `size_bytes` in `scenario`, in seconds: the smallest of all arms.
pub fn case_limit_seconds(plan: &Plan, scenario: &PlannedScenario, size_bytes: u64) -> f64 {
    let deadline = Duration::from_secs(plan.case_deadline_seconds.into());
    let workload = &scenario.assignment.workload;
    let arms = plan.arms.iter();
    let limits = arms.map(|arm| workload.case_limits(arm.channel, size_bytes, deadline).instrument);
    limits.min().unwrap_or(deadline).as_secs_f64()
}

/// Estimates the duration of one case with `size_bytes` in `scenario`, in seconds.
pub fn case_seconds(plan: &Plan, scenario: &PlannedScenario, size_bytes: u64) -> f64 {
    CaseEstimate::estimate(plan, scenario, size_bytes, Pass::Measure).seconds
}

impl Estimate {
    fn zero(plan: &Plan) -> Self {
        Self {
            cases: 0,
            payload_bytes: 0,
            stream_bytes: 0,
            seconds: 0,
            assumption: Assumption::from(&plan.transport),
        }
    }
}

/// Size in bytes of the records of a leg with `arms` arms. Excludes the records of its rounds.
pub(super) fn leg_overhead_bytes(plan: &Plan, arms: u64) -> u64 {
    let endpoints = ENDPOINTS_BYTES + plan.rails() * ENDPOINTS_RAIL_BYTES;
    // The runner shortens a longer record to the maximum length of a line.
    let endpoints = endpoints.min(crds::record::MAX_LINE_BYTES as u64);
    u64::from(plan.workers) * (HELLO_BYTES + arms * endpoints + claims_bytes(plan))
        + configurations_bytes(plan, arms)
}

/// Size in bytes of the claim records of a worker, for the arm that claims the most devices.
fn claims_bytes(plan: &Plan) -> u64 {
    let claims = plan.arms.iter().filter_map(|arm| arm.claims.as_ref());
    let bytes = claims.map(|claims| {
        let devices = u64::from(claims.devices()) * CLAIMED_DEVICE_BYTES;
        u64::from(claims.groups) * (CLAIM_BYTES + devices)
    });
    bytes.max().unwrap_or(0)
}

/// Size in bytes of the configuration records of a leg with `arms` arms, if most workers have the same configuration.
fn configurations_bytes(plan: &Plan, arms: u64) -> u64 {
    let Some(variables) = plan.assessed_variables() else {
        return 0;
    };
    let commands = plan
        .scenarios
        .iter()
        .filter(|scenario| scenario.assignment.workload.tool().is_some());
    // The files of a process usually fit in two records.
    let parts = variables.len().div_ceil(MAX_RECORDED_VARIABLES) + 2;
    let records = arms * (1 + commands.count() as u64) * parts as u64;
    records.min(MAX_CONFIGURATION_RECORDS as u64) * crds::record::MAX_LINE_BYTES as u64
}

/// Size in bytes of the records of a round with `arms` arms. Excludes the records of its blocks.
pub(super) fn round_overhead_bytes(plan: &Plan, arms: u64) -> u64 {
    u64::from(plan.workers) * arms * COLD_BYTES
}

/// Size of the records of `block`, in bytes.
pub(super) fn block_stream_bytes(plan: &Plan, block: &BlockAssignment) -> u64 {
    let scenario = plan.scenarios.get(block.scenario as usize);
    let case = match (block.pass, scenario) {
        (Pass::Integrity, _) | (_, None) => INTEGRITY_CASE_BYTES,
        (Pass::Pilot | Pass::Measure, Some(scenario)) => {
            let work = &scenario.assignment.workload;
            let samples = CaseEstimate::estimate(plan, scenario, block.size_bytes, block.pass).samples;
            let [_, measuring_target] = work.measuring_sides();
            let sides = if measuring_target { 2 } else { 1 };
            let windows = if work.is_bidirectional() { WINDOWS_BYTES } else { 0 };
            let rails = plan.rails();
            // The runner shortens a longer record to the maximum length of a line.
            (case_bytes(samples, sides, rails) + windows + rules(work).additional_record_bytes())
                .min(crds::record::MAX_LINE_BYTES as u64)
        }
    };
    BLOCK_BYTES + plan.pairs() * block.order.len() as u64 * case
}

fn case_bytes(samples: u64, sides: u64, rails: u64) -> u64 {
    CASE_BYTES
        + rails.saturating_sub(4) * RAIL_BYTES
        + sides.saturating_sub(1) * POSTED_BYTES
        + sides * histogram_bytes(samples)
}

/// Size in bytes of the histogram of `samples` samples in a record, assuming that the samples span three decades.
fn histogram_bytes(samples: u64) -> u64 {
    match samples {
        0..=1_000 => 256 + samples,
        1_001..=10_000 => 3_500,
        10_001..=100_000 => 7_500,
        _ => 13_500,
    }
}

impl From<&TransportSpec> for Assumption {
    fn from(transport: &TransportSpec) -> Self {
        let (latency_nanos, rail_bytes_per_second) = match transport {
            TransportSpec::Loopback(_) => (500, 5_000_000_000),
            TransportSpec::Libfabric(libfabric) => match libfabric.provider {
                LibfabricProvider::Shm => (1_000, 2_000_000_000),
                LibfabricProvider::Tcp | LibfabricProvider::Net | LibfabricProvider::TcpRxm => {
                    (20_000, 500_000_000)
                }
                // 100 Gbit/s per device, as on p5 instances.
                LibfabricProvider::Efa | LibfabricProvider::EfaDirect => (16_000, 12_500_000_000),
                LibfabricProvider::Verbs => (3_000, 12_500_000_000),
            },
            TransportSpec::Ucx(_) if transport.uses_ip() => (20_000, 500_000_000),
            TransportSpec::Ucx(_) if !transport.uses_nics() => (1_000, 2_000_000_000),
            TransportSpec::Ucx(_) | TransportSpec::Nixl(_) => (16_000, 12_500_000_000),
            TransportSpec::Verbs(_) => (3_000, 12_500_000_000),
        };
        Self {
            latency_nanos,
            rail_bytes_per_second,
        }
    }
}

/// Estimate of one case of one pair.
struct CaseEstimate {
    bytes: u64,
    seconds: f64,
    /// Number of samples on each posting side.
    samples: u64,
}

impl CaseEstimate {
    fn estimate(plan: &Plan, scenario: &PlannedScenario, size: u64, pass: Pass) -> Self {
        let workload = &scenario.assignment.workload;
        let threads = u64::from(workload.threads());
        let rules = rules(workload);
        let moves_both_ways = workload.is_bidirectional() || rules.measures_round_trips();
        let directions = if moves_both_ways { 2 } else { 1 };
        let operation = operation_seconds(plan, workload, size);
        let (warmup, measured) = match pass {
            Pass::Integrity => (Extent::Iterations(0), Extent::Iterations(INTEGRITY_OPERATIONS)),
            Pass::Pilot => {
                let measured = pilot::extent(workload).unwrap_or_else(|| workload.measured());
                (workload.warmup(), measured)
            }
            Pass::Measure => {
                let given = scenario.operation_counts.get(&size);
                let measured = given.map_or_else(|| workload.measured(), |count| Extent::Iterations(*count));
                (workload.warmup(), measured)
            }
        };
        let measured = rules.expected_extent(measured);
        let (warmup_operations, warmup_seconds) = operations_and_seconds(plan, workload, warmup, operation);
        let (measured_operations, seconds) = operations_and_seconds(plan, workload, measured, operation);
        let seconds = warmup_seconds + seconds;
        let limit = rules.limit_seconds().unwrap_or(f64::INFINITY);
        let share = if seconds > limit { limit / seconds } else { 1.0 };
        let operations = ((warmup_operations + measured_operations) as f64 * share) as u64;
        Self {
            bytes: operations
                .saturating_mul(size)
                .saturating_mul(threads * directions),
            seconds: seconds * share,
            samples: match (pass, measured) {
                (Pass::Integrity, _) => 0,
                (_, Extent::DurationNanos(_)) => TIMED_SAMPLES,
                (_, Extent::Iterations(_) | Extent::FillWindow { .. }) => measured_operations * threads,
            },
        }
    }
}

/// Assumed time of one operation of one thread, in seconds, while all threads of a worker are active.
fn operation_seconds(plan: &Plan, workload: &Workload, size: u64) -> f64 {
    let assumed = Assumption::from(&plan.transport);
    let rails = f64::from(plan.transport.rails());
    let wire = size as f64 / (assumed.rail_bytes_per_second as f64 * rails);
    let latency = assumed.latency_nanos as f64 * 1e-9;
    // A window of messages in flight hides latency, but not transmission time. A worker's flows share its rails, but
    // threads on different GPUs do not.
    let threads = workload.threads().saturating_mul(plan.flows_of_a_worker());
    let sharing = threads.div_ceil(plan.devices.groups());
    let interval = workload.open_loop().map(|load| 1.0 / f64::from(load.rate));
    rules(workload).operation_seconds(Speed {
        latency,
        wire,
        sharing: f64::from(sharing),
        interval,
    })
}

/// Number of operations that one thread performs in `extent`, and their duration in seconds, if each takes `operation`
/// seconds.
fn operations_and_seconds(plan: &Plan, workload: &Workload, extent: Extent, operation: f64) -> (u64, f64) {
    let count = match extent {
        Extent::Iterations(count) => count,
        Extent::DurationNanos(nanos) => {
            let seconds = nanos as f64 * 1e-9;
            return ((seconds / operation) as u64, seconds);
        }
        Extent::FillWindow { .. } => {
            // A large number of operations per thread makes the error from rounding to whole nanoseconds negligible.
            const OPERATIONS: u64 = 1_000_000;
            let nanos = (operation * 1e9 * OPERATIONS as f64).max(1.0) as u64;
            let worker_operations = OPERATIONS * u64::from(workload.threads());
            let count =
                PilotCount::from_worker(workload, plan.case_deadline_seconds, worker_operations, nanos);
            count.map_or(0, |count| count.iterations(workload))
        }
    };
    (u64::from(count), f64::from(count) * operation)
}

#[cfg(test)]
mod tests;
