//! Results for calls between processes, and for the memory of processes that receive the same tensor.

use serde::{Deserialize, Serialize};

use crate::v1alpha1::RpcPayload;

/// Calls of one arm with one payload, over all rounds and pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CallResult {
    /// Payload of the calls.
    pub payload: RpcPayload,
    /// Section of the report that contains the calls.
    pub section: CallSection,
    /// Cause of the first failure, or reason that the calls were skipped. Unset for successful calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<CallCause>,
    /// Number of calls in a sample.
    pub hops: u32,
    /// Mean of all samples, in nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_nanos: Option<u64>,
    /// Standard deviation of all samples, in nanoseconds. Unset for a single sample.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deviation_nanos: Option<u64>,
    /// Time of one reading of the clock, in nanoseconds. Set only if the calls are below the clock: they take less time
    /// than one reading, so the other times are mainly the clock's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_nanos: Option<u64>,
    /// Mean divided by the number of calls in a sample, in nanoseconds. Unset in an open loop, and if the calls are below
    /// the clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hop_nanos: Option<u64>,
    /// Largest increase in the proportional set size (Pss) of the host and the extension during a case, in bytes. Over a
    /// transport, only the host is included. Unset if it was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_growth_bytes: Option<u64>,
}

/// Memory use of a host and its consumers, in bytes. Each value is the median over all rounds, and is unset if there is
/// no valid case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FootprintResult {
    /// Section of the report that contains the arm.
    pub section: CallSection,
    /// Cause of the first failure, or reason that the cases were skipped. Unset for a successful arm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<CallCause>,
    /// Number of consumers.
    pub consumers: u32,
    /// Proportional set size (Pss) of the host before it allocates the tensor and starts the consumers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline_bytes: Option<u64>,
    /// Pss of a consumer before it receives the tensor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_bytes: Option<u64>,
    /// Lowest Pss of a consumer before it receives the tensor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_min_bytes: Option<u64>,
    /// Highest Pss of a consumer before it receives the tensor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_max_bytes: Option<u64>,
    /// Pss of a consumer that has the tensor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consumer_bytes: Option<u64>,
    /// Resident set size (Rss) of a consumer that has the tensor. It counts a shared tensor in full.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consumer_rss_bytes: Option<u64>,
    /// Memory of the tensor in the host and all consumers: its Pss, or the GPU memory that it takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tensor_bytes: Option<u64>,
    /// GPU memory of the tensor and of the consumers' CUDA contexts. Unset if the tensor is in host memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vram_bytes: Option<u64>,
    /// Memory saved compared with separate copies of the tensor in the host and in each consumer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved_bytes: Option<u64>,
    /// savedBytes divided by the total size of separate copies in the host and in each consumer, in parts per million.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved_ppm: Option<u64>,
    /// Change in the Pss of the host and its consumers from one distribution to the next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slope_bytes: Option<i64>,
}

/// Section of a call report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
pub enum CallSection {
    /// Every case was measured and is valid.
    Successful,
    /// A case failed or is invalid.
    Failed,
    /// No case ran, because the machine lacks resources that the calls need.
    Skipped,
}

/// Reason that calls failed or were skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "crd", schemars(transform = crate::schema::remove_description))]
pub enum CallCause {
    /// A process ran out of memory.
    OutOfMemory,
    /// A case exceeded its time limit.
    Timeout,
    /// A process exited.
    Died,
    /// A case failed for another reason.
    Error,
    /// A case was measured, but its results are invalid.
    Invalid,
    /// The machine has no GPU.
    NoGpu,
    /// The machine or the cgroup has less memory available than the calls need.
    NotEnoughMemory,
}
