//! Limits on what a client may propose to a server. Performs no I/O.
//!
//! A client can only select a transport, scenarios, sizes and counts. Proposals that name files, environment variables,
//! devices or commands of the server are refused.

use crds::assignment::{Assignment, Extent, ScenarioAssignment, TransferWorkload, Workload};
use crds::units::{MAX_MESSAGE_BYTES, Size};
use crds::v1alpha1::{Alignment, Devices, TransportSpec};

use super::bounds::{self, MAX_CASE_SECONDS, MAX_OPERATIONS};
use super::segment::bounds::SegmentLimits;
use super::transport;
use crate::rendezvous::proposal::Proposal;

/// Default maximum message size, which is the largest size in a run.
pub const DEFAULT_MAX_BYTES: Size = Size(MAX_MESSAGE_BYTES);
/// Maximum number of scenarios in a proposal, as in a run.
const MAX_SCENARIOS: usize = 8;
/// Maximum length of a name, in bytes.
const MAX_NAME_BYTES: usize = 63;

/// Limits on the proposals that a server accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Accepted scenarios.
    pub accepted: AcceptedScenarios,
    /// The only transport that is accepted. If unset, every transport is accepted.
    pub transport: Option<TransportSpec>,
}

/// Scenarios that a server accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AcceptedScenarios {
    /// The scenarios of the Starway benchmark suite.
    Suite {
        /// Maximum size of a message.
        max_bytes: Size,
    },
    /// Batches of requests to a target's registered segment.
    Segment(SegmentLimits),
}

impl Limits {
    /// Subcommand of the clients.
    pub fn client(&self) -> &'static str {
        match self.accepted {
            AcceptedScenarios::Suite { .. } => "connect",
            AcceptedScenarios::Segment(_) => "initiator",
        }
    }

    /// Checks a proposal whose assignment is consistent.
    ///
    /// # Errors
    /// Returns an error that says which value is not accepted, and what to do.
    pub fn check(&self, proposal: &Proposal) -> Result<(), String> {
        let assignment = &proposal.assignment;
        check_own_choices(assignment)?;
        check_names(assignment)?;
        self.check_transport(&assignment.transport)?;
        let deadline = assignment.case_deadline_seconds;
        require((1..=MAX_CASE_SECONDS).contains(&deadline), || {
            format!("the time limit of a scenario is {deadline} s: choose 1 to {MAX_CASE_SECONDS} s")
        })?;
        require((1..=MAX_SCENARIOS).contains(&assignment.scenarios.len()), || {
            format!("choose 1 to {MAX_SCENARIOS} scenarios")
        })?;
        let blocks: usize = assignment.rounds.iter().map(|round| round.blocks.len()).sum();
        require(blocks <= 2 * assignment.scenarios.len(), || {
            "each scenario is verified and measured at most once".to_owned()
        })?;
        let mut counts = assignment.operation_counts.iter();
        require(
            counts.all(|count| count.iterations <= MAX_OPERATIONS),
            too_many_operations,
        )?;
        for scenario in &assignment.scenarios {
            self.check_scenario(scenario, proposal)?;
        }
        Ok(())
    }

    fn check_transport(&self, proposed: &TransportSpec) -> Result<(), String> {
        require(transport::is_selected_by_flags(proposed), || {
            "the transport has settings: use only --tls or --provider".to_owned()
        })?;
        match &self.transport {
            Some(accepted) if !transport::is_same(accepted, proposed) => Err(format!(
                "the transport is `{}`, but the server uses `{}`: start both sides with the same flag",
                transport::flag(proposed),
                transport::flag(accepted)
            )),
            _ => Ok(()),
        }
    }

    fn check_scenario(&self, scenario: &ScenarioAssignment, proposal: &Proposal) -> Result<(), String> {
        let name = &scenario.name;
        require(scenario.target_memory.is_none(), || {
            format!("{name} uses different kinds of memory on the two sides: use one kind")
        })?;
        match (&self.accepted, &scenario.workload) {
            (AcceptedScenarios::Segment(limits), Workload::Transfer(work)) if scenario.workload.has_segments() => {
                limits.check(scenario, work, proposal.segment.as_ref())
            }
            (AcceptedScenarios::Segment(limits), _) => Err(format!(
                "{name} cannot be measured with the segment {}: start `fabricbench-runner serve` on the other machine",
                limits.name
            )),
            (AcceptedScenarios::Suite { .. }, _) if scenario.workload.has_segments() => Err(
                "--remote-segment refers to a server without a segment: start `fabricbench-runner target` on the other \
                 machine"
                    .to_owned(),
            ),
            (AcceptedScenarios::Suite { max_bytes }, Workload::Transfer(work)) => {
                check_in_flight(name, work)?;
                check_message(scenario, *max_bytes)
            }
            (AcceptedScenarios::Suite { max_bytes }, Workload::PingPong(_)) => check_message(scenario, *max_bytes),
            (AcceptedScenarios::Suite { .. }, _) => {
                Err(format!("{name} is not one of the scenarios of `fabricbench-runner connect`"))
            }
        }
    }
}

