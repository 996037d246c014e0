//! Faults: rejected parts of the input.

use std::fmt;

use crds::record::{LineError, MAX_LINE_BYTES, MAX_STREAM_BYTES, RECORD_VERSION};
use snafu::Snafu;

/// A rejected part of the input.
#[derive(Debug, Clone)]
pub struct Fault {
    /// Line number in the input, starting at 1.
    pub line: u64,
    /// Leg and attempt of the stream, if known.
    pub stream: Option<(u32, u32)>,
    /// Kind of fault.
    pub kind: FaultKind,
    /// Number of subsequent lines that are skipped because they cannot be verified without this one.
    pub lines_skipped: u64,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "records, line {}", self.line)?;
        if let Some((leg, attempt)) = self.stream {
            write!(f, " (leg {leg}, attempt {attempt})")?;
        }
        write!(f, ": {}", self.kind)?;
        match self.lines_skipped {
            0 => Ok(()),
            1 => f.write_str("; this line and the next line are ignored"),
            skipped => write!(f, "; this line and the next {skipped} lines are ignored"),
        }
    }
}

/// Kind of fault.
#[derive(Debug, Clone, PartialEq, Eq, Snafu)]
pub enum FaultKind {
    /// The line does not continue its stream: it is truncated, reordered, modified, too long or not a record.
    #[snafu(display("{reason}"))]
    Broken {
        /// Message from the line parser.
        reason: String,
    },
    /// The line is not UTF-8.
    #[snafu(display("the line is not UTF-8 text"))]
    NotText,
    /// The last line is incomplete.
    #[snafu(display("the last line is truncated after {bytes} bytes"))]
    Truncated {
        /// Length in bytes.
        bytes: usize,
    },
    /// The stream is longer than [`MAX_STREAM_BYTES`].
    #[snafu(display("the stream is longer than {MAX_STREAM_BYTES} bytes"))]
    StreamTooLong,
    /// The whole stream is rejected.
    #[snafu(display("{why}"))]
    Refused {
        /// Reason for the rejection.
        why: RefusedStream,
    },
    /// The record is not allowed at this position.
    #[snafu(display("{reason}"))]
    Misplaced {
        /// Description of the record and of why it is not allowed.
        reason: String,
    },
    /// The block is rejected.
    #[snafu(display("block {block} is rejected: {why}"))]
    Block {
        /// Block number.
        block: u32,
        /// Reason for the rejection.
        why: BlockFault,
    },
}

impl From<LineError> for FaultKind {
    /// Omits the error's line number, which is counted from the start of the stream, because the fault reports the line
    /// number in the input.
    fn from(error: LineError) -> Self {
        let reason = match error {
            LineError::TooLong { length, .. } => {
                format!("the line is at least {length} bytes long; the maximum is {MAX_LINE_BYTES}")
            }
            LineError::Syntax { source, .. } => format!("the line cannot be read: {source}"),
            LineError::Sequence { expected, found } => format!(
                "previous lines are missing, duplicated or reordered (\"seq\" is {found}, expected {expected})"
            ),
            LineError::Chain { .. } => {
                "the line does not match the previous lines (chained digest differs): the stream was changed"
                    .to_owned()
            }
        };
        Self::Broken { reason }
    }
}

/// Reason for rejecting a whole stream.
#[derive(Debug, Clone, PartialEq, Eq, Snafu)]
pub enum RefusedStream {
    /// The stream has a record version that this binary does not support.
    #[snafu(display("the stream has record version {found}; this binary reads version {RECORD_VERSION}"))]
    Version {
        /// Version of the stream.
        found: u32,
    },
    /// The stream belongs to another run.
    #[snafu(display("the stream belongs to the run with UID {found}, expected {expected}"))]
    OtherRun {
        /// UID in the stream.
        found: String,
        /// UID of the run.
        expected: String,
    },
    /// The stream belongs to another plan.
    #[snafu(display("the stream belongs to plan {found}, expected {expected}: the spec has changed"))]
    OtherPlan {
        /// Hash in the stream.
        found: String,
        /// Hash of the plan.
        expected: String,
    },
    /// The stream belongs to a leg that the plan does not contain.
    #[snafu(display("the stream belongs to leg {leg}, which the plan does not contain"))]
    UnknownLeg {
        /// Leg number in the stream.
        leg: u32,
    },
    /// An earlier stream of the same attempt has different content.
    #[snafu(display("an earlier stream of leg {leg}, attempt {attempt} has different lines"))]
    ConflictingAttempt {
        /// Leg number.
        leg: u32,
        /// Attempt number.
        attempt: u32,
    },
}

/// Reason for rejecting a block.
#[derive(Debug, Clone, PartialEq, Eq, Snafu)]
pub enum BlockFault {
    /// The plan assigns the block to another leg or does not contain it.
    #[snafu(display("the plan does not contain this block in this leg"))]
    Unknown,
    /// The number of case records differs from the number in the `block` record.
    #[snafu(display("its block record claims {claimed} cases, but there are {found}"))]
    Count {
        /// Number of cases that the `block` record claims.
        claimed: u32,
        /// Number of case records.
        found: usize,
    },
    /// A case does not match the plan.
    #[snafu(display("a case does not match the plan: {reason}"))]
    Contradiction {
        /// Description of the difference.
        reason: String,
    },
    /// An arm has no case in the block.
    #[snafu(display("the arm \"{arm}\" has no case"))]
    ArmMissing {
        /// Name of the arm.
        arm: String,
    },
}
