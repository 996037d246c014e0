//! The coordinator's record stream: one line per record, flushed after each record. Performs I/O on the given stream.
//!
//! The length of a line is limited to [`crds::record::MAX_LINE_BYTES`]. Longer records are shortened and marked, and a
//! warning is written.

mod shorten;

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Write};
use std::time::Instant;

use crds::record::{ChainWriter, LineError, Record, WarningReason, WarningRecord};
use snafu::{ResultExt, Snafu};

pub use shorten::bounded;

/// Maximum length of a failure or warning message, in bytes.
pub const MAX_MESSAGE_BYTES: usize = 4 * 1024;
/// Maximum total length of all warnings in a stream, in bytes. Without this limit, a library that prints in every round
/// could fill the stream, which is limited to 8 MiB. 1 MiB is low enough to leave room for the other records if their
/// size matches the planner's estimate.
const MAX_WARNINGS_BYTES: usize = 1024 * 1024;

/// Error that occurred while writing a record.
#[derive(Debug, Snafu)]
pub enum OutputError {
    /// Standard output was closed, or writing to it failed.
    #[snafu(display("cannot write the record stream to standard output: {source}"))]
    Closed {
        /// Error returned by the system call.
        source: io::Error,
    },
    /// A record cannot be shortened to the line limit, or cannot be serialized.
    #[snafu(display("cannot encode a record: {source}"))]
    Encode {
        /// Error returned by the encoder.
        source: LineError,
    },
}

/// Writes the records of one attempt.
#[derive(Debug)]
pub struct RecordWriter<W> {
    out: W,
    chain: ChainWriter,
    start: Instant,
    /// Hashes of the warnings written so far.
    warned: HashSet<u64>,
    warnings_bytes: usize,
}

impl<W: Write> RecordWriter<W> {
    /// Creates a stream whose clock starts now.
    pub fn new(out: W) -> Self {
        Self {
            out,
            chain: ChainWriter::default(),
            start: Instant::now(),
            warned: HashSet::new(),
            warnings_bytes: 0,
        }
    }

    /// Nanoseconds since the start of the stream.
    pub fn elapsed_nanos(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// Writes one record, and a warning for each reduction that was needed to shorten it.
    ///
    /// # Errors
    /// Returns an error if standard output is closed, or the record cannot be shortened to the line limit.
    pub fn write(&mut self, mut record: Record) -> Result<(), OutputError> {
        shorten::shorten_messages(&mut record);
        let (line, reductions) =
            shorten::encode_within_limit(&mut self.chain, record).context(EncodeSnafu)?;
        self.out.write_all(line.as_bytes()).context(ClosedSnafu)?;
        self.out.flush().context(ClosedSnafu)?;
        for reduction in reductions {
            self.warn(None, WarningReason::Limit, &reduction)?;
        }
        Ok(())
    }

    /// Writes a warning, unless the stream already contains the same warning.
    ///
    /// When the warnings reach their limit, a final warning reports that further warnings are omitted.
    ///
    /// # Errors
    /// Returns the errors of [`RecordWriter::write`].
    pub fn warn(
        &mut self,
        rank: Option<u32>,
        reason: WarningReason,
        message: &str,
    ) -> Result<(), OutputError> {
        let message = bounded(message, MAX_MESSAGE_BYTES);
        let mut hasher = DefaultHasher::new();
        (rank, reason, &message).hash(&mut hasher);
        if self.warnings_bytes >= MAX_WARNINGS_BYTES || !self.warned.insert(hasher.finish()) {
            return Ok(());
        }
        self.warnings_bytes += message.len();
        let warning = WarningRecord {
            rank,
            reason,
            message,
        };
        self.write(Record::Warning(warning))?;
        if self.warnings_bytes < MAX_WARNINGS_BYTES {
            return Ok(());
        }
        self.write(Record::Warning(WarningRecord {
            rank: None,
            reason: WarningReason::Limit,
            message: format!(
                "this attempt's warnings reached the limit of {MAX_WARNINGS_BYTES} bytes; further warnings are \
                 omitted"
            ),
        }))
    }
}

#[cfg(test)]
mod tests {
    use crds::assignment::Pass;
    use crds::record::{CaseFailure, CaseRecord, CaseResult, Chain, FailureReason, IntegrityReport};

    use super::*;

    fn case(result: CaseResult) -> Record {
        Record::Case(Box::new(CaseRecord {
            block: 3,
            round: 1,
            restart: 0,
            pass: Pass::Integrity,
            scenario: "small".into(),
            size_bytes: 64,
            arm: "baseline".into(),
            position: 0,
            initiator: 0,
            target: 1,
            started_nanos: 0,
            span_nanos: None,
            result,
        }))
    }

    fn read(bytes: &[u8]) -> Vec<Record> {
        let mut chain = Chain::default();
        let text = std::str::from_utf8(bytes).unwrap();
        text.lines().map(|line| chain.read(line).unwrap()).collect()
    }

    #[test]
    fn truncates_and_marks_long_messages() {
        let mut stream = RecordWriter::new(Vec::new());
        let message = "\u{1}".repeat(100_000);
        let reason = FailureReason::PeerLost;
        stream
            .write(case(CaseResult::Failed(CaseFailure { reason, message })))
            .unwrap();
        let [Record::Case(record)] = &read(&stream.out)[..] else {
            panic!("expected one case");
        };
        let CaseResult::Failed(failure) = &record.result else {
            panic!("expected a failure");
        };
        assert_eq!(failure.reason, reason);
        assert!(failure.message.len() <= MAX_MESSAGE_BYTES && failure.message.ends_with("bytes omitted]"));
    }

    #[test]
    fn replaces_a_case_above_the_line_limit_with_an_internal_failure() {
        let mut stream = RecordWriter::new(Vec::new());
        let report = IntegrityReport {
            crc32c_found: "f".repeat(20_000),
            ..IntegrityReport::default()
        };
        stream.write(case(CaseResult::Checked(report))).unwrap();
        let [Record::Case(record)] = &read(&stream.out)[..] else {
            panic!("expected one case");
        };
        assert!(
            matches!(&record.result, CaseResult::Failed(failure) if failure.reason == FailureReason::Internal)
        );
        assert_eq!(record.block, 3);
    }

    #[test]
    fn writes_each_warning_once_and_limits_the_total() {
        let mut stream = RecordWriter::new(Vec::new());
        for _ in 0..3 {
            stream.warn(Some(0), WarningReason::Evidence, "the same").unwrap();
        }
        stream.warn(Some(1), WarningReason::Evidence, "the same").unwrap();
        assert_eq!(read(&stream.out).len(), 2);
        for number in 0..400 {
            let message = format!("{number} {}", "x".repeat(4000));
            stream.warn(None, WarningReason::LibraryOutput, &message).unwrap();
        }
        assert!(stream.out.len() < 2 * MAX_WARNINGS_BYTES);
        let Some(Record::Warning(last)) = read(&stream.out).pop() else {
            panic!("expected a warning");
        };
        assert_eq!(last.reason, WarningReason::Limit);
    }

    #[test]
    fn reports_a_closed_standard_output() {
        struct ClosedPipe;
        impl Write for ClosedPipe {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let error = RecordWriter::new(ClosedPipe)
            .warn(None, WarningReason::Limit, "")
            .unwrap_err();
        assert!(matches!(error, OutputError::Closed { .. }));
    }
}
