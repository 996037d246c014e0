//! Types for the observed state that decisions about a run depend on, and conversions from API objects to these types.
//! Performs no I/O.
//!
//! None of this state outlives a decision. After a restart, it is observed again.

mod job;
mod pod;

use std::collections::{BTreeMap, BTreeSet};

use crds::record::EndRecord;
use crds::v1alpha1::Reason;
pub use job::{JobOutcome, JobState};
pub use pod::{ContainerReason, ContainerTermination, PodPhase, PodState};

use super::attempt_id::AttemptId;
use super::execution_state::ExecutionState;

/// The part of the spec and the plan that decisions depend on. A finished run needs no plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunPolicyView {
    /// Number of blocks of each leg, by leg number, or why the run has no plan, including the field and the fix. May be
    /// empty for a finished run.
    pub legs: Result<Vec<u32>, String>,
    /// Whether the run was started with a different plan, for example one computed by another release of the operator.
    pub plan_changed: bool,
    /// Number of workers.
    pub workers: u32,
    /// Maximum total run time of the gangs, in seconds.
    pub active_deadline_seconds: u32,
    /// Maximum time that the run may wait for its gang to start, in seconds.
    pub pending_deadline_seconds: u32,
    /// Time between the end of the run and its deletion, in seconds.
    pub ttl_seconds_after_finished: Option<u32>,
    /// Maximum number of disrupted attempts that are retried.
    pub backoff_limit: u32,
    /// The queue that admits the run's Jobs, from `spec.placement.queueName`.
    pub queue: Option<String>,
    /// The priority class of the pods, from `spec.placement.priorityClassName`.
    pub priority_class: Option<String>,
}

/// The observed state of one run.
#[derive(Clone, Debug)]
pub struct Observed<'a> {
    /// Whether the run is being deleted.
    pub deleting: bool,
    /// Whether the run has [`crds::names::FINALIZER`].
    pub finalizer: bool,
    /// `spec.suspend`.
    pub suspend: bool,
    /// Whether [`crds::names::ANNOTATION_RELEASE_PODS`] is set, so that pods that are stuck terminating are abandoned.
    pub release_pods: bool,
    /// The execution state in the status.
    pub persisted: ExecutionState,
    /// Jobs that the run controls, according to the UID in their owner references.
    pub jobs: Vec<JobState>,
    /// Whether `jobs` are from an uncached list, because the previous step requested one.
    pub jobs_are_live: bool,
    /// The attempt whose ConfigMap and Service this process has created.
    pub prerequisites_ready: Option<AttemptId>,
    /// Pods of the run, including those whose Job is gone.
    pub pods: Vec<PodState>,
    /// State of the log that this process is following or has followed; `None` if it has not followed a log. It may
    /// belong to an earlier attempt.
    pub stream: Option<StreamState>,
    /// The attempt whose records were persisted last; `None` if this process has not read any records.
    pub last_recorded: Option<AttemptId>,
    /// The verified and persisted blocks.
    pub records: Records<'a>,
    /// Result of the preflight check.
    pub preflight: Preflight,
    /// Pods of the run from an uncached list, if the previous step requested one.
    pub live_pods: Option<Vec<PodState>>,
    /// The last rejected creation, until it is retried.
    pub creation_rejected: Option<CreationRejected>,
}

impl Observed<'_> {
    /// Whether the next step of the run is to start another attempt, or to finish if no blocks are missing.
    pub fn needs_next_attempt(&self) -> bool {
        needs_next_attempt(&self.persisted, self.deleting, self.suspend)
    }

    /// Whether this process has followed the log of `attempt`, or records of `attempt` are persisted.
    pub fn has_streamed(&self, attempt: AttemptId) -> bool {
        let followed = self.stream.as_ref().map(|stream| stream.attempt);
        followed == Some(attempt) || self.last_recorded == Some(attempt)
    }
}

/// Whether the next step of a run in this state is to start another attempt, or to finish if no blocks are missing.
pub fn needs_next_attempt(persisted: &ExecutionState, deleting: bool, suspend: bool) -> bool {
    let attempt_in_progress = persisted.current().is_some();
    persisted.finished_at.is_none() && !attempt_in_progress && !deleting && !suspend
}

/// The measured blocks of a run.
#[derive(Clone, Debug)]
pub enum Records<'a> {
    /// This process has not read the record chain.
    Unread,
    /// Verified and persisted blocks, by leg.
    Read(&'a BTreeMap<u32, BTreeSet<u32>>),
    /// The record chain is invalid, for the given reason.
    Broken(String),
}

/// State of the record stream in a pod's log.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamState {
    /// The attempt whose worker 0 wrote the stream.
    pub attempt: AttemptId,
    /// UID of the pod.
    pub pod_uid: String,
    /// Whether no more records follow: the end record was read, the container is gone, or the log is unreadable. In
    /// this state, all verified records are persisted.
    pub closed: bool,
    /// The end record.
    pub end: Option<EndRecord>,
    /// Why the stream is invalid or unreadable.
    pub fault: Option<String>,
}

/// Result of checking whether enough nodes meet the workers' requirements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Preflight {
    /// The check was skipped, because the operator is not permitted to read nodes (namespaced mode) or because no gang
    /// needs to be created or scheduled.
    Skipped,
    /// Enough nodes are eligible.
    Passed {
        /// Names of the eligible nodes.
        nodes: BTreeSet<String>,
    },
    /// Too few nodes are eligible, but the gang is created anyway. The message is the same as for `Rejected`.
    Warned(String),
    /// Too few nodes are eligible. The message contains the nodes and the insufficient amounts.
    Rejected(String),
}

/// The rejection of an object by the API server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreationRejected {
    /// Reason in the conditions of the run.
    pub reason: Reason,
    /// Message with the cause, such as that of the API server, including the object name.
    pub message: String,
    /// Whether a retry cannot succeed: an object with the same name has a different owner, or the object is invalid.
    pub permanent: bool,
}

#[cfg(test)]
mod tests;
