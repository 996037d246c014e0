//! Deadlines, retries and clean-up.

use serde::{Deserialize, Serialize};

/// Deadlines, retries and clean-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RunPolicy {
    /// Longest time from the first worker ready to the last record. Default 3600, 10 to 604800 (a week).
    #[serde(default = "default_active_deadline")]
    #[cfg_attr(feature = "crd", schemars(range(min = 10, max = 604_800)))]
    pub active_deadline_seconds: u32,
    /// Longest time without a gang that runs. The clock stands still in a queue and while other runs come first.
    /// Default 900, 10 to 604800 (a week).
    #[serde(default = "default_pending_deadline")]
    #[cfg_attr(feature = "crd", schemars(range(min = 10, max = 604_800)))]
    pub pending_deadline_seconds: u32,
    /// The run is deleted this long after it finished; never where left out. At most 31536000 (a year).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(range(max = 31_536_000)))]
    pub ttl_seconds_after_finished: Option<u32>,
    /// Attempts after a failure of the infrastructure. Failed measurements are never repeated silently.
    /// Default 2, at most 10.
    #[serde(default = "default_backoff_limit")]
    #[cfg_attr(feature = "crd", schemars(range(max = 10)))]
    pub backoff_limit: u32,
    /// Longest time a single case may take; a peer that hangs costs no more. Default 60, 1 to 3600.
    #[serde(default = "default_case_deadline")]
    #[cfg_attr(feature = "crd", schemars(range(min = 1, max = 3600)))]
    pub case_deadline_seconds: u32,
}

impl Default for RunPolicy {
    fn default() -> Self {
        Self {
            active_deadline_seconds: default_active_deadline(),
            pending_deadline_seconds: default_pending_deadline(),
            ttl_seconds_after_finished: None,
            backoff_limit: default_backoff_limit(),
            case_deadline_seconds: default_case_deadline(),
        }
    }
}

fn default_active_deadline() -> u32 {
    3600
}

fn default_pending_deadline() -> u32 {
    900
}

fn default_backoff_limit() -> u32 {
    2
}

fn default_case_deadline() -> u32 {
    60
}
