//! Steps of transfers: creation of requests, posts and completions.

use serde::{Deserialize, Serialize};

/// Time spent in each step of transfers of one kind, summed over all transfers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct StepTimes {
    /// Number of completed transfers.
    pub transfers: u64,
    /// Time spent creating requests as part of the transfers, in nanoseconds. 0 if all requests were prepared in
    /// advance.
    pub creation_nanos: u64,
    /// Time spent in calls that post a request, in nanoseconds.
    pub post_nanos: u64,
    /// Time from the end of the post until the completion is observed, in nanoseconds.
    pub completion_nanos: u64,
    /// Number of transfers for which the library reported telemetry.
    pub reported_transfers: u64,
    /// Time spent in the post, as reported by the library, in microseconds.
    pub reported_post_micros: u64,
    /// Time from the start of the post to the completion, as reported by the library, in microseconds.
    pub reported_transfer_micros: u64,
    /// Number of bytes, as reported by the library.
    pub reported_bytes: u64,
    /// Number of descriptors, as reported by the library after it merged adjacent ones.
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
