//! One case of one pair: what both sides did, or why not.

use serde::{Deserialize, Serialize};

use crate::assignment::Pass;
use crate::histogram::Histogram;

/// One case of one pair.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CaseRecord {
    /// Number of the block in the plan.
    pub block: u32,
    /// Number of the round.
    pub round: u32,
    /// What the round is for.
    pub pass: Pass,
    /// Name of the scenario.
    pub scenario: String,
    /// Message or transfer size.
    pub size_bytes: u64,
    /// Name of the arm.
    pub arm: String,
    /// Place of the arm in the order of its block, from 0.
    pub position: u32,
    /// Rank of the initiator.
    pub initiator: u32,
    /// Rank of the target.
    pub target: u32,
    /// When the case was begun, in nanoseconds since the stream was.
    pub started_nanos: u64,
    /// What came of it.
    pub result: CaseResult,
}

/// What came of a case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum CaseResult {
    /// Times were taken.
    Measured(Box<Measurement>),
    /// Bytes were checked.
    Checked(IntegrityReport),
    /// Neither.
    Failed(CaseFailure),
}

/// What both sides did in the measured window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Measurement {
    /// The side that posts first.
    pub initiator: SideReport,
    /// The side that is addressed.
    pub target: SideReport,
}

/// What one side did in the measured window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SideReport {
    /// Length of the measured window on this side's clock.
    pub window_nanos: u64,
    /// CPU time of the instrument process in the window, user and system, all threads.
    pub cpu_nanos: u64,
    /// Times the instrument gave its processor up in the window.
    pub voluntary_switches: u64,
    /// Times its processor was taken away in the window.
    pub involuntary_switches: u64,
    /// Pinned threads that were seen on another processor in the window.
    pub migrations: u64,
    /// Time the control group was throttled in the window; nothing where the kernel does not show it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttled_nanos: Option<u64>,
    /// Whether the frequency governor changed in the window.
    pub governor_changed: bool,
    /// What this side posted; nothing where it was only addressed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub posted: Option<Posted>,
    /// What the interfaces of the rails counted around the window.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interfaces: Vec<InterfaceDelta>,
}

/// What one side posted in the measured window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Posted {
    /// Completed round trips or transfers.
    pub operations: u64,
    /// Payload bytes of these, one way.
    pub payload_bytes: u64,
    /// First post to last completion.
    pub elapsed_nanos: u64,
    /// Latency of each operation: half a round trip for ping-pong, post to completion for transfers.
    pub latency: Histogram,
    /// Smallest latency, exactly; the histogram rounds.
    pub min_nanos: u64,
    /// Largest latency, exactly.
    pub max_nanos: u64,
    /// Percentiles of the raw samples, where the samples were kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exclusive_quantiles: Option<ExclusiveQuantiles>,
    /// How it was posted.
    pub counters: PostingCounters,
}

/// Percentiles of raw samples by exclusive interpolation, (n+1)p: what `statistics.quantiles` of Python computes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ExclusiveQuantiles {
    /// Median in nanoseconds.
    pub p50_nanos: f64,
    /// `quantiles(n=20)[18]` in nanoseconds.
    pub p95_nanos: f64,
    /// `quantiles(n=100)[98]` in nanoseconds.
    pub p99_nanos: f64,
}

/// How one side posted in the measured window.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PostingCounters {
    /// Chunks posted.
    pub posts: u64,
    /// Of these, by an inject call that the provider accepted.
    pub injected: u64,
    /// Of these, above the limit of the arm or the provider, and so not injected.
    pub over_limit: u64,
    /// Inject calls the provider refused.
    pub refused: u64,
    /// Smaller of the arm's and the provider's inject limit for this operation; nothing where the arm injects nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inject_limit_bytes: Option<u64>,
    /// Posts with FI_MORE.
    pub more: u64,
    /// Posts without it: doorbells as far as the application asks for them.
    pub app_doorbells: u64,
    /// Most posts on one rail in one burst.
    pub posts_per_burst: u64,
    /// Posts the provider answered with EAGAIN.
    pub again: u64,
    /// Completions of own posts that the completion queues delivered.
    pub completions: u64,
    /// Rails that the striping rule gives a transfer.
    pub rails_planned: u64,
    /// Rails that carried bytes.
    pub rails_used: u64,
    /// Payload bytes posted on each rail.
    pub bytes_per_rail: Vec<u64>,
    /// Chunks posted on each rail.
    pub posts_per_rail: Vec<u64>,
}

