//! Proves that the bytes used the requested fabric, by comparing the byte counters of interfaces with the payload.
//!
//! Every interface must have sent at least the bytes that its rails posted, and received at least the bytes sent to its
//! rails. A reading that is smaller than its own case's payload contradicts the fabric.
//!
//! Pairs that run concurrently and share an interface, such as all workers on the same machine, see each other's bytes,
//! so their readings are evaluated jointly: at least one of them must cover the payloads of all pairs. If the windows
//! of the pairs overlap only partially, there may be no reading that covers all payloads; the fabric is then only
//! `Declared`.

mod command;
mod expected_traffic;
mod log_lines;
mod provider;
mod requested;
mod software;

use std::collections::BTreeMap;

use crds::assignment::{Pass, Workload};
use crds::record::InterfaceDelta;
use crds::v1alpha1::FabricProof;
use serde::Serialize;

pub(super) use log_lines::warnings as log_warnings;

use super::{CaseCheck, CaseProof, EndpointIndex};
use crate::collect::{Case, CaseOutcome, Measured, Reports, Side};
use crate::plan::Plan;

/// Fraction of the payload that byte counters must cover. Headers can only increase the counters. The tolerance of 1%
/// allows for counters that are read while the last frame is still in flight.
pub const COVERAGE: f64 = 0.99;

/// Proof that the bytes of a whole run used the fabric.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FabricEvidence {
    /// Weakest proof of any case.
    pub proof: FabricProof,
    /// Providers, as the library returned them.
    pub provider: String,
    /// Reason for this proof.
    pub reason: String,
    /// Interfaces whose counters were read.
    pub interfaces: Vec<String>,
    /// Bytes that these interfaces sent while cases were measured; `None` if no counters were read.
    pub counted_bytes: Option<u64>,
    /// Payload bytes that these interfaces had to send in the same cases.
    pub payload_bytes: u64,
}

/// The proofs of all cases, and the readings on which they are based.
#[derive(Debug)]
pub(super) struct Proofs {
    /// One entry per case; `None` for a case without measurements, and for calls outside the fabric.
    pub(super) cases: Vec<Option<CaseProof>>,
    readings: Vec<InterfaceReading>,
}

/// Readings of one interface while overlapping cases ran.
#[derive(Debug)]
struct InterfaceReading {
    interface: String,
    /// Description of the counts, for the reason given for the proof.
    counters: String,
    end_nanos: u64,
    /// Bytes of each case, by its index.
    cases: BTreeMap<usize, TrafficBytes>,
}

/// Bytes that an interface was expected to carry, and the largest byte counts of a reading.
#[derive(Clone, Copy, Debug, Default)]
struct TrafficBytes {
    expected_sent: u64,
    expected_received: u64,
    counted_sent: u64,
    counted_received: u64,
}

impl TrafficBytes {
    fn covers(&self) -> bool {
        let covered = |counted: u64, expected: u64| counted as f64 >= expected as f64 * COVERAGE;
        covered(self.counted_sent, self.expected_sent)
            && covered(self.counted_received, self.expected_received)
    }
}

impl InterfaceReading {
    /// Payloads of all cases, and the largest reading of any of them.
    fn total(&self) -> TrafficBytes {
        self.cases
            .values()
            .fold(TrafficBytes::default(), |total, case| TrafficBytes {
                expected_sent: total.expected_sent + case.expected_sent,
                expected_received: total.expected_received + case.expected_received,
                counted_sent: total.counted_sent.max(case.counted_sent),
                counted_received: total.counted_received.max(case.counted_received),
            })
    }
}

/// Block, arm, host and interface: the key of readings that are compared together.
type ReadingKey = (u32, usize, String, String);

