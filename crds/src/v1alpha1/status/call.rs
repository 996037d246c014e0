//! Outcomes of calls between processes, and of processes that receive the same tensor.

use serde::{Deserialize, Serialize};

use crate::v1alpha1::RpcPayload;

/// Calls of one arm with one payload, over all rounds and pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "crd", schemars(extend("x-kubernetes-preserve-unknown-fields" = true)))]
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
}

/// Consumers of one arm that receive the same tensor, over all rounds and pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "crd", schemars(extend("x-kubernetes-preserve-unknown-fields" = true)))]
pub struct FootprintResult {
    /// Section of the report that contains the arm.
    pub section: CallSection,
    /// Cause of the first failure, or reason that the cases were skipped. Unset for a successful arm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<CallCause>,
    /// Number of consumers.
    pub consumers: u32,
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
