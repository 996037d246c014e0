//! What is true of one run now: all that a decision may look at. Pure types, and the way from API objects to them.
//!
//! Nothing here is kept between passes but in the cluster: after a restart the same is observed again.

mod job;
mod pod;

use std::collections::{BTreeMap, BTreeSet};

use crds::record::EndRecord;
pub use job::{JobEnd, JobState};
pub use pod::{ContainerEnd, PodPhase, PodState, Told};

use super::kept::Kept;

/// One execution of one leg.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AttemptId {
    /// Number of the leg in the plan, from 0.
    pub leg: u32,
    /// Number of the execution, from 1.
    pub attempt: u32,
}

/// What the run asks for, as far as its life depends on it. Small: a finished run needs no plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Blocks of each leg, by the leg's number; or why there is no plan, naming the field and what to do. A finished run
    /// may leave it empty.
    pub legs: Result<Vec<u32>, String>,
    /// Whether the run was begun with another plan, as one release of the operator may make and the next may not.
    pub plan_changed: bool,
    /// Number of workers.
    pub workers: u32,
    /// Longest time that gangs may run altogether, in seconds.
    pub active_deadline_seconds: u32,
    /// Longest time without a gang that runs, in seconds.
    pub pending_deadline_seconds: u32,
    /// The run is deleted this long after it finished, in seconds.
    pub ttl_seconds_after_finished: Option<u32>,
    /// Disrupted attempts that are repeated.
    pub backoff_limit: u32,
}

/// What is true of one run now.
#[derive(Clone, Debug)]
pub struct Observed<'a> {
    /// Whether the run is being deleted.
    pub deleting: bool,
    /// Whether it has [`crds::names::FINALIZER`].
    pub finalizer: bool,
    /// `spec.suspend`.
    pub suspend: bool,
    /// Whether [`crds::names::ANNOTATION_RELEASE_PODS`] gives up pods that do not go.
    pub release_pods: bool,
    /// What the status remembers; [`Kept::default`] where there is none.
    pub kept: Kept,
    /// Jobs of the run: those whose controller it is by UID, and no others.
    pub jobs: Vec<JobState>,
    /// The attempt whose ConfigMap and Service are there for sure: this process has created them.
    pub prepared: Option<AttemptId>,
    /// Pods of these Jobs, and of Jobs of the run that are gone.
    pub pods: Vec<PodState>,
    /// What became of the log that is or was followed by this process; `None` where none was.
    pub stream: Option<StreamState>,
    /// The blocks that are proven and persisted.
    pub records: Records<'a>,
    /// Whether the nodes have what the workers ask for.
    pub preflight: Preflight,
    /// The run whose gang comes first, as `NAMESPACE/NAME`, where there is one.
    pub ahead: Option<String>,
    /// A run whose gang has nodes that this one's could want, while this one's is placed, as `NAMESPACE/NAME`.
    pub beside: Option<String>,
    /// Pods of the run by a read past every cache, where one was made in this very pass.
    pub listed: Option<Vec<PodState>>,
    /// What the cluster said when it refused the last creation, where it did.
    pub refused: Option<CreationRefused>,
}

/// What is known of the blocks that were measured.
#[derive(Clone, Debug)]
pub enum Records<'a> {
    /// The chain was not read by this process.
    Unread,
    /// Blocks that are proven and persisted, by leg.
    Read(&'a BTreeMap<u32, BTreeSet<u32>>),
    /// The chain does not prove itself, in words.
    Broken(String),
}

/// The log of a pod, as far as it was read.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamState {
    /// UID of the pod.
    pub pod_uid: String,
    /// Whether nothing more will come: its end was read, its container is gone, or it cannot be read on. Everything that
    /// verified is persisted then.
    pub closed: bool,
    /// Its last record.
    pub end: Option<EndRecord>,
    /// Why it does not prove itself, or cannot be read.
    pub fault: Option<String>,
}

/// Whether the nodes have what the workers ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Preflight {
    /// Nodes may not be read (namespaced mode), or nothing is to be created.
    Skipped,
    /// Enough nodes do.
    Passed,
    /// They do not; the message names node and number.
    Refused(String),
}

/// What the cluster said when it refused an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreationRefused {
    /// In its words, with the object's name.
    pub message: String,
    /// Whether it is of no use to try again: the name is taken by something that is not the run's, or the object is
    /// invalid.
    pub for_good: bool,
}

#[cfg(test)]
mod tests;
