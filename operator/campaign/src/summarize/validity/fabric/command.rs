//! Proof of the fabric for a command, whose bytes the runner neither posts nor counts.
//!
//! The interfaces of a worker's rails must have counted at least the number of transferred bytes that the tool reports.
//! The tool does not report the direction, so the larger of the two byte counts, sent or received, is used. Log lines
//! may contradict the fabric (`log_lines`). Counts above everything that the reported messages can have caused show other
//! traffic, or traffic that the command does not report.

use std::collections::BTreeSet;

use command_output::log;
use crds::interface_load::{COVERAGE, InterfaceLoad};
use crds::record::{CaseResult, InterfaceDelta, Measurement, SideReport};
use crds::v1alpha1::FabricProof;

use super::control::ControlSides;
use super::hosts::hosts;
use super::log_lines;
use super::log_lines::logs;
use super::reading::Excess;
use super::software;
use crate::collect::{Case, Reports};
use crate::plan::Plan;
use crate::summarize::validity::case_check::CaseProof;

/// Messages in each direction that a tool exchanges without reporting them: its warm-up and its synchronization. Programs of
/// fabtests warm up with 10 iterations (`INIT_OPTS` in fabtests/include/shared.h).
const UNREPORTED_MESSAGES: u64 = 16;
/// Fraction by which the payload may be larger than a tool reports, because it rounds its values.
const ROUNDED: f64 = 0.05;

/// Proof of one measured case of a command.
pub(super) fn prove(
    plan: &Plan,
    reports: &Reports,
    control: &ControlSides,
    case: &Case,
    measured: &Measurement,
) -> CaseProof {
    let posted = measured.initiator.posted.as_ref();
    let report = posted
        .and_then(|posted| posted.command.clone())
        .unwrap_or_default();
    if let Some(reason) = log_lines::contradiction(plan, reports, case, &report) {
        return CaseProof {
            proof: FabricProof::Contradicted,
            reason,
        };
    }
    let declared = |reason: String| CaseProof {
        proof: FabricProof::Declared,
        reason,
    };
    let Some(payload) = report.payload_bytes else {
        return declared("the tool does not report the number of transferred bytes".to_owned());
    };
    let sides = [&measured.initiator, &measured.target];
    if sides.iter().all(|side| side.interfaces.is_empty()) {
        return declared("the rails of the transport use no interface with byte counters".to_owned());
    }
    if let Some(looped) = software::loopback_proof(measured, &hosts(reports, case)) {
        return looped;
    }
    let with_counters = sides.iter().filter(|side| !side.interfaces.is_empty());
    let least = with_counters
        .clone()
        .map(|side| counted_bytes(side).max())
        .min()
        .unwrap_or(0);
    let mut names: Vec<String> = with_counters
        .flat_map(|side| &side.interfaces)
        .map(software::counters)
        .collect();
    names.sort_unstable();
    names.dedup();
    let names = names.join(", ");
    if (least as f64) < payload as f64 * COVERAGE {
        return CaseProof {
            proof: FabricProof::Contradicted,
            reason: format!(
                "{names} counted {least} bytes, but the command reports {payload} bytes: it uses a different path \
                 than the rails of the transport"
            ),
        };
    }
    if let Some((initiator, target)) = concurrent_pair(reports, case, measured) {
        return declared(format!(
            "ranks {initiator} and {target} ran a command on the same host at the same time, and {names} counted the bytes \
             of both"
        ));
    }
    if has_log(plan, case) && logs(reports, case).next().is_none() {
        return declared(
            "the command failed in round 0, so the log in which its library names the data path is missing"
                .to_owned(),
        );
    }
    if let Some(excess) = excess(reports, control, case, measured) {
        return CaseProof {
            proof: FabricProof::Shared,
            reason: format!(
                "{}. If the command itself transfers more than it reports, for example in its warm-up, reduce that part",
                excess.message(&names)
            ),
        };
    }
    CaseProof {
        proof: FabricProof::Verified,
        reason: format!("the byte counters of {names} cover the payload that the command reports"),
    }
}

/// Sums of the bytes that the interfaces of `side` sent and received.
fn counted_bytes(side: &SideReport) -> Counted {
    let sums = side.interfaces.iter().map(software::counted_bytes);
    let (sent, received) = sums.fold((0_u64, 0_u64), |sum, one| {
        (sum.0.saturating_add(one.0), sum.1.saturating_add(one.1))
    });
    Counted { sent, received }
}

/// Bytes that the interfaces of a side sent and received.
struct Counted {
    sent: u64,
    received: u64,
}

impl Counted {
    fn max(&self) -> u64 {
        self.sent.max(self.received)
    }
}

