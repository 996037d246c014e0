//! Parameter serving: one trainer, which is the initiator, and workers, which are threads of the target.

pub(crate) mod spec;

use serde::{Deserialize, Serialize};

use super::{Extent, Inconsistency, WorkloadProperties};
use crate::assignment::SLOT_ALIGNMENT;
use crate::v1alpha1::{RpcChannel, TransferOperation};

/// Number of versions whose bytes are in memory at the same time: while one is in use or in flight, the next one is
/// prepared.
pub const SERVING_SLOTS: u64 = 2;

/// Parameter serving workload with one worker count.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ServingWorkload {
    /// How the parameters reach the workers.
    pub delivery: Delivery,
    /// Number of workers. Each is a thread of the target, with a thread of the initiator as its peer.
    pub workers: u32,
    /// Time between the publication of one version and the next, in nanoseconds.
    pub push_nanos: u64,
    /// Time between a worker's attempts to fetch a newer version, in nanoseconds.
    pub pull_nanos: u64,
    /// Time between a worker's posts, in nanoseconds.
    pub post_nanos: u64,
    /// Time between a worker's steps, in nanoseconds.
    pub step_nanos: u64,
    /// Number of versions after which the trainer stops.
    pub max_version: u32,
    /// Time after which the trainer stops, in nanoseconds.
    pub max_time_nanos: u64,
}

/// How the parameters reach the workers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum Delivery {
    /// The trainer writes a file, and each worker reads it.
    Filesystem {
        /// Directory that contains the file.
        directory: String,
    },
    /// The trainer sends datagrams to a multicast group.
    Multicast(MulticastDelivery),
    /// The trainer writes into each worker's memory.
    Push,
    /// Each worker reads from the trainer's memory.
    Pull,
}

/// Multicast group and datagram settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MulticastDelivery {
    /// IPv4 address and port of the group.
    pub group: String,
    /// IPv4 address and port to which the trainer sends: the group, or a relay that forwards to it.
    pub destination: String,
    /// IPv4 address of the interface. If unset, the routing table chooses it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interface: Option<String>,
    /// Maximum payload of a datagram, in bytes.
    pub datagram_bytes: u32,
    /// Maximum payload per second, in bytes. If unset, the rate is not limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_per_second: Option<u64>,
}

impl Delivery {
    /// Whether the parameters are transferred over the fabric.
    pub fn uses_fabric(&self) -> bool {
        matches!(self, Self::Push | Self::Pull)
    }

    /// Name of the mode in the spec.
    pub fn mode(&self) -> &'static str {
        match self {
            Self::Filesystem { .. } => "Filesystem",
            Self::Multicast(_) => "Multicast",
            Self::Push => "Push",
            Self::Pull => "Pull",
        }
    }
}

impl ServingWorkload {
    /// Maximum number of posts of one worker.
    pub fn max_posts(&self) -> u64 {
        self.max_time_nanos / self.post_nanos.max(1) + 2
    }

    /// Time after which the trainer stops if no publication is late, in nanoseconds.
    pub fn nominal_nanos(&self) -> u64 {
        self.max_time_nanos
            .min(self.push_nanos.saturating_mul(self.max_version.into()))
    }

    /// Offset of the slot of `version` in an area, for parameters of `size` bytes.
    pub fn slot_offset(version: u64, size: u64) -> u64 {
        version % SERVING_SLOTS * size.next_multiple_of(SLOT_ALIGNMENT)
    }

    /// Offset of the table in an area whose slots hold `size` bytes each.
    pub fn table_offset(size: u64) -> u64 {
        SERVING_SLOTS * size.next_multiple_of(SLOT_ALIGNMENT)
    }

    /// Maximum number of 64-bit words in the table: a head of 16 words, publication times and receipts of posts.
    pub fn table_words(&self) -> u64 {
        16 + u64::from(self.max_version) + self.max_posts()
    }

    /// Size in bytes of the slots and the table in an area, for parameters of `size` bytes.
    pub fn slots_and_table_bytes(&self, size: u64) -> u64 {
        Self::table_offset(size) + (self.table_words() * 8).next_multiple_of(SLOT_ALIGNMENT)
    }
}

impl WorkloadProperties for ServingWorkload {
    fn check(&self) -> Result<(), Inconsistency> {
        let periods = [
            self.push_nanos,
            self.pull_nanos,
            self.post_nanos,
            self.step_nanos,
            self.max_time_nanos,
        ];
        Inconsistency::unless(
            (1..=64).contains(&self.workers) && self.max_version > 0 && !periods.contains(&0),
            "",
            "workers, maxVersion or a period is out of bounds",
        )
    }

    fn measured(&self) -> Extent {
        Extent::DurationNanos(self.max_time_nanos)
    }

    fn mode_off_fabric(&self) -> Option<&'static str> {
        (!self.delivery.uses_fabric()).then(|| self.delivery.mode())
    }

    /// Some modes send only the publication times over the transport.
    fn requires_transport(&self, _channel: RpcChannel) -> bool {
        false
    }

    /// Each worker has one thread.
    fn threads(&self) -> u32 {
        self.workers
    }

    /// In modes that do not use the fabric for the parameters, the operation transfers the publication times.
    fn operation(&self) -> TransferOperation {
        match self.delivery {
            Delivery::Pull => TransferOperation::Read,
            Delivery::Filesystem { .. } | Delivery::Multicast(_) | Delivery::Push => TransferOperation::Write,
        }
    }

    /// The workers measure when they use each version.
    fn measuring_sides(&self) -> [bool; 2] {
        [false, true]
    }

    fn window(&self) -> u32 {
        1
    }

    fn area_bytes(&self, max_size_bytes: u64, rails: u64) -> u64 {
        self.slots_and_table_bytes(max_size_bytes) + rails * SLOT_ALIGNMENT
    }

    fn payload_arrives(&self, _channel: RpcChannel) -> [bool; 2] {
        [false, true]
    }

    fn uses_library(&self, _channel: RpcChannel) -> bool {
        self.delivery.uses_fabric()
    }

    fn suits_many_to_many(&self) -> bool {
        true
    }

    /// In every mode, the trainer writes at least its tables.
    fn writes(&self) -> bool {
        true
    }
}
