//! Types of run conditions.

use std::fmt;

/// Type of a run condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ConditionType {
    /// The spec is valid, and the plan is complete.
    Accepted,
    /// The user suspended the run.
    Suspended,
    /// All workers of a leg are running.
    Running,
    /// Every block has been measured.
    Complete,
    /// The run failed and will not be retried.
    Failed,
    /// Pods of the run are stuck terminating.
    CleanupBlocked,
}

impl ConditionType {
    /// All condition types, in lifecycle order.
    pub const ALL: [Self; 6] = [
        Self::Accepted,
        Self::Suspended,
        Self::Running,
        Self::Complete,
        Self::Failed,
        Self::CleanupBlocked,
    ];

    /// Value of the `type` field of a condition.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Accepted => "Accepted",
            Self::Suspended => "Suspended",
            Self::Running => "Running",
            Self::Complete => "Complete",
            Self::Failed => "Failed",
            Self::CleanupBlocked => "CleanupBlocked",
        }
    }
}

impl fmt::Display for ConditionType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
