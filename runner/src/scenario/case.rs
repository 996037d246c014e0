//! What a case is, and what comes of it at one side.

use std::time::Duration;

use crds::assignment::{ArmAssignment, Pass, ScenarioAssignment, Workload};
use crds::record::{IntegrityReport, SideReport};
use crds::v1alpha1::{Direction, TransferOperation};

/// Which side of a pair this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Posts first.
    Initiator,
    /// Is addressed.
    Target,
}

impl Role {
    /// The other side.
    pub fn other(self) -> Self {
        match self {
            Self::Initiator => Self::Target,
            Self::Target => Self::Initiator,
        }
    }
}

/// One scenario, size and arm between two workers, as one of them sees it.
#[derive(Clone, Debug)]
pub struct Case<'a> {
    /// Number of the case: the same at both sides, and another for every case of these instrument processes, so that
    /// what is left of a failed case is never taken for this one's.
    pub number: u32,
    /// What is done.
    pub scenario: &'a ScenarioAssignment,
    /// Whether bytes are checked or times are taken.
    pub pass: Pass,
    /// Bytes of a message or transfer; at most the scenario's `max_size_bytes`.
    pub size_bytes: u64,
    /// How it is posted.
    pub arm: &'a ArmAssignment,
    /// This side.
    pub role: Role,
    /// Rank of the other side.
    pub peer_rank: u32,
    /// Longest time the case may take, from its beginning at this side.
    pub deadline: Duration,
    /// Seed of the integrity pattern; the same at both sides.
    pub seed: u64,
}

/// What came of a case at one side.
#[derive(Clone, Debug, PartialEq)]
pub struct CaseReport {
    /// What was measured or checked.
    pub outcome: Outcome,
    /// Evidence lines of the test procedures that this case is the first of its size to show.
    pub evidence: Vec<String>,
}

/// What was measured or checked.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// Times were taken.
    Measured(Box<SideReport>),
    /// Bytes were checked; nothing is in it where no byte arrived at this side.
    Checked(IntegrityReport),
}

/// Whether both sides post.
pub(super) fn is_bidirectional(workload: &Workload) -> bool {
    matches!(workload, Workload::Transfer(transfer) if transfer.direction == Direction::Both)
}

/// Whether the side with this role has payload arriving in its memory.
pub(super) fn is_landed_on(workload: &Workload, role: Role) -> bool {
    match workload {
        Workload::PingPong(_) => true,
        Workload::Transfer(transfer) => {
            let by_initiator = match transfer.operation {
                TransferOperation::Read => Role::Initiator,
                _ => Role::Target,
            };
            transfer.direction == Direction::Both || role == by_initiator
        }
    }
}
