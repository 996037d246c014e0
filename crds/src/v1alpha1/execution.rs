//! What a controller must remember of a run to go on after it was killed: attempts and clocks.
//!
//! Written before it is acted on. Times are RFC 3339 in UTC, in whole seconds.

use serde::{Deserialize, Serialize};

/// What a controller must remember of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ExecutionStatus {
    /// Attempts at legs, in the order they were begun; the newest only, where there were many.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "crd", schemars(length(max = 16)))]
    pub attempts: Vec<AttemptStatus>,
    /// Older attempts that are no longer listed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub omitted_attempts: u32,
    /// Attempts that ended for a reason outside of the measurement; runPolicy.backoffLimit bounds them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub disruptions: u32,
    /// Since when the run waits for a gang that runs; left out while one runs and while suspended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending_since: Option<String>,
    /// Since when all workers of a gang run; left out while none does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_since: Option<String>,
    /// Seconds in which gangs ran, without the one that runs now; runPolicy.activeDeadlineSeconds bounds them.
    #[serde(default, skip_serializing_if = "is_zero_seconds")]
    pub active_seconds: u64,
    /// When the run ended; its time to live counts from here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<String>,
    /// Whether the run is suspended; its clocks stand still.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub suspended: bool,
}

/// One execution of a leg.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct AttemptStatus {
    /// Number of the leg in the plan, from 0.
    pub leg: u32,
    /// Number of this execution of it, from 1.
    pub attempt: u32,
    /// What it is doing, or how it ended.
    pub state: AttemptState,
    /// UID of its Job.
    pub job_uid: String,
    /// UID of the pod whose records count: that of worker 0 when all ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coordinator_pod_uid: Option<String>,
    /// Digest of the image as the node reports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image_digest: Option<String>,
    /// When all its workers ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<String>,
    /// When it was seen to have ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<String>,
    /// Why it ended, where it did not measure its leg: a closed word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The same for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(length(max = 1024)))]
    pub message: Option<String>,
}

/// What an attempt is doing, or how it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
pub enum AttemptState {
    /// Its workers do not all run yet.
    Starting,
    /// All its workers ran.
    Running,
    /// Every block of its leg is measured.
    Measured,
    /// Its user stopped it.
    Suspended,
    /// Something outside of the measurement ended it; what is missing is measured by another attempt.
    Disrupted,
    /// The measurement itself failed.
    Failed,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

fn is_zero_seconds(number: &u64) -> bool {
    *number == 0
}