/// Bytes of other traffic; `None` if the tool does not report its payload, without counters, or if they also counted the
/// bytes of another pair.
pub(super) fn foreign_bytes(
    reports: &Reports,
    control: &ControlSides,
    case: &Case,
    measured: &Measurement,
) -> Option<u64> {
    if concurrent_pair(reports, case, measured).is_some() {
        return None;
    }
    measured
        .initiator
        .posted
        .as_ref()?
        .command
        .as_ref()?
        .payload_bytes?;
    let has_counters = !measured.initiator.interfaces.is_empty() || !measured.target.interfaces.is_empty();
    has_counters.then(|| excess(reports, control, case, measured).map_or(0, |excess| excess.bytes()))
}

/// Bytes beyond those that the command can have caused, on the side with more of them; `None` if there are none, or if the
/// tool does not report its payload.
fn excess(reports: &Reports, control: &ControlSides, case: &Case, measured: &Measurement) -> Option<Excess> {
    let report = measured.initiator.posted.as_ref()?.command.as_ref()?;
    let payload = report.payload_bytes?;
    let most = report.most_payload_bytes.unwrap_or(payload).max(payload);
    // A tool that reports one direction may use both: the messages of a ping-pong are answered.
    let messages = (most / case.size_bytes.max(1)).saturating_add(UNREPORTED_MESSAGES);
    let one_way = (most as f64 * (1.0 + ROUNDED)) as u64;
    let one_way = one_way.saturating_add(UNREPORTED_MESSAGES.saturating_mul(case.size_bytes));
    let load = InterfaceLoad {
        sent: one_way,
        received: one_way,
        messages: messages.saturating_mul(2),
        sides: 1,
        interval_nanos: 0,
    };
    let names = |side: &SideReport| -> BTreeSet<String> {
        let names = side.interfaces.iter().map(|delta| delta.name.clone());
        names.collect()
    };
    let sides = [&measured.initiator, &measured.target];
    let hosts = hosts(reports, case);
    let has_both_sides = hosts[0] == hosts[1] && !names(sides[0]).is_disjoint(&names(sides[1]));
    let load = if has_both_sides { load.plus(load) } else { load };
    let found = sides
        .iter()
        .zip(&hosts)
        .filter(|(side, _)| !side.interfaces.is_empty())
        .filter_map(|(side, host)| {
            let intervals = side.interfaces.iter().map(|delta| delta.interval_nanos);
            let load = InterfaceLoad {
                sides: load.sides.max(control.on_host(reports, case, host)),
                interval_nanos: intervals.max().unwrap_or_default(),
                ..load
            };
            let packets =
                |packets: fn(&InterfaceDelta) -> Option<u64>| side.interfaces.iter().map(packets).sum();
            let counted = counted_bytes(side);
            Excess::find(
                (
                    counted.sent,
                    payload,
                    load.most_sent(packets(|delta| delta.tx_packets)),
                ),
                (
                    counted.received,
                    payload,
                    load.most_received(packets(|delta| delta.rx_packets)),
                ),
            )
        });
    found.max_by_key(Excess::bytes)
}

/// Whether the command is also run in round 0 with its library's log enabled.
fn has_log(plan: &Plan, case: &Case) -> bool {
    plan.scenarios.get(case.scenario).is_some_and(|scenario| {
        let tool = scenario.assignment.workload.tool().map(|tool| tool.kind);
        scenario.integrity && tool.is_some_and(log::is_read)
    })
}

/// Another pair that ran a command concurrently, if one of its hosts is also a host of `case`.
fn concurrent_pair(reports: &Reports, case: &Case, measured: &Measurement) -> Option<(u32, u32)> {
    let end = |case: &Case, measured: &Measurement| {
        let window = measured.initiator.window_nanos.max(measured.target.window_nanos);
        case.started_nanos.saturating_add(window)
    };
    let own_hosts = hosts(reports, case);
    let same_block = reports.cases.iter().filter(|other| {
        (other.leg, other.attempt, other.block, other.arm) == (case.leg, case.attempt, case.block, case.arm)
            && (other.initiator, other.target) != (case.initiator, case.target)
    });
    let mut concurrent = same_block.filter(|other| match &other.outcome {
        CaseResult::Measured(theirs) => {
            other.started_nanos < end(case, measured) && case.started_nanos < end(other, theirs)
        }
        CaseResult::Checked(_) | CaseResult::Failed(_) => false,
    });
    concurrent
        .find(|other| hosts(reports, other).iter().any(|host| own_hosts.contains(host)))
        .map(|other| (other.initiator, other.target))
}
