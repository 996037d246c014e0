//! Why memory cannot be had or used. Does no I/O.

use crds::record::FailureReason;
use crds::v1alpha1::MemoryKind;
use snafu::Snafu;

/// Why memory cannot be had or used.
#[derive(Clone, Debug, Snafu, PartialEq, Eq)]
#[snafu(visibility(pub(super)))]
pub enum MemoryError {
    /// Nothing was asked for.
    #[snafu(display("0 bytes of {kind:?} memory were asked for: at least 1 is needed"))]
    Empty {
        /// Kind asked for.
        kind: MemoryKind,
    },
    /// This kind cannot be had here in this size.
    #[snafu(display("{bytes} bytes of {kind:?} memory cannot be had: {message}"))]
    Unavailable {
        /// Kind asked for.
        kind: MemoryKind,
        /// Bytes asked for.
        bytes: usize,
        /// The cause and what to do.
        message: String,
    },
    /// The bytes are not in the memory.
    #[snafu(display("{count} bytes at offset {offset} are outside the {length} bytes that can be copied"))]
    OutOfRange {
        /// First byte wanted.
        offset: usize,
        /// Bytes wanted.
        count: usize,
        /// Bytes there are.
        length: usize,
    },
    /// The GPU's driver refuses a copy.
    #[snafu(display("the GPU's driver refuses to {action}: {message}"))]
    Copy {
        /// What was tried.
        action: &'static str,
        /// Name and text of the driver's error.
        message: String,
    },
}

impl MemoryError {
    /// What kind of failure it is in a record.
    pub fn reason(&self) -> FailureReason {
        match self {
            Self::Unavailable { .. } => FailureReason::MemoryUnavailable,
            Self::Empty { .. } | Self::OutOfRange { .. } => FailureReason::Internal,
            Self::Copy { .. } => FailureReason::Refused,
        }
    }
}
