//! Proves that the bytes used the requested fabric, by comparing the byte counters of interfaces with the payload.
//!
//! Every interface must have sent at least the bytes that its rails posted, and received at least the bytes sent to its
//! rails. A reading that is smaller than its own case's payload contradicts the fabric. A reading that is larger than the
//! payload and everything that belongs to it shows other traffic. Such an interface is `Shared`: the other traffic could
//! also have caused the counts that cover the payload, and it disturbs the measurement.
//!
//! Pairs that run concurrently and share an interface, such as all workers on the same machine, see each other's bytes,
//! so their readings are evaluated jointly: at least one of them must cover the payloads of all pairs. If the windows
//! of the pairs overlap only partially, there may be no reading that covers all payloads; the fabric is then only
//! `Declared`.

mod command;
mod control;
mod expected_traffic;
mod hosts;
pub(in crate::summarize) mod log_lines;
mod provider;
mod reading;
mod requested;
mod software;

use std::collections::{BTreeMap, BTreeSet};

use crds::assignment::{Pass, Workload};
use crds::interface_load::COVERAGE;
use crds::record::{CaseResult, Measurement};
use crds::v1alpha1::FabricProof;
use serde::Serialize;

use self::control::ControlSides;
use self::hosts::{host, hosts};
use self::reading::{InterfaceReading, ReadSide, Traffic};
use super::case_check::{CaseCheck, CaseProof};
use crate::collect::{Case, Reports};
use crate::plan::{Plan, PlannedScenario};
use crate::summarize::workers::endpoints::EndpointIndex;

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
    /// Bytes beyond the payload and everything that belongs to it, in the direction of each reading with more of them;
    /// `None` if no counters were read, or only while a case without measurements used the same host.
    pub foreign_bytes: Option<u64>,
}

/// The proofs of all cases, and the readings on which they are based.
#[derive(Debug)]
pub(in crate::summarize) struct Proofs {
    /// One entry per case; `None` for a case without measurements, and for calls outside the fabric.
    pub(super) cases: Vec<Option<CaseProof>>,
    /// Bytes of other traffic on the interfaces of each case; `None` without a reading, and if another pair of the run can
    /// have caused them.
    pub(in crate::summarize) foreign_bytes: Vec<Option<u64>>,
    readings: Vec<InterfaceReading>,
    /// Indexes of the cases in whose block and arm a case without measurements used the same host.
    near_unmeasured: BTreeSet<usize>,
}

/// Block, arm, host and interface: the key of readings that are compared together.
type ReadingKey = (u32, usize, String, String);

