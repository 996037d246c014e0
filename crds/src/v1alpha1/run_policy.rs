//! Deadlines, retries and cleanup of a run.

use serde::{Deserialize, Serialize};

/// Deadlines, retries and cleanup of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RunPolicy {
    /// Maximum total time that the workers may run, in seconds. Must be between 10 and 604800 (one week). Defaults to
    /// 3600.
    #[serde(default = "default_active_deadline")]
    #[cfg_attr(feature = "crd", schemars(range(min = 10, max = 604_800)))]
    pub active_deadline_seconds: u32,
    /// Maximum total time that the run may wait until a gang starts, in seconds. Time spent in a queue or behind other
    /// runs does not count. Must be between 10 and 604800 (one week). Defaults to 900.
    #[serde(default = "default_pending_deadline")]
    #[cfg_attr(feature = "crd", schemars(range(min = 10, max = 604_800)))]
    pub pending_deadline_seconds: u32,
    /// Time after which a finished run is deleted, in seconds. Must be at most 31536000 (one year). If unset, the
    /// run is not deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(range(max = 31_536_000)))]
    pub ttl_seconds_after_finished: Option<u32>,
    /// Number of retries after infrastructure failures. Failed measurements are never retried. Must be at most 10.
    /// Defaults to 2.
    #[serde(default = "default_backoff_limit")]
    #[cfg_attr(feature = "crd", schemars(range(max = 10)))]
    pub backoff_limit: u32,
    /// Maximum duration of a single case, in seconds. Limits the time lost if a peer hangs. A case whose scenario sets a
    /// longer timeoutSeconds, duration or maxTime has a longer limit, which leaves time for its other steps. Must be
    /// between 1 and 3600. Defaults to 60.
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
