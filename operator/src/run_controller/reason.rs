//! The closed words for why a run waits, why an attempt ended, why a run failed. Pure.

/// Why. One word for programs; sentences stand beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reason {
    /// Pods are being made and started.
    PodsStarting,
    /// The scheduler finds no place.
    Unschedulable,
    /// An image is not there yet.
    ImagePull,
    /// A queue has not admitted the Job.
    WaitingForAdmission,
    /// Another run's gang comes first.
    WaitingForNodes,
    /// No nodes have what a worker asks for.
    InsufficientNodes,
    /// Pods of the attempt before are still there.
    PodsTerminating,
    /// The cluster refuses an object.
    CreationRefused,
    /// The user stopped it.
    SuspendedByUser,
    /// The node's kubelet or the eviction API removed a pod.
    Evicted,
    /// Something more important took the place.
    Preempted,
    /// A node is gone or does not answer.
    NodeLost,
    /// A pod was deleted.
    PodDeleted,
    /// The Job was deleted.
    JobDeleted,
    /// An image could not be had.
    ImagePullFailed,
    /// A node could not make a pod's container.
    ContainerCreationFailed,
    /// A node refused a pod that was sent to it.
    KubeletRejected,
    /// A worker was killed from outside.
    WorkerKilled,
    /// Not all workers started before the others gave up.
    GangIncomplete,
    /// The record stream does not prove itself to its end.
    InvalidRecordStream,
    /// Too many attempts were disrupted.
    BackoffLimitExceeded,
    /// Workers ran for longer than they may.
    DeadlineExceeded,
    /// No gang ran for longer than that may take.
    PendingDeadlineExceeded,
    /// A worker used more memory than it asked for.
    OutOfMemory,
    /// An image cannot be used at all.
    InvalidImage,
    /// A worker's program could not be started.
    WorkerStartFailed,
    /// A worker's program ended without a record stream.
    WorkerFailed,
    /// The workers say why they could not measure.
    MeasurementFailed,
    /// The workers ended without measuring every block.
    BlocksMissing,
    /// Records that were kept are gone or do not prove themselves.
    RecordsLost,
    /// The spec cannot be planned.
    InvalidSpec,
    /// This release plans the spec otherwise than the one that began the run.
    PlanChanged,
}

impl Reason {
    /// As it stands in conditions, attempts and events.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::PodsStarting => "PodsStarting",
            Self::Unschedulable => "Unschedulable",
            Self::ImagePull => "PullingImage",
            Self::WaitingForAdmission => "WaitingForAdmission",
            Self::WaitingForNodes => "WaitingForNodes",
            Self::InsufficientNodes => "InsufficientNodes",
            Self::PodsTerminating => "PodsTerminating",
            Self::CreationRefused => "FailedCreate",
            Self::SuspendedByUser => "SuspendedByUser",
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
            Self::InvalidRecordStream => "InvalidRecordStream",
            Self::BackoffLimitExceeded => "BackoffLimitExceeded",
            Self::DeadlineExceeded => "DeadlineExceeded",
            Self::PendingDeadlineExceeded => "PendingDeadlineExceeded",
            Self::OutOfMemory => "OOMKilled",
            Self::InvalidImage => "InvalidImage",
            Self::WorkerStartFailed => "WorkerStartFailed",
            Self::WorkerFailed => "WorkerFailed",
            Self::MeasurementFailed => "MeasurementFailed",
            Self::BlocksMissing => "BlocksMissing",
            Self::RecordsLost => "RecordsLost",
            Self::InvalidSpec => "InvalidSpec",
            Self::PlanChanged => "PlanChanged",
        }
    }
}
