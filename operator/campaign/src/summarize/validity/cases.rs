//! Checks whether every case is valid.
//!
//! EAGAIN does not invalidate a case: a transfer window is meant to fill the queue.

use std::collections::BTreeMap;

use crds::assignment::Pass;
use crds::record::{CaseResult, IntegrityReport, Measurement};
use crds::v1alpha1::FabricProof;

use super::case_check::{CaseCheck, Invalid};
use super::fabric::Proofs;
use super::{contradictions, flow_limits, limits, reported_rate};
use crate::collect::{Case, Reports};
use crate::plan::{Plan, PlannedScenario};
use crate::summarize::statistic::bounded_statistic;
use crate::summarize::workers::endpoints::EndpointIndex;
use crate::summarize::workers::endpoints::{configuration, describe_identity, first_difference};

/// Checks every case, in order.
pub(in crate::summarize) fn check_cases(
    plan: &Plan,
    reports: &Reports,
    endpoints: &EndpointIndex<'_>,
    proofs: &Proofs,
) -> Vec<CaseCheck> {
    let corrupt = integrity_failures(plan, reports);
    let check_case = |(index, case): (usize, &Case)| {
        let proof = proofs.cases.get(index).cloned().flatten();
        let mut invalid = case_reasons(plan, reports, case, endpoints);
        if let Some(contradicted) = proof
            .iter()
            .find(|proof| proof.proof == FabricProof::Contradicted)
        {
            invalid.push(Invalid::FabricContradicted {
                message: contradicted.reason.clone(),
            });
        }
        if case.pass == Pass::Measure {
            invalid.extend(corrupt.get(&(case.scenario, case.size_bytes, case.arm)).cloned());
        }
        CaseCheck { invalid, proof }
    };
    let mut checks: Vec<CaseCheck> = reports.cases.iter().enumerate().map(check_case).collect();
    if plan.many_to_many.is_some() {
        flow_limits::check(reports, endpoints, &mut checks);
        invalidate_other_flows(reports, &mut checks);
    }
    checks
}

/// Invalidates all flows that ran concurrently with an invalid flow, because they share one value.
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

