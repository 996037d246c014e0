//! Validity of one case: the proof that its bytes used the fabric, and a typed reason for each rule that it violates.

use crds::record::FailureReason;
use crds::v1alpha1::FabricProof;
use serde::Serialize;
use snafu::Snafu;

/// The window of each flow must cover at least this share of the span in which the windows of all flows were open.
/// Every window then contains the middle half of the span.
pub const MIN_SPAN_SHARE: f64 = 0.75;

/// Reason that a case is invalid.
#[derive(Debug, Clone, PartialEq, Snafu, Serialize)]
#[serde(rename_all = "camelCase", tag = "reason")]
pub enum Invalid {
    /// The case failed.
    #[snafu(display("failed ({failure:?}): {message}"))]
    Failed {
        /// Reason for the failure.
        failure: FailureReason,
        /// Error message.
        message: String,
    },
    /// The case finished with zero operations, zero bytes or a duration of zero.
    #[snafu(display("nothing was measured"))]
    NothingMeasured,
    /// The bytes did not use the requested fabric.
    #[snafu(display("fabric contradicted: {message}"))]
    FabricContradicted {
        /// Evidence that contradicts the requested fabric.
        message: String,
    },
    /// The rate, which is measured or reported by a command's tool, exceeds the line rate.
    #[snafu(display(
        "the payload rate of {measured_bits_per_second} bit/s exceeds the line rate of {line_bits_per_second} bit/s"
    ))]
    AboveLineRate {
        /// Payload rate, in bits per second.
        measured_bits_per_second: u64,
        /// Total line rate of the links that carried bytes, in bits per second.
        line_bits_per_second: u64,
    },
    /// The combined rate of the flows that leave a worker, or of the flows that arrive at it, exceeds its line rate.
    #[snafu(display(
        "the payload rates of the {flows} flows of rank {rank} add up to {measured_bits_per_second} bit/s, which exceeds its \
         line rate of {line_bits_per_second} bit/s"
    ))]
    FlowsAboveLineRate {
        /// Rank of the worker.
        rank: u32,
        /// Number of its flows.
        flows: u64,
        /// Sum of the payload rates of its flows, in bits per second.
        measured_bits_per_second: u64,
        /// Total line rate of its links that carried bytes, in bits per second.
        line_bits_per_second: u64,
    },
    /// The latency is below the physical minimum.
    #[snafu(display(
        "median latency of {measured_nanos} ns is below the physical minimum of {floor_nanos} ns ({floor})"
    ))]
    BelowFloor {
        /// Median one-way latency, in nanoseconds.
        measured_nanos: u64,
        /// Physical minimum of the latency, in nanoseconds.
        floor_nanos: u64,
        /// Reason for this minimum.
        floor: String,
    },
    /// Values of the record contradict each other.
    #[snafu(display("the record contradicts itself: {message}"))]
    Contradictory {
        /// The values.
        message: String,
    },
    /// The time from the first post to the last completion is impossible.
    #[snafu(display("the operations ended after {elapsed_nanos} ns, but {limit}"))]
    InconsistentTime {
        /// Time from the first post to the last completion, in nanoseconds.
        elapsed_nanos: u64,
        /// Limit that this time violates.
        limit: String,
    },
    /// The cgroup was throttled during the measured window.
    #[snafu(display("the CPU was throttled for {nanos} ns during the measured window: raise the CPU limit"))]
    Throttled {
        /// Throttled time of both sides, in nanoseconds.
        nanos: u64,
    },
    /// A pinned thread migrated to another CPU.
    #[snafu(display("a measuring thread migrated to another CPU {migrations} times"))]
    Migrated {
        /// Number of migrations on both sides.
        migrations: u64,
    },
    /// The CPU frequency governor changed during the measured window.
    #[snafu(display("the CPU frequency governor changed during the measured window"))]
    GovernorChanged,
    /// The integrity pass for this arm and size found wrong bytes, or could not verify them.
    #[snafu(display("integrity: {message}"))]
    Integrity {
        /// Reason why the pass failed; `None` if it found wrong bytes.
        #[serde(skip_serializing_if = "Option::is_none")]
        failure: Option<FailureReason>,
        /// The mismatch, or why the bytes could not be verified.
        message: String,
    },
    /// A flow's window covers too little of the span in which the windows of all flows were open.
    #[snafu(display(
        "the window of {window_nanos} ns covers less than {} percent of the {span_nanos} ns in which the windows of all \
         flows were open: use a longer duration",
        MIN_SPAN_SHARE * 100.0
    ))]
    NotSimultaneous {
        /// Length of the flow's window, in nanoseconds.
        window_nanos: u64,
        /// Time from the command that opens the windows of all flows to the last report that a window has closed, in
        /// nanoseconds.
        span_nanos: u64,
    },
    /// A flow that ran concurrently is invalid.
    #[snafu(display(
        "the flow from rank {sender} to rank {receiver}, which ran at the same time, is invalid"
    ))]
    FlowInvalid {
        /// Sender rank of the invalid flow.
        sender: u32,
        /// Receiver rank of the invalid flow.
        receiver: u32,
    },
    /// The library, provider, fabric, number of rails or configuration is not the same as in the first round. The
    /// subnet of an IP transport may differ between nodes.
    #[snafu(display("rank {rank} changed: {found}; in the first round it was {first}"))]
    Changed {
        /// Rank of the worker.
        rank: u32,
        /// Facts in this round.
        found: String,
        /// Facts in the first round.
        first: String,
    },
    /// The two workers of the case have different library configurations.
    #[snafu(display(
        "the library is configured differently on the two workers: {initiator} on rank {initiator_rank}, and {target} on rank \
         {target_rank}"
    ))]
    ConfigurationsDiffer {
        /// Rank of the initiator.
        initiator_rank: u32,
        /// Rank of the target.
        target_rank: u32,
        /// Configuration of the initiator.
        initiator: String,
        /// Configuration of the target.
        target: String,
    },
}

/// Proof that the bytes of a case used the fabric.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CaseProof {
    /// Strength of the proof.
    pub proof: FabricProof,
    /// Reason for this proof.
    pub reason: String,
}

/// Validity of a case, and the proof that its bytes used the fabric.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CaseCheck {
    /// All reasons that the case is invalid; empty for a valid case.
    pub invalid: Vec<Invalid>,
    /// Proof that the bytes used the fabric; `None` if the case was not measured.
    pub proof: Option<CaseProof>,
}

impl CaseCheck {
    /// Whether the case is valid.
    pub fn is_valid(&self) -> bool {
        self.invalid.is_empty()
    }
}
