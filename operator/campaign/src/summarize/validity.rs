//! Checks whether every case is valid.
//!
//! EAGAIN does not invalidate a case: a transfer window is meant to fill the queue.

use std::collections::BTreeMap;

use crds::assignment::Pass;
use crds::record::IntegrityReport;
use crds::v1alpha1::FabricProof;

use super::endpoints::identity;
use super::fabric::Proofs;
use super::{CaseCheck, EndpointIndex, Invalid, limits};
use crate::collect::{Case, CaseOutcome, Measured, Reports};
use crate::plan::{Plan, PlannedScenario};

/// Checks every case, in order.
pub(super) fn check_cases(
    plan: &Plan,
    reports: &Reports,
    endpoints: &EndpointIndex<'_>,
    proofs: &Proofs,
) -> Vec<CaseCheck> {
    let corrupt = integrity_failures(reports);
    let check_case = |(index, case): (usize, &Case)| {
        let proof = proofs.cases.get(index).cloned().flatten();
        let mut invalid = case_reasons(plan, case, endpoints);
        if let Some(contradicted) = proof
            .iter()
            .find(|proof| proof.proof == FabricProof::Contradicted)
        {
            invalid.push(Invalid::FabricContradicted {
                message: contradicted.reason.clone(),
            });
        }
        if case.pass == Pass::Measure {
            let message = corrupt.get(&(case.scenario, case.size_bytes, case.arm)).cloned();
            invalid.extend(message.map(|message| Invalid::Integrity { message }));
        }
        CaseCheck { invalid, proof }
    };
    let mut checks: Vec<CaseCheck> = reports.cases.iter().enumerate().map(check_case).collect();
    if plan.many_to_many.is_some() {
        invalidate_other_flows(reports, &mut checks);
    }
    checks
}

/// Makes all flows that ran at the same time invalid if one of them is, because they have a value only together.
fn invalidate_other_flows(reports: &Reports, checks: &mut [CaseCheck]) {
    let key = |case: &Case| (case.leg, case.attempt, case.block, case.arm);
    let mut invalid = BTreeMap::new();
    for (case, check) in reports.cases.iter().zip(checks.iter()) {
        if !check.is_valid() {
            invalid.entry(key(case)).or_insert((case.initiator, case.target));
        }
    }
    for (case, check) in reports.cases.iter().zip(checks) {
        if let Some((sender, receiver)) = invalid.get(&key(case)).filter(|_| check.is_valid()) {
            check.invalid.push(Invalid::FlowInvalid {
                sender: *sender,
                receiver: *receiver,
            });
        }
    }
}

fn case_reasons(plan: &Plan, case: &Case, endpoints: &EndpointIndex<'_>) -> Vec<Invalid> {
    let measured = match &case.outcome {
        CaseOutcome::Measured(measured) => measured,
        CaseOutcome::Checked(_) => return Vec::new(),
        CaseOutcome::Failed(failure) => {
            return vec![Invalid::Failed {
                failure: failure.reason,
                message: failure.message.clone(),
            }];
        }
    };
    let Some(scenario) = plan.scenarios.get(case.scenario) else {
        return vec![Invalid::NothingMeasured];
    };
    let mut invalid = Vec::new();
    if !has_measurements(scenario, case, measured) {
        invalid.push(Invalid::NothingMeasured);
    }
    let sides = [&measured.initiator, &measured.target];
    let throttled = sides.iter().filter_map(|side| side.throttled_nanos).sum();
    if throttled > 0 {
        invalid.push(Invalid::Throttled { nanos: throttled });
    }
    let migrations = sides.iter().map(|side| side.migrations).sum();
    if migrations > 0 {
        invalid.push(Invalid::Migrated { migrations });
    }
    if sides.iter().any(|side| side.governor_changed) {
        invalid.push(Invalid::GovernorChanged);
    }
    invalid.extend([case.initiator, case.target].iter().find_map(|rank| {
        let (now, first) = (
            endpoints.facts_of_case(case, *rank)?,
            endpoints.first(*rank, case.arm)?,
        );
        (identity(now) != identity(first)).then(|| Invalid::Changed {
            rank: *rank,
            found: identity(now),
            first: identity(first),
        })
    }));
    if !plan.is_off_fabric(scenario, case.arm) {
        invalid.extend(limits::check_line_rate(
            &scenario.assignment.workload,
            case,
            measured,
            endpoints,
        ));
    }
    if plan.many_to_many.is_some() && case.pass == Pass::Measure {
        invalid.extend(limits::check_simultaneous(case.span_nanos, measured));
    }
    invalid.extend(limits::check_elapsed(&scenario.assignment.workload, measured));
    invalid.extend(limits::check_latency_floor(scenario, case, measured, endpoints));
    invalid
}

