//! Failures of cases, arms and legs.

use serde::{Deserialize, Serialize};

/// Failure that prevented a case, an arm or a leg from being measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CaseFailure {
    /// Category of the failure.
    pub reason: FailureReason,
    /// Human-readable message of at most 4 KiB that suggests a fix.
    pub message: String,
}

/// Category of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
pub enum FailureReason {
    /// The assignment cannot be parsed or is inconsistent.
    InvalidAssignment,
    /// The runner was built without support for the transport.
    TransportNotCompiled,
    /// The library is missing, or is not in the variant's directory.
    LibraryNotFound,
    /// The library found no device for the provider.
    NoDevice,
    /// The library returned a different provider, fabric or number of rails than requested.
    ProviderMismatch,
    /// The library rejected an operation that the scenario requires.
    OperationRejected,
    /// Memory of the requested kind cannot be allocated or registered.
    MemoryUnavailable,
    /// A process of the case ran out of memory, or the kernel killed it because its cgroup was out of memory.
    OutOfMemory,
    /// The case was skipped, because it needs more memory than is available on the machine or in the cgroup.
    NotEnoughMemory,
    /// The position of a NIC relative to the memory that it accesses does not satisfy placement.align.
    NotAligned,
    /// The tuning declared by the image does not match the variant.
    VariantMismatch,
    /// A worker did not join the rendezvous in time.
    WorkerMissing,
    /// A connection to the rendezvous was rejected because it did not belong to this attempt.
    UnknownPeerRefused,
    /// The peer cannot be reached over the fabric.
    FabricUnreachable,
    /// The peer process exited unexpectedly.
    PeerLost,
    /// The case exceeded its deadline.
    DeadlineExceeded,
    /// A post failed.
    PostFailed,
    /// A completion reported an error.
    CompletionFailed,
    /// A command cannot be executed, exited with an error, printed too much, or left processes behind.
    CommandFailed,
    /// The output of a command does not have the format and the units that its tool is known to print.
    CommandOutput,
    /// The run was interrupted.
    Interrupted,
    /// Internal error of the instrument.
    Internal,
}
