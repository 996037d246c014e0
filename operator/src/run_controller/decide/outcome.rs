//! Outcome of an attempt. Pure.

use crds::v1alpha1::Reason;

/// How an attempt ended. Texts are messages for the status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum AttemptOutcome {
    /// Every block of its leg is measured.
    Measured,
    /// It was disrupted from outside the measurement. Another attempt measures the missing blocks.
    Disrupted(Reason, String),
    /// The measurement itself failed, and with it the run.
    Failed(Reason, String),
}
