//! Result of a case on one side.

use crds::record::{IntegrityReport, SideReport};

use super::samples::CaseSamples;

/// Result of a case on one side.
#[derive(Clone, Debug, PartialEq)]
pub struct CaseReport {
    /// Report of the measurement or the integrity check.
    pub outcome: SideOutcome,
    /// Evidence lines required by the test procedures, except for lines that an earlier case of the same size has
    /// already reported.
    pub evidence: Vec<String>,
    /// Samples of a measured case, if they were requested.
    pub samples: Option<CaseSamples>,
}

/// Report of the measurement or the integrity check on one side.
#[derive(Clone, Debug, PartialEq)]
pub enum SideOutcome {
    /// The case measured time.
    Measured(Box<SideReport>),
    /// The case checked bytes. The report is empty if no payload arrived at this side.
    Checked(IntegrityReport),
}
