//! Heartbeats with one message in flight.

pub(crate) mod spec;

use serde::{Deserialize, Serialize};

use super::{Extent, WorkloadProperties};

/// Heartbeat workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HeartbeatWorkload {
    /// Number of measured messages, or duration of the measurement.
    pub measured: Extent,
}

impl WorkloadProperties for HeartbeatWorkload {
    fn measured(&self) -> Extent {
        self.measured
    }

    fn set_measured(&mut self, measured: Extent) {
        self.measured = measured;
    }
}