fn case_reasons(plan: &Plan, reports: &Reports, case: &Case, endpoints: &EndpointIndex<'_>) -> Vec<Invalid> {
    let measured = match &case.outcome {
        CaseResult::Measured(measured) => measured,
        CaseResult::Checked(_) => return Vec::new(),
        CaseResult::Failed(failure) => {
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
    invalid.extend(changed_facts(case, endpoints));
    invalid.extend(different_configurations(case, endpoints));
    let off_fabric = plan.is_off_fabric(scenario, case.arm);
    invalid.extend(contradictions::check(
        &scenario.assignment.workload,
        off_fabric,
        case,
        measured,
    ));
    if !off_fabric {
        invalid.extend(limits::check_line_rate(
            &scenario.assignment.workload,
            case,
            measured,
            endpoints,
        ));
        invalid.extend(reported_rate::check(
            plan, reports, scenario, case, measured, endpoints,
        ));
    }
    if plan.many_to_many.is_some() && case.pass == Pass::Measure {
        invalid.extend(limits::check_simultaneous(case.span_nanos, measured));
    }
    invalid.extend(limits::check_elapsed(&scenario.assignment.workload, measured));
    invalid.extend(limits::check_latency_floor(scenario, case, measured, endpoints));
    invalid
}

/// Detects a worker whose facts differ from those of the first round. The subnet of an IP transport may differ between
/// nodes.
fn changed_facts(case: &Case, endpoints: &EndpointIndex<'_>) -> Option<Invalid> {
    [case.initiator, case.target].into_iter().find_map(|rank| {
        let now = endpoints.facts_of_case(case, rank)?;
        let expected = endpoints.expected(case, rank, now)?;
        let (mut found, mut first) = (describe_identity(now), expected.describe());
        if found == first {
            return None;
        }
        if let Some((own, other)) = first_difference(now, expected.first) {
            found = format!("{found}, {own}");
            first = format!("{first}, {other}");
        }
        Some(Invalid::Changed { rank, found, first })
    })
}

/// Detects a case whose two workers have different library configurations.
fn different_configurations(case: &Case, endpoints: &EndpointIndex<'_>) -> Option<Invalid> {
    let hash_and_configuration = |rank| {
        let facts = endpoints.facts_of_case(case, rank)?;
        Some((facts.configuration_sha256.as_ref()?, configuration(facts)?))
    };
    let ((initiator_hash, mut initiator), (target_hash, mut target)) = (
        hash_and_configuration(case.initiator)?,
        hash_and_configuration(case.target)?,
    );
    let facts = |rank| endpoints.facts_of_case(case, rank);
    let difference = facts(case.initiator).zip(facts(case.target));
    if let Some((own, other)) = difference.and_then(|(one, other)| first_difference(one, other)) {
        initiator = format!("{initiator}, {own}");
        target = format!("{target}, {other}");
    }
    (initiator_hash != target_hash).then_some(Invalid::ConfigurationsDiffer {
        initiator_rank: case.initiator,
        target_rank: case.target,
        initiator,
        target,
    })
}

fn has_measurements(scenario: &PlannedScenario, case: &Case, measured: &Measurement) -> bool {
    if scenario.assignment.workload.tool().is_some() {
        // The verdict metric must have a value, even if it is below the tool's resolution; others may be missing.
        let primary = bounded_statistic(&scenario.assignment.workload, true, &[measured], scenario.primary);
        return primary.is_some();
    }
    let complete = |side: &crds::record::Posted| {
        let (operations, payload_bytes, elapsed_nanos) = side.timed();
        operations > 0
            && elapsed_nanos > 0
            && side.latency.count() > 0
            && (payload_bytes > 0 || case.size_bytes == 0)
    };
    let mut sides = measured.posters(&scenario.assignment.workload).peekable();
    sides.peek().is_some() && sides.all(complete)
}

/// The reason [`Invalid::Integrity`] of each failed integrity pass, by scenario, size and arm.
fn integrity_failures(plan: &Plan, reports: &Reports) -> BTreeMap<(usize, u64, usize), Invalid> {
    let is_command = |case: &Case| {
        let scenario = plan.scenarios.get(case.scenario);
        scenario.is_some_and(|scenario| scenario.assignment.workload.tool().is_some())
    };
    let checks = reports.cases.iter().filter(|case| case.pass == Pass::Integrity);
    let failures = checks.filter_map(|case| {
        let (failure, found) = match &case.outcome {
            CaseResult::Checked(report) => (None, describe_integrity_failure(report)?),
            CaseResult::Failed(failure) => {
                if is_command(case) {
                    // A command is checked in each measured case instead.
                    return None;
                }
                let message = format!(
                    "the integrity check failed ({:?}): {}",
                    failure.reason, failure.message
                );
                (Some(failure.reason), message)
            }
            CaseResult::Measured(_) => return None,
        };
        let message = format!("ranks {} to {}: {found}", case.initiator, case.target);
        let reason = Invalid::Integrity { failure, message };
        Some(((case.scenario, case.size_bytes, case.arm), reason))
    });
    failures.collect()
}

fn describe_integrity_failure(report: &IntegrityReport) -> Option<String> {
    if report.command.is_some() {
        // Only the tool itself can verify a command's data.
        return None;
    }
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

    use crds::record::FabricFacts;

    use super::*;
    use crate::fixture::failed_case;

    fn case(block: u32, arm: usize, initiator: u32) -> Case {
        Case {
            block,
            round: block,
            arm,
            initiator,
            target: 2,
            ..failed_case()
        }
    }

    /// Facts with the hash of a configuration, and the file that it may come from.
    fn configured_facts(hash: Option<&str>, file: Option<&str>) -> FabricFacts {
        FabricFacts {
            provider: "tcp".to_owned(),
            configuration_sha256: hash.map(str::to_owned),
            configuration_files: file.map(str::to_owned).into_iter().collect(),
            ..FabricFacts::default()
        }
    }

    #[test]
    fn the_configuration_must_not_change_between_rounds() {
        let (first, same) = (
            configured_facts(Some("a1"), None),
            configured_facts(Some("a1"), None),
        );
        let (hash, file) = (
            configured_facts(Some("b2"), None),
            configured_facts(Some("a1"), Some("/root/ucx.conf")),
        );
        let rounds = [&first, &same, &hash, &file];
        let endpoints = EndpointIndex::for_arm_0((1..).zip(rounds).map(|(round, facts)| (2, round, facts)));
        let found = |round| changed_facts(&case(round, 0, 0), &endpoints).map(|invalid| invalid.to_string());
        assert_eq!((found(1), found(2)), (None, None));
        let changed = |now: &str| {
            format!(
                "rank 2 changed: provider tcp, fabric , 0 rails, configuration {now}; in the first round it was provider tcp, \
                 fabric , 0 rails, configuration a1"
            )
        };
        assert_eq!(found(3), Some(changed("b2")));
        assert_eq!(found(4), Some(changed("a1 (with /root/ucx.conf)")));
    }

    #[test]
    fn the_configurations_of_the_two_workers_must_be_equal() {
        let check = |initiator: &FabricFacts, target: &FabricFacts| {
            let endpoints = EndpointIndex::for_arm_0([(0, 1, initiator), (2, 1, target)]);
            different_configurations(&case(1, 0, 0), &endpoints)
        };
        let (one, unknown) = (configured_facts(Some("a1"), None), configured_facts(None, None));
        assert_eq!(check(&one, &one), None);
        assert_eq!(check(&one, &unknown), None);
        // The hash covers the contents of the file, so its path does not matter.
        assert_eq!(
            check(&one, &configured_facts(Some("a1"), Some("/home/u/ucx.conf"))),
            None
        );
        let differ = Invalid::ConfigurationsDiffer {
            initiator_rank: 0,
            target_rank: 2,
            initiator: "configuration a1".to_owned(),
            target: "configuration b2 (with /root/ucx.conf)".to_owned(),
        };
        let other = configured_facts(Some("b2"), Some("/root/ucx.conf"));
        assert_eq!(check(&one, &other), Some(differ));
    }

    #[test]
    fn the_reason_names_the_first_setting_that_differs() {
        let with = |hash, settings: &[(&str, &str)], variables: &[(&str, &str)]| {
            let owned = |pairs: &[(&str, &str)]| {
                let pairs = pairs
                    .iter()
                    .map(|&(name, value)| (name.to_owned(), value.to_owned()));
                pairs.collect::<BTreeMap<_, _>>()
            };
            FabricFacts {
                settings: owned(settings),
                variables: owned(variables),
                ..configured_facts(Some(hash), None)
            }
        };
        let one = with(
            "a1",
            &[("NET_DEVICES", "eth0"), ("TLS", "tcp,self")],
            &[("FI_X", "1")],
        );
        let long = "8".repeat(200);
        let other = with(
            "b2",
            &[("NET_DEVICES", "eth1"), ("TLS", "tcp,self")],
            &[("UCX_RNDV_THRESH", &long), ("UCX_ZCOPY_THRESH", "1")],
        );
        let endpoints = EndpointIndex::for_arm_0([(0, 1, &one), (2, 1, &other), (2, 2, &one)]);
        let differ = different_configurations(&case(1, 0, 0), &endpoints)
            .unwrap()
            .to_string();
        assert!(
            differ.contains("configuration a1, UCX_RNDV_THRESH=(not set) on rank 0"),
            "{differ}"
        );
        assert!(
            differ.contains("configuration b2, UCX_RNDV_THRESH=888"),
            "{differ}"
        );
        assert!(!differ.contains(&long), "{differ}");
        let changed = changed_facts(&case(2, 0, 0), &endpoints).unwrap().to_string();
        assert!(
            changed.contains("configuration a1, UCX_RNDV_THRESH=(not set); in the first"),
            "{changed}"
        );
    }

    #[test]
    fn one_contradicted_flow_invalidates_all_flows_of_its_arm_and_block() {
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
