//! `pingPong` in a spec.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::units::{Duration, Size};
use crate::v1alpha1::{Metric, SpecWorkload};

/// Ping-pong workload with one message in flight. Latency is half the round-trip time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(kube::KubeSchema))]
#[cfg_attr(feature = "crd", x_kube(
    validation = kube::core::Rule::new("!(has(self.iterations) && has(self.duration))").message("at most one of iterations and duration may be set"),
    validation = kube::core::Rule::new("!(has(self.warmup) && has(self.warmupDuration))").message("at most one of warmup and warmupDuration may be set"),
))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PingPong {
    /// Message sizes, such as 64, 1Ki or 16M.
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 64)))]
    pub sizes: Vec<Size>,
    /// Operation that sends a message. Defaults to Send.
    #[serde(default)]
    pub operation: PingPongOperation,
    /// Number of measured round trips, or the minimum number if sampling.minWindow is greater than 0. Defaults to 1000
    /// if duration is unset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(range(min = 1, max = 10_000_000)))]
    pub iterations: Option<u32>,
    /// Duration of the measurement, such as 500ms or 10s. Must not be shorter than sampling.minWindow. Cannot be
    /// combined with iterations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<Duration>,
    /// Number of warm-up round trips before the measurement. Defaults to 100 if warmupDuration is unset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(range(max = 1_000_000)))]
    pub warmup: Option<u32>,
    /// Duration of the warm-up before the measurement. Cannot be combined with warmup.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warmup_duration: Option<Duration>,
}

/// Operation that sends a ping-pong message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
pub enum PingPongOperation {
    /// Two-sided send with immediate data (`fi_senddata`, injected: `fi_injectdata`).
    #[default]
    Send,
    /// RMA write with immediate data (`fi_writedata`, injected: `fi_inject_writedata`).
    WriteImmediate,
}

impl SpecWorkload for PingPong {
    fn sizes(&self) -> Cow<'_, [Size]> {
        Cow::Borrowed(&self.sizes)
    }

    fn metric_of_closed_loop(&self) -> Metric {
        Metric::LatencyP50
    }
}
