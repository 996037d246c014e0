//! Steps of transfers: creation of requests, posts and completions.

use serde::{Deserialize, Serialize};

/// Times of the steps of several transfers of one kind, each the sum over all transfers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct StepTimes {
    /// Number of completed transfers.
    pub transfers: u64,
    /// Time in which requests were created as part of the transfers, in nanoseconds. 0 if all of them were prepared
    /// before.
    pub creation_nanos: u64,
    /// Time in the calls that post a request, in nanoseconds.
    pub post_nanos: u64,
    /// Time from the end of the post until the completion is observed, in nanoseconds.
    pub completion_nanos: u64,
    /// Number of transfers for which the library reported telemetry.
    pub reported_transfers: u64,
    /// Time in the post according to the library, in microseconds.
    pub reported_post_micros: u64,
    /// Time from the start of the post to the completion according to the library, in microseconds.
    pub reported_transfer_micros: u64,
    /// Number of bytes according to the library.
    pub reported_bytes: u64,
    /// Number of descriptors according to the library, after it merged adjacent ones.
    pub reported_descriptors: u64,
}

impl StepTimes {
    /// Adds the transfers of `other`.
    pub fn add(&mut self, other: &Self) {
        self.transfers += other.transfers;
        self.creation_nanos += other.creation_nanos;
        self.post_nanos += other.post_nanos;
        self.completion_nanos += other.completion_nanos;
        self.reported_transfers += other.reported_transfers;
        self.reported_post_micros += other.reported_post_micros;
        self.reported_transfer_micros += other.reported_transfer_micros;
        self.reported_bytes += other.reported_bytes;
        self.reported_descriptors += other.reported_descriptors;
    }
}
