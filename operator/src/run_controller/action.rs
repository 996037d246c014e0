//! The controller's next action for a run. Performs no I/O.

use campaign::status::Phase;
use crds::v1alpha1::Reason;
use jiff::Timestamp;

use super::attempt_id::AttemptId;
use super::execution_state::ExecutionState;

/// A decision about a run: the next action and the content of the status.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Decision {
    /// The next action.
    pub action: Action,
    /// The phase for the status; `None` leaves the status unchanged. The evaluation may turn `Complete` into `Failed`
    /// ([`Phase::finished`]). The status of a run without a plan is [`campaign::status::rejected_status`].
    pub phase: Option<Phase>,
    /// The `CleanupBlocked` condition, if the pods of the run cannot be cleaned up.
    pub cleanup_blocked: Option<CleanupBlocked>,
}

/// Why the pods of a run cannot be cleaned up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CleanupBlocked {
    /// Reason of the `CleanupBlocked` condition.
    pub reason: Reason,
    /// Message that names the pod and the remedy.
    pub message: String,
}

/// The next action. Every action is idempotent, because it is repeated after a crash.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Action {
    /// Wait for a change, or until a given time.
    Wait {
        /// Time at which the decision changes even if nothing else changes.
        until: Option<Timestamp>,
    },
    /// Read the record chain into the collector.
    ReadRecords,
    /// Write this execution state to the status before acting on it. The run's resource version is a precondition, so
    /// that a stale cache cannot undo a newer write.
    RecordProgress(Box<ExecutionState>),
    /// Create the Job of an attempt. Its prerequisites ([`Action::CreatePrerequisites`]) are created first, unless the
    /// Job is held in a queue. An existing Job with the run's UID and the plan's hash is accepted. If the Job is held
    /// in a queue, the next decision is made at low priority.
    CreateJob {
        /// Leg and attempt number.
        attempt: AttemptId,
        /// Nodes of the workers. If empty, the scheduler chooses.
        nodes: Vec<String>,
    },
    /// Add [`crds::names::FINALIZER`] if it is missing, then create the Service of an attempt, and finally its
    /// ConfigMap, without which no worker starts. Existing objects are accepted if they belong to the run and the plan.
    CreatePrerequisites {
        /// Leg and attempt number.
        attempt: AttemptId,
        /// Nodes of the workers. If empty, the scheduler chooses.
        nodes: Vec<String>,
    },
    /// Follow the log of a pod from its first byte until the end record is read, the container has terminated, or the
    /// log is unreadable.
    FollowLog {
        /// Leg and attempt number.
        attempt: AttemptId,
        /// Name of the pod.
        pod: String,
        /// UID of the pod.
        pod_uid: String,
    },
    /// Delete the Service and the ConfigMap of an attempt, then its Job and pods (background propagation). The action
    /// is repeated while the Job exists.
    DeleteAttempt {
        /// Leg and attempt number.
        attempt: AttemptId,
        /// UID of the Job, as a precondition.
        job_uid: String,
    },
    /// List the pods of the run, bypassing the cache, for [`super::observed::Observed::live_pods`].
    ListPods,
    /// List the Jobs of the run, bypassing the cache, for [`super::observed::Observed::jobs_are_live`].
    ListJobs,
    /// Remove the finalizer, because all pods except abandoned ones are gone.
    RemoveFinalizer,
    /// Delete the run, with its UID as a precondition, because `ttlSecondsAfterFinished` has passed.
    DeleteRun,
}
