//! Ping-pong with one message in flight.

pub(crate) mod spec;

use serde::{Deserialize, Serialize};

use super::{Extent, WorkloadProperties};
use crate::v1alpha1::{PingPongOperation, TransferOperation};

/// Ping-pong workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PingPongWorkload {
    /// Operation that sends a message.
    pub operation: PingPongOperation,
    /// Number of measured round trips, or duration of the measurement.
    pub measured: Extent,
    /// Number of warm-up round trips, or duration of the warm-up.
    pub warmup: Extent,
}

impl WorkloadProperties for PingPongWorkload {
    fn measured(&self) -> Extent {
        self.measured
    }

    fn set_measured(&mut self, measured: Extent) {
        self.measured = measured;
    }

    fn warmup(&self) -> Extent {
        self.warmup
    }

    fn operation(&self) -> TransferOperation {
        match self.operation {
            PingPongOperation::Send => TransferOperation::Send,
            PingPongOperation::WriteImmediate => TransferOperation::WriteImmediate,
        }
    }
}
