//! Kinds of simulated runs.

use std::time::Duration;

use crate::run_controller::admission::{PLACE_TIMEOUT, RELEASE_TIMEOUT, START_TIMEOUT};

/// Time for which the kubelet retries pulling an image before the attempt ends.
pub(super) const IMAGE_TIMEOUT: i64 = 120;
/// Time that a deleted pod keeps its node.
pub(super) const GRACE: i64 = 30;
/// Number of workers of every run.
pub(super) const WORKERS: usize = 2;

/// What is special about a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// The run is placed as soon as enough nodes are free. It has two legs.
    Good,
    /// The run is like a good run, but its gangs are preempted three times.
    Preempted,
    /// A queue admits the run's gangs without regard to turns.
    Queued,
    /// No node has the labels in the node selector. The pods are created nevertheless.
    WrongSelector,
    /// Only one node has the labels, so one of the pods is placed.
    HalfSelector,
    /// A quota admits one of two pods.
    HalfQuota,
    /// A limit range or an admission policy refuses all pods.
    NoPods,
    /// Other workloads use the nodes that the run needs, so the scheduler places no pod.
    Unschedulable,
    /// The image cannot be pulled, so the pods are placed but never start.
    MissingImage,
    /// A volume cannot be mounted, so the pods are placed but never start, and nothing reports a failure.
    MissingVolume,
    /// A queue admits the run's gang, but a quota admits only one of its pods.
    QueuedHalfQuota,
}

use Kind::{
    Good, HalfQuota, HalfSelector, MissingImage, MissingVolume, NoPods, Preempted, Queued, QueuedHalfQuota,
    Unschedulable, WrongSelector,
};

impl Kind {
    pub(super) fn can_be_placed(self) -> bool {
        matches!(self, Good | Preempted | Queued)
    }

    pub(super) fn is_queued(self) -> bool {
        matches!(self, Queued | QueuedHalfQuota)
    }

    /// Maximum time for which one turn of such a run delays other runs, in seconds.
    pub(super) fn longest_turn(self) -> i64 {
        let seconds = |timeout: Duration| timeout.as_secs() as i64;
        // Every pod that is placed is progress.
        let placing = WORKERS as i64 * seconds(PLACE_TIMEOUT) + seconds(RELEASE_TIMEOUT) + GRACE;
        match self {
            Good | Preempted | Queued | WrongSelector => 0,
            HalfSelector | HalfQuota | NoPods | Unschedulable | QueuedHalfQuota => placing,
            MissingImage => placing + IMAGE_TIMEOUT,
            MissingVolume => placing + seconds(START_TIMEOUT),
        }
    }
}
