//! Reasons in the conditions and attempts of a run.

use std::fmt;

/// Machine-readable reason for a condition or for the end of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// The spec is valid, and the plan is complete.
    Planned,
    /// No plan can be computed for the spec.
    InvalidSpec,
    /// This release plans the spec differently from the release that started the run.
    PlanChanged,
    /// The run's pods are being created and started.
    PodsStarting,
    /// The scheduler found no node for a pod.
    Unschedulable,
    /// A node is pulling an image.
    PullingImage,
    /// A queue has not admitted the Job.
    WaitingForAdmission,
    /// Another run is using the nodes or is ahead of this run in the queue.
    WaitingForNodes,
    /// Too few nodes meet the placement and resource requirements of the workers.
    InsufficientNodes,
    /// Pods of the previous attempt are still terminating.
    PodsTerminating,
    /// The API server rejected an object of the run.
    FailedCreate,
    /// The workers claim devices, but the cluster does not serve `resource.k8s.io/v1`.
    ClaimsNotServed,
    /// A device plugin and a driver of Dynamic Resource Allocation offer the same devices on a node.
    DevicesOfferedTwice,
    /// The user set `spec.suspend`.
    SuspendedByUser,
    /// `spec.suspend` is false.
    NotSuspended,
    /// All workers of a leg are running.
    WorkersRunning,
    /// The workers were stopped because the run is suspended.
    Suspended,
    /// The run is complete or failed.
    Finished,
    /// Every block has been measured.
    AllBlocksMeasured,
    /// Not every block has been measured.
    BlocksMissing,
    /// The run has not failed.
    NotFailed,
    /// A pod was evicted by the kubelet or through the eviction API.
    Evicted,
    /// A higher-priority pod preempted a worker, or the queue suspended the Job after admitting it.
    Preempted,
    /// A node was deleted or is not responding.
    NodeLost,
    /// A pod was deleted.
    PodDeleted,
    /// The Job was deleted.
    JobDeleted,
    /// A node could not pull an image.
    ImagePullFailed,
    /// A node could not create a pod's container.
    ContainerCreationFailed,
    /// The kubelet rejected a pod that was bound to its node.
    KubeletRejected,
    /// A worker was terminated by an external signal.
    WorkerKilled,
    /// Some workers did not start before the others timed out.
    GangIncomplete,
    /// The gang made no progress, and other runs were waiting for its nodes.
    PlaceLost,
    /// The record stream is incomplete or failed verification.
    InvalidRecordStream,
    /// More attempts were disrupted than `spec.runPolicy.backoffLimit` allows.
    BackoffLimitExceeded,
    /// The workers ran longer than `spec.runPolicy.activeDeadlineSeconds`.
    DeadlineExceeded,
    /// No gang started within `spec.runPolicy.pendingDeadlineSeconds`.
    PendingDeadlineExceeded,
    /// A worker exceeded its memory limit.
    OomKilled,
    /// An image reference is invalid, or the image cannot be used.
    InvalidImage,
    /// The worker process could not be started.
    WorkerStartFailed,
    /// A worker exited with an error or without writing a record stream.
    WorkerFailed,
    /// The workers reported that the measurement failed.
    MeasurementFailed,
    /// Every block is finished, but no case was measured.
    NothingMeasured,
    /// Stored records are missing or failed verification.
    RecordsLost,
    /// A local run was interrupted.
    Interrupted,
    /// A pod has the labels of the run, but a Job that is not one of the run's controls it.
    ForeignPod,
    /// All pods of finished attempts have been deleted.
    PodsDeleted,
}

impl Reason {
    /// Value of the `reason` field in conditions, attempts and events.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Planned => "Planned",
            Self::InvalidSpec => "InvalidSpec",
            Self::PlanChanged => "PlanChanged",
            Self::PodsStarting => "PodsStarting",
            Self::Unschedulable => "Unschedulable",
            Self::PullingImage => "PullingImage",
            Self::WaitingForAdmission => "WaitingForAdmission",
            Self::WaitingForNodes => "WaitingForNodes",
            Self::InsufficientNodes => "InsufficientNodes",
            Self::PodsTerminating => "PodsTerminating",
            Self::FailedCreate => "FailedCreate",
            Self::ClaimsNotServed => "ClaimsNotServed",
            Self::DevicesOfferedTwice => "DevicesOfferedTwice",
            Self::SuspendedByUser => "SuspendedByUser",
            Self::NotSuspended => "NotSuspended",
            Self::WorkersRunning => "WorkersRunning",
            Self::Suspended => "Suspended",
            Self::Finished => "Finished",
            Self::AllBlocksMeasured => "AllBlocksMeasured",
            Self::BlocksMissing => "BlocksMissing",
            Self::NotFailed => "NotFailed",
            Self::Evicted => "Evicted",
            Self::Preempted => "Preempted",
            Self::NodeLost => "NodeLost",
            Self::PodDeleted => "PodDeleted",
            Self::JobDeleted => "JobDeleted",
            Self::ImagePullFailed => "ImagePullFailed",
            Self::ContainerCreationFailed => "ContainerCreationFailed",
            Self::KubeletRejected => "KubeletRejected",
            Self::WorkerKilled => "WorkerKilled",
            Self::GangIncomplete => "GangIncomplete",
            Self::PlaceLost => "PlaceLost",
            Self::InvalidRecordStream => "InvalidRecordStream",
            Self::BackoffLimitExceeded => "BackoffLimitExceeded",
            Self::DeadlineExceeded => "DeadlineExceeded",
            Self::PendingDeadlineExceeded => "PendingDeadlineExceeded",
            Self::OomKilled => "OOMKilled",
            Self::InvalidImage => "InvalidImage",
            Self::WorkerStartFailed => "WorkerStartFailed",
            Self::WorkerFailed => "WorkerFailed",
            Self::MeasurementFailed => "MeasurementFailed",
            Self::NothingMeasured => "NothingMeasured",
            Self::RecordsLost => "RecordsLost",
            Self::Interrupted => "Interrupted",
            Self::ForeignPod => "ForeignPod",
            Self::PodsDeleted => "PodsDeleted",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