/// Checks that the proposal leaves each side's own choices to it, and consists of one arm between two workers.
fn check_own_choices(assignment: &Assignment) -> Result<(), String> {
    let [process] = assignment.processes.as_slice() else {
        return Err("the request must have one process".to_owned());
    };
    let [arm] = assignment.arms.as_slice() else {
        return Err("the request must have one arm".to_owned());
    };
    require(
        assignment.workers == 2 && assignment.many_to_many.is_none(),
        || "the request must have two workers".to_owned(),
    )?;
    let is_free = process.env.is_empty()
        && process.library.is_none()
        && process.transport.is_none()
        && arm.arguments.is_empty()
        && assignment.bindings.is_empty()
        && assignment.devices == Devices::default()
        && assignment.align == Alignment::None
        && assignment.assessed_variables.is_none();
    require(is_free, || {
        "the request names files, environment variables, arguments or devices of the server: only the server's own flags \
         can"
            .to_owned()
    })
}

/// Checks that names cannot contain what a terminal or a path interprets, because the server prints them.
fn check_names(assignment: &Assignment) -> Result<(), String> {
    let is_plain = |name: &str| {
        (1..=MAX_NAME_BYTES).contains(&name.len())
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    let scenarios = assignment.scenarios.iter().map(|scenario| scenario.name.as_str());
    let arms = assignment.arms.iter().map(|arm| arm.name.as_str());
    let mut names = scenarios.chain(arms).chain([assignment.identity.run.as_str()]);
    require(names.all(is_plain), || {
        format!("a name may contain only letters, digits and hyphens, at most {MAX_NAME_BYTES}")
    })
}

fn check_message(scenario: &ScenarioAssignment, max: Size) -> Result<(), String> {
    let size = Size(scenario.workload.largest_message(scenario.max_size_bytes));
    require((1..=max.bytes()).contains(&size.bytes()), || {
        format!(
            "the message size of {} is {size}: choose a size from 1 to {max} (server limit: --max-bytes)",
            scenario.name
        )
    })?;
    let is_bounded = |extent| matches!(extent, Extent::Iterations(count) if count <= MAX_OPERATIONS);
    let workload = &scenario.workload;
    require(
        is_bounded(workload.measured()) && is_bounded(workload.warmup()),
        too_many_operations,
    )
}

fn check_in_flight(name: &str, work: &TransferWorkload) -> Result<(), String> {
    let is_accepted = bounds::WINDOW.contains(&work.window)
        && bounds::CONCURRENCY.contains(&work.batch)
        && work.threads == 1
        && work.open_loop.is_none();
    require(is_accepted, || {
        format!(
            "{name} is not one of the scenarios of `fabricbench-runner connect`: at most {} messages may be in flight, in \
             batches of at most {}, from one thread in a closed loop",
            bounds::WINDOW.end(),
            bounds::CONCURRENCY.end()
        )
    })
}

fn too_many_operations() -> String {
    format!("choose at most {MAX_OPERATIONS} operations, and as many for the warm-up")
}

/// Returns `message` unless the condition holds.
pub(super) fn require(holds: bool, message: impl FnOnce() -> String) -> Result<(), String> {
    match holds {
        true => Ok(()),
        false => Err(message()),
    }
}

#[cfg(test)]
mod tests;
