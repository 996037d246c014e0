//! The one thing that is done next for a run. Pure.

use jiff::Timestamp;

use super::kept::Kept;
use super::observed::AttemptId;
use crate::campaign::status::Phase;

/// What is decided of a run: what is done now, and what its status says.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// What is done.
    pub action: Action,
    /// What the run is doing, for its status; `None` leaves the status as it is. `Complete` is for the evaluation to
    /// confirm ([`Phase::finished`]). A run without a plan is told by [`crate::campaign::status::refused`].
    pub phase: Option<Phase>,
    /// Pods that should be gone and are not, in words that name them: the condition `CleanupBlocked`.
    pub cleanup_blocked: Option<String>,
}

/// The one thing that is done next. Everything is safe to do again: after a crash the same thing is decided.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Nothing, until something is seen to change, or until the instant that is named.
    Wait {
        /// When time alone changes the answer.
        until: Option<Timestamp>,
    },
    /// Read the record chain into the collector, then decide again.
    ReadRecords,
    /// Write the status with this, before anything is done about it, and with the run's resource version as a
    /// precondition: what a cache showed late must not undo it. Then decide again of what was written.
    Keep(Box<Kept>),
    /// Create the Job of an attempt; before it, but where a queue holds its pods back, what they need
    /// ([`Action::Prepare`]). Create-only: one that is there already with the run's UID and this plan's hash is as good as
    /// created. Then decide again, after others where a queue holds it back.
    Create {
        /// Which leg and attempt.
        attempt: AttemptId,
        /// Nodes it must run on, all of them; empty leaves the choice to the scheduler.
        nodes: Vec<String>,
    },
    /// Add [`crds::names::FINALIZER`] where it is missing and create the Service of an attempt, then its ConfigMap, without
    /// which no worker starts; then decide again. Create-only, as the Job.
    Prepare {
        /// Which leg and attempt.
        attempt: AttemptId,
        /// Nodes it must run on, all of them; empty leaves the choice to the scheduler.
        nodes: Vec<String>,
    },
    /// Follow the log of a pod from its first byte, until its container has ended or its log cannot be read.
    Follow {
        /// Which leg and attempt.
        attempt: AttemptId,
        /// Name of the pod.
        pod: String,
        /// Its UID: the log of no other pod will do.
        pod_uid: String,
    },
    /// Delete Service and ConfigMap of an attempt, then its Job with its pods (in the background): while the Job is
    /// there, the same is decided again.
    Delete {
        /// Which leg and attempt.
        attempt: AttemptId,
        /// UID of the Job, as a precondition.
        job_uid: String,
    },
    /// List the pods of the run past every cache ([`super::observed::Observed::listed`]), then decide again.
    ListPods,
    /// Remove the finalizer: no pod is left.
    RemoveFinalizer,
    /// Delete the run itself, with its UID as a precondition: its time to live is over.
    DeleteRun,
}
