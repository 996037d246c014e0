//! How many bytes and how long: for warnings, deadlines and the length of streams. Orders of magnitude, not promises.

use crds::assignment::{BlockAssignment, Extent, Pass, ScenarioAssignment, Workload};
use crds::v1alpha1::{Direction, LibfabricProvider, TransportSpec};
use serde::Serialize;

use super::{Leg, Plan, PlannedScenario};

/// Bytes of a case record beside its histograms: counters, both sides, framing. Measured: 1.6 KB with four interfaces.
const CASE_BYTES: u64 = 2048;
/// Bytes of a case record of the integrity pass. Measured: 0.5 KB.
const INTEGRITY_CASE_BYTES: u64 = 1024;
/// A histogram's encoding is at most so long however many samples it has: latencies of one case spread over some
/// thousand buckets. Measured: 1.2 KB for 1,000 samples of a heavy-tailed distribution, 5.8 KB for a million.
const HISTOGRAM_BYTES: u64 = 6 * 1024;
const HISTOGRAM_HEAD_BYTES: u64 = 256;
const SAMPLE_BYTES: u64 = 2;
/// Bytes of the `hello` of one worker: a record line at most.
const HELLO_BYTES: u64 = crds::record::MAX_LINE_BYTES as u64;
/// Bytes of the `endpoints` of one arm at one worker.
const ENDPOINTS_BYTES: u64 = 4096;
/// Bytes of the `cold` of one arm at one worker in one round, and of warnings that a round may bring.
const COLD_BYTES: u64 = 512;
/// Bytes of the `block` record.
const BLOCK_BYTES: u64 = 256;
/// Integrity transfers of a case: one window.
const INTEGRITY_OPERATIONS: u64 = 16;
/// Starting a gang of pods with an image that the node has.
const LEG_SECONDS: f64 = 5.0;
/// Starting and ending one instrument process: opening a library, registering memory, connecting.
const PROCESS_SECONDS: f64 = 0.5;
/// Barriers and reports around a case.
const CASE_SECONDS: f64 = 0.02;

/// How much a run moves, and how long it takes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Estimate {
    /// Cases of all legs, over all pairs.
    pub cases: u64,
    /// Payload bytes of all cases, warm-up included, assuming the speeds of [`Estimate::assumption`] where a case is
    /// bounded by time.
    pub payload_bytes: u64,
    /// Bytes of all record streams.
    pub stream_bytes: u64,
    /// Time in seconds, assuming the same speeds.
    pub seconds: u64,
    /// The speeds that are assumed.
    pub assumption: Assumption,
}

/// Speeds that are assumed of a transport: good hardware of its kind, so that a run may well take longer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Assumption {
    /// Latency of a small message in nanoseconds.
    pub latency_nanos: u64,
    /// Payload bytes a second of one rail.
    pub rail_bytes_per_second: u64,
}

/// Estimates `plan`.
pub fn estimate(plan: &Plan) -> Estimate {
    let legs = plan.legs.iter().map(|leg| leg_estimate(plan, leg));
    legs.fold(Estimate::none(plan), |total, leg| Estimate {
        cases: total.cases + leg.cases,
        payload_bytes: total.payload_bytes.saturating_add(leg.payload_bytes),
        stream_bytes: total.stream_bytes + leg.stream_bytes,
        seconds: total.seconds + leg.seconds,
        assumption: total.assumption,
    })
}

/// Estimates one leg of `plan`.
pub fn leg_estimate(plan: &Plan, leg: &Leg) -> Estimate {
    let mut total = Estimate::none(plan);
    let mut seconds = LEG_SECONDS;
    // Disjoint pairs run at the same time: the circle method needs a turn for each worker but one, or for each where
    // their number is odd.
    let turns = u64::from(plan.workers.saturating_sub(1) + plan.workers % 2);
    let arms = leg.arms.len() as u64;
    total.stream_bytes += leg_stream_bytes(plan, arms);
    for round in &leg.rounds {
        seconds += PROCESS_SECONDS * leg.processes.len() as f64;
        total.stream_bytes += round_stream_bytes(plan, arms);
        for block in &round.blocks {
            let Some(scenario) = plan.scenarios.get(block.scenario as usize) else {
                continue;
            };
            let case = Case::of(plan, scenario, block.size_bytes, round.pass);
            let arms = block.order.len() as u64;
            let cases = arms * plan.pairs();
            total.cases += cases;
            total.payload_bytes = total
                .payload_bytes
                .saturating_add(case.bytes.saturating_mul(cases));
            total.stream_bytes += block_stream_bytes(plan, block, round.pass);
            seconds += (case.seconds + CASE_SECONDS) * (arms * turns) as f64;
        }
    }
    total.seconds = seconds.ceil() as u64;
    total
}

/// Time that a case of `size_bytes` of `scenario` takes, in seconds.
pub fn case_seconds(plan: &Plan, scenario: &PlannedScenario, size_bytes: u64) -> f64 {
    Case::of(plan, scenario, size_bytes, Pass::Measure).seconds
}

