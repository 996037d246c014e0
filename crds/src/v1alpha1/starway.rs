//! Scenarios of the Starway benchmark suite, with its names and defaults. All of them send two-sided messages with
//! immediate data, and the planner turns each into a ping-pong or a transfer.

use serde::{Deserialize, Serialize};

use super::Load;
use crate::units::Size;

/// One large message at a time from the initiator to the target, as in a checkpoint or the broadcast of a tensor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LargeArray {
    /// Message sizes, such as 512Mi. Defaults to 1Gi.
    #[serde(default = "large_sizes")]
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 64)))]
    pub sizes: Vec<Size>,
    /// Number of measured messages, or the minimum number if sampling.minWindow is greater than 0. Defaults to 3.
    #[serde(default = "large_iterations")]
    #[cfg_attr(feature = "crd", schemars(range(min = 1, max = 10_000_000)))]
    pub iterations: u32,
    /// Number of warm-up messages before the measurement. Defaults to 1.
    #[serde(default = "large_warmup")]
    #[cfg_attr(feature = "crd", schemars(range(max = 1_000_000)))]
    pub warmup: u32,
}

/// Batches of small messages from the initiator to the target. The next batch begins when the previous one is complete.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SmallMessages {
    /// Message sizes, such as 512 or 1Ki. Defaults to 1Ki.
    #[serde(default = "small_sizes")]
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 64)))]
    pub sizes: Vec<Size>,
    /// Number of messages in a batch, all in flight together. With load, the maximum number of messages in flight.
    /// Defaults to 64.
    #[serde(default = "small_concurrency")]
    #[cfg_attr(feature = "crd", schemars(range(min = 1, max = 256)))]
    pub concurrency: u32,
    /// Number of measured batches, or the minimum number if sampling.minWindow is greater than 0. Defaults to 10.
    #[serde(default = "small_batches")]
    #[cfg_attr(feature = "crd", schemars(range(min = 1, max = 30_000)))]
    pub batches: u32,
    /// Number of warm-up batches before the measurement. Defaults to 2.
    #[serde(default = "small_warmup")]
    #[cfg_attr(feature = "crd", schemars(range(max = 3000)))]
    pub warmup_batches: u32,
    /// When messages start. By default, all messages of a batch start when the previous batch is complete. With load,
    /// there are no batches: as many messages as the batches would contain start at their own times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<Load>,
}

/// A flag of one byte that is sent back and forth. Latency is half the round-trip time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PingpongFlag {
    /// Number of measured round trips, or the minimum number if sampling.minWindow is greater than 0. Defaults to 1000.
    #[serde(default = "flag_iterations")]
    #[cfg_attr(feature = "crd", schemars(range(min = 1, max = 10_000_000)))]
    pub iterations: u32,
    /// Number of warm-up round trips before the measurement. Defaults to 100.
    #[serde(default = "flag_warmup")]
    #[cfg_attr(feature = "crd", schemars(range(max = 1_000_000)))]
    pub warmup: u32,
}

/// Chunks in both directions at the same time, as in the exchange of gradients and activations. Each direction is timed
/// by its own sender. Pings of 8 bytes, sent beside the chunks and while the fabric is idle, show head-of-line blocking.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StreamingDuplex {
    /// Chunk sizes, such as 1Mi. Defaults to 4Mi.
    #[serde(default = "stream_sizes")]
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 64)))]
    pub sizes: Vec<Size>,
    /// Maximum number of chunks in flight in each direction. Defaults to 4.
    #[serde(default = "stream_window")]
    #[cfg_attr(feature = "crd", schemars(range(min = 1, max = 4096)))]
    pub window: u32,
    /// Number of measured chunks in each direction, or the minimum number if sampling.minWindow is greater than 0.
    /// Defaults to 64.
    #[serde(default = "stream_iterations")]
    #[cfg_attr(feature = "crd", schemars(range(min = 1, max = 10_000_000)))]
    pub iterations: u32,
    /// Number of warm-up chunks in each direction before the measurement. Defaults to 8.
    #[serde(default = "stream_warmup")]
    #[cfg_attr(feature = "crd", schemars(range(max = 1_000_000)))]
    pub warmup: u32,
}

/// Size of the flag.
pub(super) const FLAG_SIZES: [Size; 1] = [Size(1)];

fn large_sizes() -> Vec<Size> {
    vec![Size(1 << 30)]
}

fn large_iterations() -> u32 {
    3
}

fn large_warmup() -> u32 {
    1
}

fn small_sizes() -> Vec<Size> {
    vec![Size(1 << 10)]
}

fn small_concurrency() -> u32 {
    64
}

fn small_batches() -> u32 {
    10
}

fn small_warmup() -> u32 {
    2
}

fn flag_iterations() -> u32 {
    1000
}

fn flag_warmup() -> u32 {
    100
}

fn stream_sizes() -> Vec<Size> {
    vec![Size(4 << 20)]
}

fn stream_window() -> u32 {
    4
}

fn stream_iterations() -> u32 {
    64
}

fn stream_warmup() -> u32 {
    8
}