fn has_measurements(scenario: &PlannedScenario, case: &Case, measured: &Measured) -> bool {
    let complete = |side: &crate::collect::SidePosts| {
        let (operations, payload_bytes, elapsed_nanos) = side.timed();
        operations > 0
            && elapsed_nanos > 0
            && side.latency.count() > 0
            && (payload_bytes > 0 || case.size_bytes == 0)
    };
    let mut sides = measured.posters(&scenario.assignment.workload).peekable();
    sides.peek().is_some() && sides.all(complete)
}

/// Description of each failed integrity pass, by scenario, size and arm.
fn integrity_failures(reports: &Reports) -> BTreeMap<(usize, u64, usize), String> {
    let checks = reports.cases.iter().filter(|case| case.pass == Pass::Integrity);
    let failures = checks.filter_map(|case| {
        let found = match &case.outcome {
            CaseOutcome::Checked(report) => describe_integrity_failure(report)?,
            CaseOutcome::Failed(failure) => {
                format!(
                    "the bytes were not verified ({:?}): {}",
                    failure.reason, failure.message
                )
            }
            CaseOutcome::Measured(_) => return None,
        };
        let message = format!("ranks {} to {}: {found}", case.initiator, case.target);
        Some(((case.scenario, case.size_bytes, case.arm), message))
    });
    failures.collect()
}

fn describe_integrity_failure(report: &IntegrityReport) -> Option<String> {
    if let Some(bad) = &report.first_mismatch {
        let batch = bad
            .batch
            .map_or_else(String::new, |batch| format!("batch {batch}, "));
        return Some(format!(
            "thread {}, {batch}transfer {}, offset {} is {:#04x} instead of {:#04x}",
            bad.thread, bad.transfer, bad.offset_bytes, bad.found, bad.expected
        ));
    }
    if report.torn_chunks > 0 || report.duplicated_chunks > 0 {
        return Some(format!(
            "{} chunks were torn and {} arrived twice",
            report.torn_chunks, report.duplicated_chunks
        ));
    }
    if report.crc32c_expected != report.crc32c_found {
        return Some(format!(
            "CRC32C {} instead of {}",
            report.crc32c_found, report.crc32c_expected
        ));
    }
    (report.bytes == 0 && report.transfers == 0).then(|| "no bytes were verified".to_owned())
}

#[cfg(test)]
mod tests {
    use crds::record::{CaseFailure, FailureReason};

    use super::*;

    fn case(block: u32, arm: usize, initiator: u32) -> Case {
        Case {
            leg: 0,
            attempt: 1,
            block,
            round: block,
            pass: Pass::Measure,
            scenario: 0,
            size_bytes: 64,
            arm,
            initiator,
            target: 2,
            started_nanos: 0,
            span_nanos: None,
            outcome: CaseOutcome::Failed(CaseFailure {
                reason: FailureReason::Internal,
                message: String::new(),
            }),
        }
    }

    #[test]
    fn one_contradicted_flow_invalidates_the_flows_of_its_arm_and_block() {
        let keys = [(1, 0, 0), (1, 0, 1), (1, 1, 0), (1, 1, 1), (2, 0, 0), (2, 0, 1)];
        let reports = Reports {
            cases: keys.map(|(block, arm, sender)| case(block, arm, sender)).into(),
            ..Reports::default()
        };
        let mut checks = vec![CaseCheck::default(); keys.len()];
        let message = "lo counted too few bytes".to_owned();
        checks[1].invalid.push(Invalid::FabricContradicted { message });
        invalidate_other_flows(&reports, &mut checks);
        let invalid: Vec<bool> = checks.iter().map(|check| !check.is_valid()).collect();
        assert_eq!(invalid, [true, true, false, false, false, false]);
        let consequence = Invalid::FlowInvalid {
            sender: 1,
            receiver: 2,
        };
        assert_eq!(checks[0].invalid, [consequence]);
        assert_eq!(checks[1].invalid.len(), 1);
    }
}
