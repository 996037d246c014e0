//! Outcome of an attempt. Performs no I/O.

use crds::v1alpha1::Reason;

/// Outcome of an attempt, with a message for the status if it was not successful.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum AttemptOutcome {
    /// Every block of the leg is measured.
    Measured,
    /// An external event disrupted the attempt. Another attempt measures the missing blocks.
    Disrupted(Reason, String),
    /// The queue that admitted the Job suspended it again. Another attempt measures the missing blocks. This is no
    /// disruption: the queue acts as its administrator intends.
    Preempted(String),
    /// The gang lost its place before all its workers had started. Another attempt follows after a delay.
    PlaceLost(String),
    /// The measurement itself failed, so the run fails.
    Failed(Reason, String),
}
