//! Amount of work in a case.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Amount of work: a number of operations or a duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum Extent {
    /// Number of operations.
    Iterations(u32),
    /// Duration in nanoseconds.
    DurationNanos(u64),
    /// As many operations as it takes to fill the measured window. Pilot cases determine the number before the
    /// first round; if all of them fail, the minimum number is used.
    #[serde(rename_all = "camelCase")]
    FillWindow {
        /// Minimum number of operations.
        min_iterations: u32,
        /// Minimum length of the window, in nanoseconds.
        min_window_nanos: u64,
    },
}

impl Extent {
    /// The duration; zero if there is none.
    pub(super) fn duration(self) -> Duration {
        match self {
            Self::DurationNanos(nanos) => Duration::from_nanos(nanos),
            Self::Iterations(_) | Self::FillWindow { .. } => Duration::ZERO,
        }
    }
}

/// Number of operations that every arm performs in one scenario at one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OperationCount {
    /// Index of the scenario.
    pub scenario: u32,
    /// Message or transfer size, in bytes.
    pub size_bytes: u64,
    /// Number of measured operations per thread.
    pub iterations: u32,
}
