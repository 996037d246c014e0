//! Controller state of a run that must survive an operator restart: attempts and timers.
//!
//! The controller persists every change to this state before it acts on the change. Times are formatted as RFC 3339 in
//! UTC, in whole seconds.

use serde::{Deserialize, Serialize};

use crate::omitted::is_zero;

/// Controller state of a run that must survive an operator restart.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ExecutionStatus {
    /// The 16 most recent attempts to run legs, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "crd", schemars(length(max = 16)))]
    pub attempts: Vec<AttemptStatus>,
    /// Number of older attempts that are not listed in attempts.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub omitted_attempts: u32,
    /// Number of attempts that ended because of an infrastructure failure. Limited by spec.runPolicy.backoffLimit.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub disruptions: u32,
    /// Number of attempts that ended because a queue suspended their Job after admitting it. They are not limited, and
    /// their missing blocks are measured again.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub preemptions: u32,
    /// Time at which the run started waiting for its gang. Unset while a gang is running and while the run is
    /// suspended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending_since: Option<String>,
    /// Time that the run has spent waiting for its gang before pendingSince, in seconds. Reset when a gang starts. The
    /// sum of this value and the time since pendingSince is limited by spec.runPolicy.pendingDeadlineSeconds.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub pending_seconds: u64,
    /// Number of times that the run has lost its place on nodes since a gang last started, because its gang did not
    /// start while other runs were waiting for these nodes, or was disrupted before it started.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lost_places: u32,
    /// Time before which the run does not request another place, because it has lost its last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<String>,
    /// Time at which the last worker of the current gang started. Unset while no gang is running.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_since: Option<String>,
    /// Total running time of finished gangs, in seconds. The sum of this value and the running time of the current gang
    /// is limited by spec.runPolicy.activeDeadlineSeconds.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub active_seconds: u64,
    /// Time at which the run finished. spec.runPolicy.ttlSecondsAfterFinished is counted from this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<String>,
    /// Whether the run is suspended. Deadlines are paused while the run is suspended.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub suspended: bool,
}

/// One attempt to run a leg.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct AttemptStatus {
    /// Index of the leg in the plan, starting at 0.
    pub leg: u32,
    /// Attempt number within the leg, starting at 1.
    pub attempt: u32,
    /// State of the attempt.
    pub state: AttemptState,
    /// UID of the attempt's Job.
    pub job_uid: String,
    /// UID of the pod whose records are used: the pod that was worker 0 when all workers were running.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coordinator_pod_uid: Option<String>,
    /// Digest of the worker image, as reported by the node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image_digest: Option<String>,
    /// Time at which the controller first observed that the queue had admitted the attempt's Job. Unset if the run is not
    /// queued, and if all workers were running at that time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub admitted_at: Option<String>,
    /// Time at which the last worker of the attempt started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<String>,
    /// Time at which the controller observed that the attempt had finished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<String>,
    /// Machine-readable reason that the attempt did not measure its leg.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Human-readable details about the reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(length(max = 1024)))]
    pub message: Option<String>,
}

/// State of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
pub enum AttemptState {
    /// Not all workers are running yet.
    Starting,
    /// All workers are running.
    Running,
    /// Every block of the leg has been measured.
    Measured,
    /// The attempt was stopped because the user suspended the run.
    Suspended,
    /// The attempt ended because of an infrastructure failure. Another attempt measures the missing blocks.
    Disrupted,
    /// The measurement failed.
    Failed,
}
