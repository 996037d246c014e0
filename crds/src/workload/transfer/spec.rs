//! `transfer` in a spec.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::units::{Duration, Size};
use crate::v1alpha1::{Load, SpecWorkload};

/// Transfer workload with up to `window` transfers in flight per thread, in one direction or in both.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(kube::KubeSchema))]
#[cfg_attr(feature = "crd", x_kube(
    validation = kube::core::Rule::new("!(has(self.iterations) && has(self.duration))").message("at most one of iterations and duration may be set"),
    validation = kube::core::Rule::new("!(has(self.warmup) && has(self.warmupDuration))").message("at most one of warmup and warmupDuration may be set"),
    validation = kube::core::Rule::new("self.batch <= self.window").message("batch must not exceed window, because all transfers of a burst are in flight together").field_path(".batch"),
))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Transfer {
    /// Transfer sizes, such as 64, 1Ki or 16M.
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 64)))]
    pub sizes: Vec<Size>,
    /// Operation that each transfer posts. Defaults to Write.
    #[serde(default)]
    pub operation: TransferOperation,
    /// Maximum number of transfers in flight per thread. Defaults to 16.
    #[serde(default = "default_window")]
    #[cfg_attr(feature = "crd", schemars(range(min = 1, max = 4096)))]
    pub window: u32,
    /// Number of transfers posted together in one burst. Must not exceed window. Defaults to 1.
    #[serde(default = "default_batch")]
    #[cfg_attr(feature = "crd", schemars(range(min = 1, max = 256)))]
    pub batch: u32,
    /// Number of initiator threads. Each thread uses separate endpoints. Defaults to 1.
    #[serde(default = "default_threads")]
    #[cfg_attr(feature = "crd", schemars(range(min = 1, max = 64)))]
    pub threads: u32,
    /// Whether one or both workers of a pair post transfers. Defaults to Unidirectional.
    #[serde(default)]
    pub direction: Direction,
    /// Whether the transfers in flight have separate buffers. Defaults to Separate.
    #[serde(default)]
    pub buffers: TransferBuffers,
    /// When transfers start. By default, a transfer starts as soon as an earlier one has completed. Requires batch 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<Load>,
    /// Number of measured transfers per thread, or the minimum number if sampling.minWindow is greater than 0. Defaults
    /// to 1000 if duration is unset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(range(min = 1, max = 10_000_000)))]
    pub iterations: Option<u32>,
    /// Duration of the measurement, such as 500ms or 10s. Must not be shorter than sampling.minWindow. Cannot be
    /// combined with iterations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<Duration>,
    /// Number of warm-up transfers per thread before the measurement. Defaults to 100 if warmupDuration is unset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "crd", schemars(range(max = 1_000_000)))]
    pub warmup: Option<u32>,
    /// Duration of the warm-up before the measurement. Cannot be combined with warmup.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warmup_duration: Option<Duration>,
}

/// Buffers of the transfers in flight on one thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
pub enum TransferBuffers {
    /// Every transfer in flight has its own source and target buffer, as in applications.
    #[default]
    Separate,
    /// All transfers use the same source and the same target buffer, as in fi_rma_bw and ib_write_bw, so that the data
    /// stays in the cache. The integrity pass has only one transfer in flight.
    Shared,
}

/// Operation that a transfer posts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
pub enum TransferOperation {
    /// Two-sided send with immediate data.
    Send,
    /// RMA write. It completes when the data is in the target's memory.
    #[default]
    Write,
    /// RMA read.
    Read,
    /// RMA write with immediate data. It completes when the target has received the immediate data of every chunk.
    WriteImmediate,
}

/// Direction of the transfers between the workers of a pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
pub enum Direction {
    /// Only the initiator posts transfers.
    #[default]
    Unidirectional,
    /// Both workers post transfers concurrently.
    Bidirectional,
}

impl SpecWorkload for Transfer {
    fn sizes(&self) -> Cow<'_, [Size]> {
        Cow::Borrowed(&self.sizes)
    }

    fn load(&self) -> Option<Load> {
        self.load
    }
}

fn default_window() -> u32 {
    16
}

fn default_batch() -> u32 {
    1
}

fn default_threads() -> u32 {
    1
}
