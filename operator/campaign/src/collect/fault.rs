//! Why a part of the input does not count.

use std::fmt;

use crds::record::{LineError, MAX_LINE_BYTES, MAX_STREAM_BYTES, RECORD_VERSION};
use snafu::Snafu;

/// Something in the input that does not count, and where.
#[derive(Debug, Clone)]
pub struct Fault {
    /// Line of the input, from 1.
    pub line: u64,
    /// Leg and attempt of the stream it is in, where that is known.
    pub stream: Option<(u32, u32)>,
    /// What is wrong.
    pub kind: FaultKind,
    /// Lines after it that were passed over, because they cannot prove themselves without it.
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
            1 => f.write_str("; it and the line after it do not count"),
            skipped => write!(f, "; it and {skipped} lines after it do not count"),
        }
    }
}

/// What is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Snafu)]
pub enum FaultKind {
    /// The line does not continue its stream: cut, re-ordered, edited, too long or no record.
    #[snafu(display("{reason}"))]
    Broken {
        /// What the reader of the line says.
        reason: String,
    },
    /// The line is not UTF-8.
    #[snafu(display("is not UTF-8 text"))]
    NotText,
    /// The last line has no end.
    #[snafu(display("the last line is cut off after {bytes} bytes"))]
    CutOff {
        /// Its length in bytes.
        bytes: usize,
    },
    /// The stream is longer than the plan allows.
    #[snafu(display("the stream is longer than {MAX_STREAM_BYTES} bytes"))]
    StreamTooLong,
    /// The stream belongs to something else.
    #[snafu(display("{why}"))]
    Refused {
        /// To what.
        why: RefusedStream,
    },
    /// A record that has no place here.
    #[snafu(display("{reason}"))]
    Misplaced {
        /// What and why.
        reason: String,
    },
    /// The block does not count.
    #[snafu(display("block {block} does not count: {why}"))]
    Block {
        /// Number of the block.
        block: u32,
        /// Why.
        why: BlockFault,
    },
}

impl From<LineError> for FaultKind {
    /// Without the number of the line in its stream: the fault has that in its file, which is where it is looked up.
    fn from(error: LineError) -> Self {
        let reason = match error {
            LineError::TooLong { length, .. } => {
                format!("it has {length} bytes or more, and no line has more than {MAX_LINE_BYTES}")
            }
            LineError::Syntax { source, .. } => format!("it cannot be read: {source}"),
            LineError::Sequence { expected, found } => format!(
                "lines before it are missing, doubled or re-ordered (its \"seq\" is {found}, {expected} should follow)"
            ),
            LineError::Chain { .. } => {
                "it does not fit the lines before it (chained digest differs): the stream was changed"
                    .to_owned()
            }
        };
        Self::Broken { reason }
    }
}

/// Why a whole stream does not count.
#[derive(Debug, Clone, PartialEq, Eq, Snafu)]
pub enum RefusedStream {
    /// Written by another version of the runner.
    #[snafu(display("the stream has record version {found}, this program reads version {RECORD_VERSION}"))]
    Version {
        /// Its version.
        found: u32,
    },
    /// Of another run.
    #[snafu(display("the stream is of the run with UID {found}, expected {expected}"))]
    OtherRun {
        /// UID in the stream.
        found: String,
        /// UID of the run.
        expected: String,
    },
    /// Of another plan.
    #[snafu(display(
        "the stream is of the plan {found}, expected {expected}: the spec was changed in between"
    ))]
    OtherPlan {
        /// Hash in the stream.
        found: String,
        /// Hash of the plan.
        expected: String,
    },
    /// Of a leg that the plan does not have.
    #[snafu(display("the stream is of leg {leg}, which the plan does not have"))]
    UnknownLeg {
        /// Number in the stream.
        leg: u32,
    },
    /// Another stream of the same attempt, with other content.
    #[snafu(display("another stream of leg {leg}, attempt {attempt} came before, with other lines"))]
    AttemptTwice {
        /// Number of the leg.
        leg: u32,
        /// Number of the attempt.
        attempt: u32,
    },
}

/// Why a block does not count.
#[derive(Debug, Clone, PartialEq, Eq, Snafu)]
pub enum BlockFault {
    /// The plan gives it to another leg, or does not have it.
    #[snafu(display("the plan does not have it in this leg"))]
    Unknown,
    /// Its cases are not all there.
    #[snafu(display("its end names {claimed} cases, {found} came"))]
    Count {
        /// As the `block` record says.
        claimed: u32,
        /// Case records of it.
        found: usize,
    },
    /// A case that says something else than the plan.
    #[snafu(display("a case contradicts the plan: {reason}"))]
    Contradiction {
        /// What differs.
        reason: String,
    },
    /// An arm without a case.
    #[snafu(display("the arm \"{arm}\" has no case"))]
    ArmMissing {
        /// Its name.
        arm: String,
    },
}