impl Estimate {
    fn none(plan: &Plan) -> Self {
        Self {
            cases: 0,
            payload_bytes: 0,
            stream_bytes: 0,
            seconds: 0,
            assumption: Assumption::of(&plan.transport),
        }
    }
}

/// Bytes that a leg of `arms` arms streams whatever it measures.
pub(super) fn leg_stream_bytes(plan: &Plan, arms: u64) -> u64 {
    u64::from(plan.workers) * (HELLO_BYTES + arms * ENDPOINTS_BYTES)
}

/// Bytes that a round of `arms` arms streams beside its cases.
pub(super) fn round_stream_bytes(plan: &Plan, arms: u64) -> u64 {
    u64::from(plan.workers) * arms * COLD_BYTES
}

/// Bytes that the records of `block` take.
pub(super) fn block_stream_bytes(plan: &Plan, block: &BlockAssignment, pass: Pass) -> u64 {
    let scenario = plan.scenarios.get(block.scenario as usize);
    let case = match (pass, scenario) {
        (Pass::Integrity, _) | (_, None) => INTEGRITY_CASE_BYTES,
        (Pass::Measure, Some(scenario)) => {
            let (samples, sides) = samples(&scenario.assignment);
            let histogram = HISTOGRAM_HEAD_BYTES + SAMPLE_BYTES * samples;
            CASE_BYTES + sides * histogram.min(HISTOGRAM_BYTES)
        }
    };
    BLOCK_BYTES + plan.pairs() * block.order.len() as u64 * case
}

/// Samples of a case at each posting side, and the number of these.
fn samples(scenario: &ScenarioAssignment) -> (u64, u64) {
    let (measured, threads, both) = match &scenario.workload {
        Workload::PingPong(ping_pong) => (ping_pong.measured, 1, false),
        Workload::Transfer(transfer) => (
            transfer.measured,
            u64::from(transfer.threads),
            transfer.direction == Direction::Both,
        ),
    };
    let samples = match measured {
        Extent::Iterations(iterations) => u64::from(iterations) * threads,
        Extent::DurationNanos(_) => HISTOGRAM_BYTES,
    };
    (samples, if both { 2 } else { 1 })
}

impl Assumption {
    fn of(transport: &TransportSpec) -> Self {
        let (latency_nanos, rail_bytes_per_second) = match transport {
            TransportSpec::Loopback(_) => (500, 5_000_000_000),
            TransportSpec::Libfabric(libfabric) => match libfabric.provider {
                LibfabricProvider::Shm => (1_000, 2_000_000_000),
                LibfabricProvider::Tcp | LibfabricProvider::Net | LibfabricProvider::TcpRxm => {
                    (20_000, 500_000_000)
                }
                // 100 Gbit/s a device, as on p5.
                LibfabricProvider::Efa | LibfabricProvider::EfaDirect => (16_000, 12_500_000_000),
                LibfabricProvider::Verbs => (3_000, 12_500_000_000),
            },
            TransportSpec::Ucx(_) | TransportSpec::Nixl(_) => (16_000, 12_500_000_000),
            TransportSpec::Verbs(_) => (3_000, 12_500_000_000),
        };
        Self {
            latency_nanos,
            rail_bytes_per_second,
        }
    }
}

/// One case of one pair.
struct Case {
    bytes: u64,
    seconds: f64,
}

impl Case {
    fn of(plan: &Plan, scenario: &PlannedScenario, size: u64, pass: Pass) -> Self {
        let assumed = Assumption::of(&plan.transport);
        let rails = u64::from(plan.transport.rails());
        let (warmup, measured, posters, in_flight, ways) = match &scenario.assignment.workload {
            Workload::PingPong(work) => (work.warmup, work.measured, 1, 1, 2),
            Workload::Transfer(work) => {
                let posters = u64::from(work.threads);
                let ways = if work.direction == Direction::Both { 2 } else { 1 };
                (work.warmup, work.measured, posters, u64::from(work.window), ways)
            }
        };
        let wire = size as f64 / (assumed.rail_bytes_per_second as f64 * rails as f64);
        let latency = assumed.latency_nanos as f64 * 1e-9;
        // A window hides latency, never the time on the wire.
        let operation =
            (latency / in_flight as f64 + wire * posters as f64) * if ways == 2 { 2.0 } else { 1.0 };
        let spend = |extent: Extent| match extent {
            Extent::Iterations(count) => (u64::from(count), f64::from(count) * operation),
            Extent::DurationNanos(nanos) => {
                let seconds = nanos as f64 * 1e-9;
                ((seconds / operation) as u64, seconds)
            }
        };
        let (operations, seconds) = match pass {
            Pass::Integrity => (INTEGRITY_OPERATIONS, INTEGRITY_OPERATIONS as f64 * operation),
            Pass::Measure => {
                let (before, warming) = spend(warmup);
                let (during, measuring) = spend(measured);
                (before + during, warming + measuring)
            }
        };
        Self {
            bytes: operations.saturating_mul(size).saturating_mul(posters * ways),
            seconds,
        }
    }
}
