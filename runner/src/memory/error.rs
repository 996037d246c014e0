//! Errors that occur when memory is allocated or accessed. Performs no I/O.

use crds::record::{CaseFailure, FailureReason};
use crds::v1alpha1::MemoryKind;
use snafu::Snafu;

/// Failure to allocate or access memory.
#[derive(Clone, Debug, Snafu, PartialEq, Eq)]
#[snafu(visibility(pub(super)))]
pub enum MemoryError {
    /// The requested size is 0.
    #[snafu(display("cannot allocate 0 bytes of {kind:?} memory: request at least 1 byte"))]
    Empty {
        /// Requested kind.
        kind: MemoryKind,
    },
    /// The kind or size is not available on this machine.
    #[snafu(display("cannot provide {}{kind:?} memory: {message}", amount(*bytes)))]
    Unavailable {
        /// Requested kind.
        kind: MemoryKind,
        /// Requested size in bytes; 0 if none can be had of any size.
        bytes: usize,
        /// Cause and fix.
        message: String,
    },
    /// The machine or the cgroup has less memory available than is needed.
    #[snafu(display(
        "{purpose} need {:.1} MiB, but {limit} has only {:.1} MiB available; give the worker more memory, or use \
         smaller sizes, a smaller window or fewer processes",
        mebibytes(*needed),
        mebibytes(*available)
    ))]
    NotEnough {
        /// Purpose of the memory, a plural noun.
        purpose: String,
        /// Needed size in bytes.
        needed: u64,
        /// Machine or cgroup that limits the memory.
        limit: &'static str,
        /// Available size in bytes.
        available: u64,
    },
    /// The GPU has less memory available than is needed.
    #[snafu(display(
        "cannot provide {bytes} bytes of GPU memory: {message}; use smaller sizes, fewer processes, or a GPU with more \
         memory"
    ))]
    NotEnoughOnGpu {
        /// Requested size in bytes.
        bytes: usize,
        /// Driver function that failed, and its error.
        message: String,
    },
    /// The GPU driver failed before any memory was requested.
    #[snafu(display(
        "the CUDA driver failed: {call} returned {message}; nvidia-smi shows whether the driver and the GPUs work"
    ))]
    Driver {
        /// Driver function that failed.
        call: &'static str,
        /// Error that it returned.
        message: String,
    },
    /// The requested range extends beyond the memory.
    #[snafu(display("{count} bytes at offset {offset} are outside the {length} bytes that can be copied"))]
    OutOfRange {
        /// Offset of the first requested byte.
        offset: usize,
        /// Number of requested bytes.
        count: usize,
        /// Memory length in bytes.
        length: usize,
    },
    /// The GPU driver failed to copy or fill memory.
    #[snafu(display("the GPU driver failed to {action}: {message}"))]
    Copy {
        /// Action that failed.
        action: &'static str,
        /// Driver function that failed, and its error.
        message: String,
    },
}

/// The number of bytes, for a message; empty for 0, which stands for any number.
fn amount(bytes: usize) -> String {
    match bytes {
        0 => String::new(),
        _ => format!("{bytes} bytes of "),
    }
}

fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

impl MemoryError {
    /// Failure reason that is recorded for this error.
    pub fn reason(&self) -> FailureReason {
        match self {
            Self::Unavailable { .. } | Self::Driver { .. } => FailureReason::MemoryUnavailable,
            Self::NotEnough { .. } | Self::NotEnoughOnGpu { .. } => FailureReason::NotEnoughMemory,
            Self::Empty { .. } | Self::OutOfRange { .. } => FailureReason::Internal,
            Self::Copy { .. } => FailureReason::OperationRejected,
        }
    }
}

impl From<MemoryError> for CaseFailure {
    fn from(error: MemoryError) -> Self {
        Self {
            reason: error.reason(),
            message: error.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_no_size_can_be_had_of_is_reported_without_a_size() {
        let message = |bytes| {
            let error = MemoryError::Unavailable {
                kind: MemoryKind::Cuda,
                bytes,
                message: "no CUDA driver".into(),
            };
            error.to_string()
        };
        assert_eq!(message(0), "cannot provide Cuda memory: no CUDA driver");
        assert_eq!(
            message(8),
            "cannot provide 8 bytes of Cuda memory: no CUDA driver"
        );
    }
}
