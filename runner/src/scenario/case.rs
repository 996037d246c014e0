//! Parameters of a case on one side.

use std::time::Duration;

use crds::assignment::{ArmAssignment, Pass, ScenarioAssignment};
use crds::v1alpha1::MemoryKind;

use super::command_site::CommandSite;

/// Role of a side in a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Side that posts first.
    Initiator,
    /// Side to which the initiator posts.
    Target,
}

impl Role {
    /// Role of the other side.
    pub fn other(self) -> Self {
        match self {
            Self::Initiator => Self::Target,
            Self::Target => Self::Initiator,
        }
    }

    /// Kind of memory that thread `thread` of the side with this role uses in `scenario`.
    pub fn memory_kind(self, scenario: &ScenarioAssignment, thread: usize) -> MemoryKind {
        let thread = u32::try_from(thread).unwrap_or(u32::MAX);
        let [initiator, target] = scenario.memory_kinds_of(thread);
        match self {
            Self::Initiator => initiator,
            Self::Target => target,
        }
    }
}

/// Parameters of a case on one side: one scenario, size and arm between two workers.
#[derive(Clone, Debug)]
pub struct Case<'a> {
    /// Case number: the same on both sides, and never reused by these instrument processes. The number prevents late
    /// messages from a failed case from being attributed to this case.
    pub number: u32,
    /// Scenario to run.
    pub scenario: &'a ScenarioAssignment,
    /// Whether the case checks bytes, belongs to the pilot, or measures time.
    pub pass: Pass,
    /// Size of a message or transfer in bytes, at most the scenario's `max_size_bytes`.
    pub size_bytes: u64,
    /// Arm whose posting policy applies.
    pub arm: &'a ArmAssignment,
    /// Role of this side.
    pub role: Role,
    /// Rank of the other side.
    pub peer_rank: u32,
    /// Maximum duration of the case, measured from its start on this side.
    pub deadline: Duration,
    /// Seed of the integrity pattern; the same on both sides.
    pub seed: u64,
    /// Whether the report contains the samples.
    pub keep_samples: bool,
    /// Where commands run. Other workloads do not use this value.
    pub site: CommandSite,
}

/// Whether payload arrives in this side's memory. `case` contains the role of this side.
pub(super) fn payload_arrives(case: &Case<'_>) -> bool {
    let [initiator, target] = case.scenario.workload.payload_arrives(case.arm.channel);
    match case.role {
        Role::Initiator => initiator,
        Role::Target => target,
    }
}