/// Determines the proof of every measured case in `reports`.
pub(super) fn prove(plan: &Plan, reports: &Reports, endpoints: &EndpointIndex<'_>) -> Proofs {
    let mut readings: BTreeMap<ReadingKey, Vec<InterfaceReading>> = BTreeMap::new();
    let mut order: Vec<usize> = (0..reports.cases.len()).collect();
    order.sort_by_key(|index| reports.cases.get(*index).map(|case| case.started_nanos));
    for index in order {
        let Some((case, measured)) = measured_case(reports, index) else {
            continue;
        };
        let Some(scenario) = plan.scenarios.get(case.scenario) else {
            continue;
        };
        let is_command = scenario.assignment.workload.command().is_some();
        if is_command || plan.is_off_fabric(scenario, case.arm) {
            continue;
        }
        let (initiator, target) = expected_traffic::expected_traffic(&scenario.assignment.workload, measured);
        for (rank, side, expected) in [
            (case.initiator, &measured.initiator, initiator),
            (case.target, &measured.target, target),
        ] {
            for delta in &side.interfaces {
                let host = host(reports, case, rank);
                let key = (case.block, case.arm, host, delta.name.clone());
                add(
                    readings.entry(key).or_default(),
                    index,
                    case,
                    side,
                    delta,
                    &expected,
                );
            }
        }
    }
    let readings: Vec<InterfaceReading> = readings.into_values().flatten().collect();
    let mut readings_by_case: BTreeMap<usize, Vec<&InterfaceReading>> = BTreeMap::new();
    for reading in &readings {
        for case in reading.cases.keys() {
            readings_by_case.entry(*case).or_default().push(reading);
        }
    }
    let prove_case = |index: usize| {
        let (case, measured) = measured_case(reports, index)?;
        let scenario = plan.scenarios.get(case.scenario)?;
        if plan.is_off_fabric(scenario, case.arm) {
            return None;
        }
        if scenario.assignment.workload.command().is_some() {
            let contradiction = provider::contradiction(plan, case, endpoints);
            return Some(contradiction.unwrap_or_else(|| command::prove(plan, reports, case, measured)));
        }
        let case_readings = readings_by_case.get(&index).map_or(&[][..], Vec::as_slice);
        Some(provider::contradiction(plan, case, endpoints).unwrap_or_else(|| {
            if let Some(looped) = software::loopback_proof(measured, &hosts(reports, case)) {
                return looped;
            }
            let workload = plan.scenarios.get(case.scenario);
            let workload = workload.map(|scenario| &scenario.assignment.workload);
            proof(plan, workload, index, case, measured, case_readings, endpoints)
        }))
    };
    Proofs {
        cases: (0..reports.cases.len()).map(prove_case).collect(),
        readings,
    }
}

fn measured_case(reports: &Reports, index: usize) -> Option<(&Case, &Measured)> {
    let case = reports.cases.get(index)?;
    match &case.outcome {
        CaseOutcome::Measured(measured) if case.pass == Pass::Measure => Some((case, measured)),
        _ => None,
    }
}

/// Host name of a worker. Workers on the same host see the same interfaces.
fn host(reports: &Reports, case: &Case, rank: u32) -> String {
    let hello = reports
        .hellos
        .iter()
        .find(|from| (from.leg, from.attempt, from.record.rank) == (case.leg, case.attempt, rank));
    hello.map_or_else(
        || format!("rank {rank}"),
        |from| from.record.environment.hostname.clone(),
    )
}

/// Host names of the initiator and the target of `case`.
fn hosts(reports: &Reports, case: &Case) -> [String; 2] {
    [case.initiator, case.target].map(|rank| host(reports, case, rank))
}

fn add(
    readings: &mut Vec<InterfaceReading>,
    index: usize,
    case: &Case,
    side: &Side,
    delta: &InterfaceDelta,
    expected: &expected_traffic::ExpectedTraffic,
) {
    let end_nanos = case.started_nanos + delta.interval_nanos.max(side.window_nanos);
    let overlapping = readings
        .iter_mut()
        .find(|reading| case.started_nanos < reading.end_nanos);
    let reading = match overlapping {
        Some(reading) => reading,
        None => {
            readings.push(InterfaceReading {
                interface: delta.name.clone(),
                counters: software::counters(delta),
                end_nanos,
                cases: BTreeMap::new(),
            });
            let Some(reading) = readings.last_mut() else {
                return;
            };
            reading
        }
    };
    reading.end_nanos = reading.end_nanos.max(end_nanos);
    let bytes = reading.cases.entry(index).or_default();
    bytes.expected_sent += expected.sent_on(&delta.rails);
    bytes.expected_received += expected.received_on(&delta.rails);
    let (sent, received) = software::counted_bytes(delta);
    bytes.counted_sent = bytes.counted_sent.max(sent);
    bytes.counted_received = bytes.counted_received.max(received);
}

