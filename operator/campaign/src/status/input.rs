//! What a status is built from.

use crds::v1alpha1::{BenchmarkRunStatus, Reason, RecordsReference};

use crate::evaluate::Evaluation;
use crate::plan::HashedPlan;

/// Phase of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The run is accepted, but no worker is running yet.
    Pending {
        /// Machine-readable reason that the run is pending.
        reason: Reason,
        /// Human-readable explanation.
        message: String,
    },
    /// Workers are running.
    Running,
    /// The user suspended the run.
    Suspended,
    /// The run is finished, and every block was measured.
    Complete,
    /// The run is finished, but blocks are missing or no case was measured.
    Failed {
        /// Machine-readable reason for the failure.
        reason: Reason,
        /// Human-readable explanation.
        message: String,
    },
}

impl Phase {
    /// Returns a run's phase after its last block. A run in which no case was measured has failed.
    pub fn finished(evaluation: &Evaluation) -> Self {
        match evaluation.summary.nothing_measured() {
            Some(message) => Self::Failed {
                reason: Reason::NothingMeasured,
                message,
            },
            None => Self::Complete,
        }
    }

    /// Returns the whole explanation of why the run waits or failed, which the condition shortens.
    pub fn explanation(&self) -> Option<&str> {
        match self {
            Self::Pending { message, .. } | Self::Failed { message, .. } => Some(message),
            Self::Running | Self::Suspended | Self::Complete => None,
        }
    }

    pub(super) fn is_finished(&self) -> bool {
        matches!(self, Self::Complete | Self::Failed { .. })
    }
}

/// Input to [`status`](super::status).
#[derive(Clone, Debug)]
pub struct StatusInput<'a> {
    /// The plan.
    pub plan: &'a HashedPlan,
    /// Phase of the run.
    pub phase: Phase,
    /// Evaluation of the records so far.
    pub evaluation: &'a Evaluation,
    /// Location of the records, once they are complete.
    pub records: Option<RecordsReference>,
    /// Generation of the spec.
    pub generation: Option<i64>,
    /// Current time (RFC 3339).
    pub now: &'a str,
    /// The previous status. Conditions that did not change keep their transition times.
    pub previous: Option<&'a BenchmarkRunStatus>,
}
