//! Distribution of a tensor to processes whose memory is measured.

pub(crate) mod spec;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Extent, Inconsistency, WorkloadProperties, process_limit};
use crate::v1alpha1::RpcChannel;

/// Distribution of a tensor to processes whose memory is measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FootprintWorkload {
    /// Number of consumers.
    pub consumers: u32,
    /// Number of measured distributions to all consumers. One warm-up distribution precedes them.
    pub distributions: u32,
    /// CUDA device number of the GPU that holds the tensor; unset if it is in host memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu: Option<u32>,
    /// Maximum duration of a case, in seconds.
    pub timeout_seconds: u32,
    /// Number of measured operations: one for each consumer and distribution.
    pub measured: Extent,
}

impl WorkloadProperties for FootprintWorkload {
    fn check(&self) -> Result<(), Inconsistency> {
        let is_bounded = (1..=100).contains(&self.consumers)
            && (2..=1000).contains(&self.distributions)
            && (1..=3600).contains(&self.timeout_seconds);
        Inconsistency::unless(
            is_bounded,
            "",
            "consumers, distributions or timeoutSeconds is out of bounds",
        )
    }

    fn measured(&self) -> Extent {
        self.measured
    }

    fn set_measured(&mut self, measured: Extent) {
        self.measured = measured;
    }

    fn largest_message(&self, _max_size_bytes: u64) -> u64 {
        0
    }

    fn uses_channels(&self) -> bool {
        true
    }

    fn gpu(&self) -> Option<u32> {
        self.gpu
    }

    fn set_gpu(&mut self, gpu: Option<u32>) {
        self.gpu = gpu;
    }

    fn is_off_fabric(&self, _channel: RpcChannel) -> bool {
        true
    }

    fn uses_library(&self, _channel: RpcChannel) -> bool {
        false
    }

    fn instrument_limit(
        &self,
        _channel: RpcChannel,
        case_deadline: Duration,
        copy_time: Duration,
    ) -> Duration {
        process_limit(case_deadline, self.timeout_seconds) + copy_time
    }

    fn copies(&self) -> u64 {
        u64::from(self.consumers) + 1
    }
}