fn proof(
    plan: &Plan,
    workload: Option<&Workload>,
    index: usize,
    case: &Case,
    measured: &Measured,
    readings: &[&InterfaceReading],
    endpoints: &EndpointIndex<'_>,
) -> CaseProof {
    let arm = plan.arms.get(case.arm);
    let transport = arm.map_or(&plan.transport, |arm| plan.transport_of(arm));
    let provider = endpoints
        .facts_of_case(case, case.initiator)
        .map_or(transport.library(), |facts| facts.provider.as_str());
    let declared = |reason: String| CaseProof {
        proof: FabricProof::Declared,
        reason,
    };
    let own = |reading: &InterfaceReading| reading.cases.get(&index).copied().unwrap_or_default();
    if let Some(short) = readings.iter().find(|reading| !own(reading).covers()) {
        let bytes = own(short);
        return CaseProof {
            proof: FabricProof::Contradicted,
            reason: format!(
                "{} counted {} bytes sent and {} received, but the payload is {} and {}",
                short.interface,
                bytes.counted_sent,
                bytes.counted_received,
                bytes.expected_sent,
                bytes.expected_received
            ),
        };
    }
    if readings.is_empty() {
        return declared(format!("{provider} uses no interface with byte counters"));
    }
    if let Some(short) = readings.iter().find(|reading| !reading.total().covers()) {
        let total = short.total();
        return declared(format!(
            "{} pairs used {} concurrently, and no reading covers their combined payload: at most {} bytes sent and {} \
             received of {} and {}",
            short.cases.len(),
            short.interface,
            total.counted_sent,
            total.counted_received,
            total.expected_sent,
            total.expected_received
        ));
    }
    let serving = workload.and_then(Workload::serving);
    if let Some(serving) = serving.filter(|serving| !serving.delivery.uses_fabric()) {
        let mode = serving.delivery.mode();
        return declared(format!(
            "{mode} mode does not send the parameters over the fabric"
        ));
    }
    // In `Pull` mode of parameter serving, only the target posts.
    let posted = measured.initiator.posted.as_ref();
    let posted = posted.or_else(|| serving.and(measured.target.posted.as_ref()));
    let Some(posted) = posted else {
        return declared("the initiator reports no posts".into());
    };
    let per_rail = &posted.counters.bytes_per_rail;
    if (per_rail.iter().sum::<u64>() as f64) < posted.payload_bytes as f64 * COVERAGE {
        return declared("the initiator's bytes per rail do not add up to its payload".into());
    }
    let interfaces = || {
        measured
            .initiator
            .interfaces
            .iter()
            .chain(&measured.target.interfaces)
    };
    let uncovered = per_rail.iter().enumerate().find(|(rail, bytes)| {
        **bytes > 0 && !interfaces().any(|delta| delta.rails.iter().any(|covered| *covered as usize == *rail))
    });
    if let Some((rail, _)) = uncovered {
        return declared(format!("rail {rail} has no interface with byte counters"));
    }
    let mut names: Vec<&str> = readings.iter().map(|reading| reading.counters.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    CaseProof {
        proof: FabricProof::Verified,
        reason: format!("the byte counters of {} cover the payload", names.join(", ")),
    }
}

/// Returns the proof of the run, which is the weakest proof of its cases. Its byte counts include only readings whose
/// cases are all valid.
pub(super) fn run_evidence(
    proofs: &Proofs,
    validities: &[CaseCheck],
    endpoints: &EndpointIndex<'_>,
) -> Option<FabricEvidence> {
    let weakest = proofs.cases.iter().flatten().min_by_key(|proof| proof.proof)?;
    let mut providers: Vec<&str> = endpoints
        .all()
        .map(|(_, _, facts)| facts.provider.as_str())
        .collect();
    providers.sort_unstable();
    providers.dedup();
    let valid = |reading: &&InterfaceReading| {
        let mut cases = reading.cases.keys();
        cases.all(|case| validities.get(*case).is_some_and(CaseCheck::is_valid))
    };
    let readings: Vec<&InterfaceReading> = proofs.readings.iter().filter(valid).collect();
    let mut interfaces: Vec<String> = readings.iter().map(|reading| reading.interface.clone()).collect();
    interfaces.sort_unstable();
    interfaces.dedup();
    let totals: Vec<TrafficBytes> = readings.iter().map(|reading| reading.total()).collect();
    let counted: u64 = totals.iter().map(|total| total.counted_sent).sum();
    Some(FabricEvidence {
        proof: weakest.proof,
        provider: providers.join(", "),
        reason: weakest.reason.clone(),
        counted_bytes: (!interfaces.is_empty()).then_some(counted),
        payload_bytes: totals.iter().map(|total| total.expected_sent).sum(),
        interfaces,
    })
}

#[cfg(test)]
mod tests;