/// Determines the proof of every measured case in `reports`.
pub(in crate::summarize) fn prove(plan: &Plan, reports: &Reports, endpoints: &EndpointIndex<'_>) -> Proofs {
    let control = ControlSides::new(reports);
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
        let is_command = scenario.assignment.workload.tool().is_some();
        if is_command || plan.is_off_fabric(scenario, case.arm) {
            continue;
        }
        let workload = &scenario.assignment.workload;
        let (initiator, target) = expected_traffic::expected_traffic(workload, measured);
        for (rank, side, expected) in [
            (case.initiator, &measured.initiator, initiator),
            (case.target, &measured.target, target),
        ] {
            for delta in &side.interfaces {
                let host = host(reports, case, rank);
                let control_sides = control.on_host(reports, case, &host);
                let key = (case.block, case.arm, host, delta.name.clone());
                let read = ReadSide {
                    index,
                    case,
                    side,
                    expected: &expected,
                    control_sides,
                    both_post: workload.is_bidirectional(),
                };
                reading::add(readings.entry(key).or_default(), &read, delta);
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
    let near_unmeasured = cases_near_unmeasured_ones(reports);
    let attributed = |index: usize, proof: CaseProof| match proof.proof {
        FabricProof::Shared if near_unmeasured.contains(&index) => CaseProof {
            proof: FabricProof::Declared,
            reason: format!(
                "a pair without measurements used the same host at the same time, so its bytes are unknown: {}",
                proof.reason
            ),
        },
        _ => proof,
    };
    let prove_case = |index: usize| {
        let (case, measured) = measured_case(reports, index)?;
        let scenario = plan.scenarios.get(case.scenario)?;
        if plan.is_off_fabric(scenario, case.arm) {
            return None;
        }
        if scenario.assignment.workload.tool().is_some() {
            let contradiction = provider::contradiction(plan, case, endpoints);
            let prove = || attributed(index, command::prove(plan, reports, &control, case, measured));
            return Some(contradiction.unwrap_or_else(prove));
        }
        let case_readings = readings_by_case.get(&index).map_or(&[][..], Vec::as_slice);
        Some(provider::contradiction(plan, case, endpoints).unwrap_or_else(|| {
            if let Some(looped) = software::loopback_proof(measured, &hosts(reports, case)) {
                return looped;
            }
            let workload = plan.scenarios.get(case.scenario);
            let workload = workload.map(|scenario| &scenario.assignment.workload);
            let proof = proof(plan, workload, index, case, measured, case_readings, endpoints);
            attributed(index, proof)
        }))
    };
    let foreign_bytes = |index: usize| {
        let (case, measured) = measured_case(reports, index)?;
        if near_unmeasured.contains(&index) {
            return None;
        }
        let is_command = |scenario: &PlannedScenario| scenario.assignment.workload.tool().is_some();
        if plan.scenarios.get(case.scenario).is_some_and(is_command) {
            return command::foreign_bytes(reports, &control, case, measured);
        }
        let readings = readings_by_case.get(&index)?;
        let excess = readings.iter().map(|reading| reading.excess());
        excess
            .map(|excess| excess.map_or(0, |excess| excess.bytes()))
            .max()
    };
    Proofs {
        cases: (0..reports.cases.len()).map(prove_case).collect(),
        foreign_bytes: (0..reports.cases.len()).map(foreign_bytes).collect(),
        readings,
        near_unmeasured,
    }
}

/// Indexes of the cases in whose block and arm a case without measurements, whose traffic is unknown, used the same host.
fn cases_near_unmeasured_ones(reports: &Reports) -> BTreeSet<usize> {
    let unmeasured = hosts_of_unmeasured_cases(reports);
    let is_beside = |case: &Case| {
        let mut hosts = hosts(reports, case).into_iter();
        hosts.any(|host| unmeasured.contains(&(case.block, case.arm, host)))
    };
    let cases = reports.cases.iter().enumerate();
    let found = cases.filter(|(_, case)| !unmeasured.is_empty() && is_beside(case));
    found.map(|(index, _)| index).collect()
}

/// Block, arm and host of every measured block's case without measurements.
fn hosts_of_unmeasured_cases(reports: &Reports) -> BTreeSet<(u32, usize, String)> {
    let failed = reports
        .cases
        .iter()
        .filter(|case| matches!(case.outcome, CaseResult::Failed(_)) && case.pass == Pass::Measure);
    let hosts = failed.flat_map(|case| hosts(reports, case).map(|host| (case.block, case.arm, host)));
    hosts.collect()
}

fn measured_case(reports: &Reports, index: usize) -> Option<(&Case, &Measurement)> {
    let case = reports.cases.get(index)?;
    Some((case, case.measurement()?))
}

fn proof(
    plan: &Plan,
    workload: Option<&Workload>,
    index: usize,
    case: &Case,
    measured: &Measurement,
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
    if let Some(mode) = workload.and_then(|workload| workload.mode_off_fabric()) {
        return declared(format!(
            "{mode} mode does not send the parameters over the fabric"
        ));
    }
    // If the initiator does not measure operations, it may not post either.
    let is_silent = workload.is_some_and(|workload| !workload.measuring_sides()[0]);
    let of_target = measured.target.posted.as_ref().filter(|_| is_silent);
    let posted = measured.initiator.posted.as_ref().or(of_target);
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
    let excesses = readings
        .iter()
        .filter_map(|reading| Some((reading, reading.excess()?)));
    if let Some((reading, excess)) = excesses.max_by_key(|(_, excess)| excess.bytes()) {
        return CaseProof {
            proof: FabricProof::Shared,
            reason: excess.message(&reading.counters),
        };
    }
    CaseProof {
        proof: FabricProof::Verified,
        reason: format!("the byte counters of {} cover the payload", names.join(", ")),
    }
}

/// Returns the proof of the run, which is the weakest proof of its cases. Its byte counts include only readings whose
/// cases are all valid.
pub(in crate::summarize) fn run_evidence(
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
    let totals: Vec<Traffic> = readings.iter().map(|reading| reading.total()).collect();
    let counted: u64 = totals.iter().map(|total| total.counted_sent).sum();
    let is_attributed = |reading: &&&InterfaceReading| {
        let mut cases = reading.cases.keys();
        cases.all(|case| !proofs.near_unmeasured.contains(case))
    };
    let attributed: Vec<&&InterfaceReading> = readings.iter().filter(is_attributed).collect();
    Some(FabricEvidence {
        proof: weakest.proof,
        provider: providers.join(", "),
        reason: weakest.reason.clone(),
        counted_bytes: (!interfaces.is_empty()).then_some(counted),
        payload_bytes: totals.iter().map(|total| total.expected_sent).sum(),
        foreign_bytes: (!attributed.is_empty()).then(|| {
            let excesses = attributed.iter().filter_map(|reading| reading.excess());
            excesses.map(|excess| excess.bytes()).sum()
        }),
        interfaces,
    })
}

#[cfg(test)]
mod tests;
