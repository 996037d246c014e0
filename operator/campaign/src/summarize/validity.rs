//! Validity of cases, with a typed reason for each invalid case.
//!
//! EAGAIN does not invalidate a case: a transfer window is meant to fill the queue.

use std::collections::BTreeMap;

use crds::assignment::Pass;
use crds::record::{FailureReason, IntegrityReport};
use crds::v1alpha1::FabricProof;
use serde::Serialize;
use snafu::Snafu;

use super::endpoints::identity;
use super::fabric::Proofs;
use super::statistic::posters;
use super::{CaseProof, EndpointIndex, limits};
use crate::collect::{Case, Measured, Outcome, Reports};
use crate::plan::{Plan, PlannedScenario};

/// Reason why a case is invalid.
#[derive(Debug, Clone, PartialEq, Snafu, Serialize)]
#[serde(rename_all = "camelCase", tag = "reason")]
pub enum Invalid {
    /// The case failed.
    #[snafu(display("failed ({failure:?}): {message}"))]
    Failed {
        /// Kind of the failure.
        failure: FailureReason,
        /// Message.
        message: String,
    },
    /// The case ended without an operation, a byte or a duration.
    #[snafu(display("nothing was measured"))]
    NothingMeasured,
    /// The bytes did not use the requested fabric.
    #[snafu(display("fabric contradicted: {message}"))]
    FabricContradicted {
        /// Evidence that contradicts the requested fabric.
        message: String,
    },
    /// The rate exceeds the line rate.
    #[snafu(display(
        "the payload rate of {measured_bits_per_second} bit/s exceeds the line rate of {line_bits_per_second} bit/s"
    ))]
    AboveLineRate {
        /// Payload rate, in bits per second.
        measured_bits_per_second: u64,
        /// Line rate of the links of the rails that were used, in bits per second.
        line_bits_per_second: u64,
    },
    /// The latency is below the physical minimum.
    #[snafu(display(
        "median latency of {measured_nanos} ns is below the physical minimum of {floor_nanos} ns ({floor})"
    ))]
    BelowFloor {
        /// Median one-way latency, in nanoseconds.
        measured_nanos: u64,
        /// Physical minimum of the latency, in nanoseconds.
        floor_nanos: u64,
        /// Reason for this minimum.
        floor: String,
    },
    /// The cgroup was throttled in the timed window.
    #[snafu(display("the CPU was throttled for {nanos} ns in the window: raise the CPU limit"))]
    Throttled {
        /// Throttled time of both sides, in nanoseconds.
        nanos: u64,
    },
    /// A pinned thread migrated to another CPU.
    #[snafu(display("a measuring thread migrated to another CPU {migrations} times"))]
    Migrated {
        /// Number of migrations on both sides.
        migrations: u64,
    },
    /// The frequency governor changed in the timed window.
    #[snafu(display("the frequency governor changed in the window"))]
    GovernorChanged,
    /// The integrity pass of this arm and size found wrong bytes.
    #[snafu(display("integrity: {message}"))]
    Integrity {
        /// The mismatch, or the reason why the bytes could not be verified.
        message: String,
    },
    /// The library, provider or number of rails differs from that of the first round.
    #[snafu(display("rank {rank} changed: {found}; in the first round it was {first}"))]
    Changed {
        /// Rank of the worker.
        rank: u32,
        /// Facts in this round.
        found: String,
        /// Facts in the first round.
        first: String,
    },
}

/// Validity of a case, and the proof that its bytes used the fabric.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CaseValidity {
    /// All reasons why the case is invalid; empty for a valid case.
    pub invalid: Vec<Invalid>,
    /// Proof that the bytes used the fabric; `None` if the case was not measured.
    pub proof: Option<CaseProof>,
}

impl CaseValidity {
    /// Whether the case is valid.
    pub fn is_valid(&self) -> bool {
        self.invalid.is_empty()
    }
}

/// Checks every case, in order.
pub(super) fn check_cases(
    plan: &Plan,
    reports: &Reports,
    endpoints: &EndpointIndex<'_>,
    proofs: &Proofs,
) -> Vec<CaseValidity> {
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
        CaseValidity { invalid, proof }
    };
    reports.cases.iter().enumerate().map(check_case).collect()
}

fn case_reasons(plan: &Plan, case: &Case, endpoints: &EndpointIndex<'_>) -> Vec<Invalid> {
    let measured = match &case.outcome {
        Outcome::Measured(measured) => measured,
        Outcome::Checked(_) => return Vec::new(),
        Outcome::Failed(failure) => {
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
    invalid.extend(limits::check_line_rate(case, measured, endpoints));
    invalid.extend(limits::check_latency_floor(scenario, case, measured, endpoints));
    invalid
}

fn has_measurements(scenario: &PlannedScenario, case: &Case, measured: &Measured) -> bool {
    let complete = |side: &crate::collect::PostedSide| {
        side.operations > 0
            && side.elapsed_nanos > 0
            && side.latency.count() > 0
            && (side.payload_bytes > 0 || case.size_bytes == 0)
    };
    let mut sides = posters(&scenario.assignment.workload, measured).peekable();
    sides.peek().is_some() && sides.all(complete)
}

/// Mismatch of each failed integrity pass, by scenario, size and arm.
fn integrity_failures(reports: &Reports) -> BTreeMap<(usize, u64, usize), String> {
    let checks = reports.cases.iter().filter(|case| case.pass == Pass::Integrity);
    let failures = checks.filter_map(|case| {
        let found = match &case.outcome {
            Outcome::Checked(report) => describe_integrity_failure(report)?,
            Outcome::Failed(failure) => {
                format!(
                    "the bytes were not verified ({:?}): {}",
                    failure.reason, failure.message
                )
            }
            Outcome::Measured(_) => return None,
        };
        let message = format!("ranks {} to {}: {found}", case.initiator, case.target);
        Some(((case.scenario, case.size_bytes, case.arm), message))
    });
    failures.collect()
}

fn describe_integrity_failure(report: &IntegrityReport) -> Option<String> {
    if let Some(bad) = &report.first_mismatch {
        return Some(format!(
            "transfer {}, offset {} is {:#04x} instead of {:#04x}",
            bad.transfer, bad.offset_bytes, bad.found, bad.expected
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
