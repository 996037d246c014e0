//! One case of one pair with indexes into the plan in the place of names.

use crds::assignment::Pass;
use crds::record::{CaseResult, Measurement};

/// One case of one pair.
#[derive(Clone, Debug)]
pub struct Case {
    /// Number of the leg in which the case was measured.
    pub leg: u32,
    /// Attempt number.
    pub attempt: u32,
    /// Block number.
    pub block: u32,
    /// Round number.
    pub round: u32,
    /// Number of times that the instruments were restarted in this round before the case.
    pub restart: u32,
    /// Purpose of the block.
    pub pass: Pass,
    /// Index of the scenario in the plan.
    pub scenario: usize,
    /// Message or transfer size in bytes.
    pub size_bytes: u64,
    /// Index of the arm in the plan.
    pub arm: usize,
    /// Rank of the initiator.
    pub initiator: u32,
    /// Rank of the target.
    pub target: u32,
    /// Start time, in nanoseconds since the start of the stream.
    pub started_nanos: u64,
    /// Time from the command that opens the windows of all flows to the last report that a window has closed, in
    /// nanoseconds on the coordinator's clock; `None` for patterns other than many-to-many.
    pub span_nanos: Option<u64>,
    /// Outcome of the case.
    pub outcome: CaseResult,
}

impl Case {
    /// The measurements of a case whose purpose is to measure; `None` for checks and failed cases.
    pub fn measurement(&self) -> Option<&Measurement> {
        match &self.outcome {
            CaseResult::Measured(measured) if self.pass == Pass::Measure => Some(measured),
            CaseResult::Measured(_) | CaseResult::Checked(_) | CaseResult::Failed(_) => None,
        }
    }
}
