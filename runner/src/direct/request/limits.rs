//! Limits on the requests that a server accepts.

use crds::units::Size;
use crds::v1alpha1::MemoryKind;

use super::transport::RequestedTransport;

/// Default maximum message size.
pub const DEFAULT_MAX_BYTES: Size = Size(4 << 30);

/// Limits on the requests that a server accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Accepted scenarios.
    pub accepted: AcceptedScenarios,
    /// The only transport that is accepted. If unset, every transport is accepted.
    pub transport: Option<RequestedTransport>,
}

/// Scenarios that a server accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AcceptedScenarios {
    /// The scenarios of the Starway benchmark suite.
    Suite {
        /// Maximum size of a message.
        max_bytes: Size,
    },
    /// Batches of requests to a target's registered segment.
    Segment(SegmentLimits),
}

/// Pair of fabricbench-runner commands that work together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Roles {
    /// Command that connects and sends the request.
    pub client: &'static str,
    /// Command that listens.
    pub server: &'static str,
}

impl Roles {
    /// The commands of the Starway benchmark suite.
    pub const SUITE: Self = Self {
        client: "connect",
        server: "serve",
    };
    /// The commands for segments.
    pub const SEGMENT: Self = Self {
        client: "initiator",
        server: "target",
    };
}

impl AcceptedScenarios {
    /// The commands that measure these scenarios.
    pub fn roles(&self) -> Roles {
        match self {
            Self::Suite { .. } => Roles::SUITE,
            Self::Segment(_) => Roles::SEGMENT,
        }
    }
}

/// A target's registered segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentLimits {
    /// Name of the segment.
    pub name: String,
    /// Random identifier of the target run, in hexadecimal.
    pub run: String,
    /// Maximum number of bytes that all threads of an initiator may address together. Each side has two areas of this
    /// size.
    pub bytes: u64,
    /// Kind of memory, or of the memory of the first half of the threads if the segment has two kinds.
    pub memory: MemoryKind,
    /// Whether the segment also has GPU memory, for the last half of the threads.
    pub use_vram: bool,
    /// Maximum duration of a session, in seconds.
    pub time_limit_seconds: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            accepted: AcceptedScenarios::Suite {
                max_bytes: DEFAULT_MAX_BYTES,
            },
            transport: None,
        }
    }
}
