//! Calls between isolated processes.

pub(crate) mod spec;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Extent, Inconsistency, WorkloadProperties, process_limit};
use crate::v1alpha1::{OpenLoop, RpcChannel, RpcPattern};

/// Calls between isolated processes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RpcWorkload {
    /// Sequence of calls that make up a sample.
    pub pattern: RpcPattern,
    /// Number of calls in a sample, each nested in the previous one. The initiator makes the first, and the processes
    /// alternate.
    pub hops: u32,
    /// Largest payload that is sent over a transport, in bytes; 0 if no arm calls over a transport.
    pub message_bytes: u64,
    /// CUDA device number of the GPU that holds the tensors and arrays of arms that do not call over a transport; unset if
    /// they are in host memory. Integers and strings are always in host memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu: Option<u32>,
    /// Maximum duration of a case, in seconds.
    pub timeout_seconds: u32,
    /// Intended start times of the samples; `None` if a sample starts as soon as the previous one has completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_loop: Option<OpenLoop>,
    /// Number of measured samples.
    pub measured: Extent,
    /// Number of warm-up samples.
    pub warmup: Extent,
}

impl WorkloadProperties for RpcWorkload {
    fn check(&self) -> Result<(), Inconsistency> {
        let is_bounded = (1..=65).contains(&self.hops) && (1..=3600).contains(&self.timeout_seconds);
        Inconsistency::unless(is_bounded, "", "hops or timeoutSeconds is out of bounds")
    }

    fn measured(&self) -> Extent {
        self.measured
    }

    fn set_measured(&mut self, measured: Extent) {
        self.measured = measured;
    }

    fn warmup(&self) -> Extent {
        self.warmup
    }

    fn open_loop(&self) -> Option<OpenLoop> {
        self.open_loop
    }

    fn set_open_loop(&mut self, open_loop: OpenLoop) {
        self.open_loop = Some(open_loop);
    }

    fn started(&self) -> &'static str {
        "samples"
    }

    fn largest_message(&self, _max_size_bytes: u64) -> u64 {
        self.message_bytes
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

    fn is_off_fabric(&self, channel: RpcChannel) -> bool {
        !channel.is_transport()
    }

    fn uses_library(&self, channel: RpcChannel) -> bool {
        channel.is_transport()
    }

    fn instrument_limit(
        &self,
        channel: RpcChannel,
        case_deadline: Duration,
        copy_time: Duration,
    ) -> Duration {
        let limit = if channel.is_transport() {
            // A hung peer is noticed at the scenario's own limit.
            Duration::from_secs(self.timeout_seconds.into())
        } else {
            process_limit(case_deadline, self.timeout_seconds)
        };
        limit + copy_time
    }

    fn copies(&self) -> u64 {
        // The host and the extension each have one.
        2
    }
}
