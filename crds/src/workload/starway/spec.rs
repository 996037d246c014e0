//! The Starway benchmark scenarios, with the names and defaults of the suite. All of them send two-sided messages with
//! immediate data, and the planner turns each into a ping-pong or a transfer.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::units::Size;
use crate::v1alpha1::{Load, Metric, SpecWorkload};

/// One large message at a time from the initiator to the target, such as a checkpoint or a broadcast tensor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct LargeArray {
    /// Message sizes, such as 512Mi. Defaults to 1Gi.
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 64)))]
    pub sizes: Vec<Size>,
    /// Number of measured messages, or the minimum number if sampling.minWindow is greater than 0. Defaults to 3.
    #[cfg_attr(feature = "crd", schemars(range(min = 1, max = 10_000_000)))]
    pub iterations: u32,
    /// Number of warm-up messages before the measurement. Defaults to 1.
    #[cfg_attr(feature = "crd", schemars(range(max = 1_000_000)))]
    pub warmup: u32,
}

/// Batches of small messages from the initiator to the target. Each batch starts when the previous one is complete.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct SmallMessages {
    /// Message sizes, such as 512 or 1Ki. Defaults to 1Ki.
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 64)))]
    pub sizes: Vec<Size>,
    /// Number of messages in a batch, all in flight together. If load is set, this is the maximum number of messages in
    /// flight. Defaults to 64.
    #[cfg_attr(feature = "crd", schemars(range(min = 1, max = 256)))]
    pub concurrency: u32,
    /// Number of measured batches, or the minimum number if sampling.minWindow is greater than 0. With
    /// placement.pattern ManyToMany, the number has no effect: every flow sends batches for one second, or for
    /// sampling.minWindow if that is longer. Defaults to 10.
    #[cfg_attr(feature = "crd", schemars(range(min = 1, max = 30_000)))]
    pub batches: u32,
    /// Number of warm-up batches before the measurement. Defaults to 2.
    #[cfg_attr(feature = "crd", schemars(range(max = 3000)))]
    pub warmup_batches: u32,
    /// When messages start. By default, all messages of a batch start when the previous batch is complete. If load is
    /// set, there are no batches: the same total number of messages is sent, each at its own start time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load: Option<Load>,
}

/// A one-byte flag that is sent back and forth. Latency is half the round-trip time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct PingpongFlag {
    /// Number of measured round trips, or the minimum number if sampling.minWindow is greater than 0. Defaults to 1000.
    #[cfg_attr(feature = "crd", schemars(range(min = 1, max = 10_000_000)))]
    pub iterations: u32,
    /// Number of warm-up round trips before the measurement. Defaults to 100.
    #[cfg_attr(feature = "crd", schemars(range(max = 1_000_000)))]
    pub warmup: u32,
}

/// Chunks that are sent in both directions concurrently, such as gradients and activations. Each direction is timed by
/// its own sender. 8-byte pings, sent during the transfers and while the fabric is idle, show head-of-line blocking.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct StreamingDuplex {
    /// Chunk sizes, such as 1Mi. Defaults to 4Mi.
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 64)))]
    pub sizes: Vec<Size>,
    /// Maximum number of chunks in flight in each direction. Defaults to 4.
    #[cfg_attr(feature = "crd", schemars(range(min = 1, max = 4096)))]
    pub window: u32,
    /// Number of measured chunks in each direction, or the minimum number if sampling.minWindow is greater than 0.
    /// Defaults to 64.
    #[cfg_attr(feature = "crd", schemars(range(min = 1, max = 10_000_000)))]
    pub iterations: u32,
    /// Number of warm-up chunks in each direction before the measurement. Defaults to 8.
    #[cfg_attr(feature = "crd", schemars(range(max = 1_000_000)))]
    pub warmup: u32,
}

/// Sizes of the flag: a single byte.
const FLAG_SIZES: [Size; 1] = [Size(1)];

impl Default for LargeArray {
    fn default() -> Self {
        Self {
            sizes: vec![Size(1 << 30)],
            iterations: 3,
            warmup: 1,
        }
    }
}

impl Default for SmallMessages {
    fn default() -> Self {
        Self {
            sizes: vec![Size(1 << 10)],
            concurrency: 64,
            batches: 10,
            warmup_batches: 2,
            load: None,
        }
    }
}

impl Default for PingpongFlag {
    fn default() -> Self {
        Self {
            iterations: 1000,
            warmup: 100,
        }
    }
}

impl Default for StreamingDuplex {
    fn default() -> Self {
        Self {
            sizes: vec![Size(4 << 20)],
            window: 4,
            iterations: 64,
            warmup: 8,
        }
    }
}

impl SpecWorkload for LargeArray {
    fn sizes(&self) -> Cow<'_, [Size]> {
        Cow::Borrowed(&self.sizes)
    }
}

impl SpecWorkload for SmallMessages {
    fn sizes(&self) -> Cow<'_, [Size]> {
        Cow::Borrowed(&self.sizes)
    }

    fn metric_of_closed_loop(&self) -> Metric {
        Metric::CompletionRate
    }

    fn load(&self) -> Option<Load> {
        self.load
    }
}

impl SpecWorkload for PingpongFlag {
    fn sizes(&self) -> Cow<'_, [Size]> {
        Cow::Borrowed(&FLAG_SIZES)
    }

    fn metric_of_closed_loop(&self) -> Metric {
        Metric::LatencyP50
    }
}

impl SpecWorkload for StreamingDuplex {
    fn sizes(&self) -> Cow<'_, [Size]> {
        Cow::Borrowed(&self.sizes)
    }
}