impl PostingCounters {
    /// Adds what was counted elsewhere with the same arm: counts are summed, plans and limits agree or the nearest holds.
    /// Allocates only where `other` has more rails.
    pub fn merge(&mut self, other: &Self) {
        // Named one by one, so that a new counter cannot be forgotten here.
        let Self {
            posts,
            injected,
            over_limit,
            refused,
            inject_limit_bytes,
            more,
            app_doorbells,
            posts_per_burst,
            again,
            completions,
            rails_planned,
            rails_used,
            bytes_per_rail,
            posts_per_rail,
        } = other;
        self.posts += posts;
        self.injected += injected;
        self.over_limit += over_limit;
        self.refused += refused;
        self.inject_limit_bytes = match (self.inject_limit_bytes, *inject_limit_bytes) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        self.more += more;
        self.app_doorbells += app_doorbells;
        self.posts_per_burst = self.posts_per_burst.max(*posts_per_burst);
        self.again += again;
        self.completions += completions;
        self.rails_planned = self.rails_planned.max(*rails_planned);
        self.rails_used = self.rails_used.max(*rails_used);
        add_each(&mut self.bytes_per_rail, bytes_per_rail);
        add_each(&mut self.posts_per_rail, posts_per_rail);
    }
}

fn add_each(sum: &mut Vec<u64>, other: &[u64]) {
    sum.resize(sum.len().max(other.len()), 0);
    sum.iter_mut().zip(other).for_each(|(sum, other)| *sum += other);
}

/// What an interface counted around the measured window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct InterfaceDelta {
    /// Name of the network interface or RDMA device.
    pub name: String,
    /// Rails that use it.
    pub rails: Vec<u32>,
    /// Bytes it sent.
    pub tx_bytes: u64,
    /// Bytes it received.
    pub rx_bytes: u64,
    /// Retransmitted packets, where it counts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retransmits: Option<u64>,
    /// Time between the two readings; longer than the window, for they are taken outside it.
    pub interval_nanos: u64,
    /// Rate of the link, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line_bits_per_second: Option<u64>,
}

/// What an integrity pass found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct IntegrityReport {
    /// Transfers checked.
    pub transfers: u64,
    /// Bytes checked; every byte of every transfer.
    pub bytes: u64,
    /// CRC32C over all checked bytes as they should be, in hexadecimal.
    pub crc32c_expected: String,
    /// CRC32C over all checked bytes as they were found.
    pub crc32c_found: String,
    /// The first bad byte.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_mismatch: Option<Mismatch>,
    /// Chunks of striped transfers that were partly or not written when the transfer counted as complete.
    pub torn_chunks: u64,
    /// Chunks that arrived more than once.
    pub duplicated_chunks: u64,
}

/// A byte that is not what it should be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Mismatch {
    /// Number of the transfer, from 0.
    pub transfer: u64,
    /// Offset in the transfer.
    pub offset_bytes: u64,
    /// What it should be.
    pub expected: u8,
    /// What it is.
    pub found: u8,
}

/// Why a case, an arm or a leg could not be measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CaseFailure {
    /// What kind.
    pub reason: FailureReason,
    /// In words, with what to do; at most 4 KiB.
    pub message: String,
}

/// Kinds of failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
pub enum FailureReason {
    /// The assignment cannot be read or contradicts itself.
    InvalidAssignment,
    /// This runner was built without the transport.
    NotCompiled,
    /// The library is not there, or not where the variant says.
    LibraryNotFound,
    /// The library is there and finds no device for the provider.
    NoDevice,
    /// The library returned another provider, fabric or number of rails than was asked for.
    ProviderMismatch,
    /// The library refused an operation that the scenario needs.
    Refused,
    /// Memory of the kind cannot be had.
    MemoryUnavailable,
    /// What the image says of itself contradicts the variant.
    VariantMismatch,
    /// A worker did not come to the rendezvous in time.
    WorkerMissing,
    /// Someone at the rendezvous who does not belong to this attempt was refused.
    UnknownPeerRefused,
    /// The peer cannot be reached over the fabric.
    FabricUnreachable,
    /// The peer died.
    PeerLost,
    /// The case took longer than its deadline.
    DeadlineExceeded,
    /// A post failed.
    PostFailed,
    /// A completion reported an error.
    CompletionFailed,
    /// The run was told to stop.
    Interrupted,
    /// The instrument broke: this is ours.
    Internal,
}
