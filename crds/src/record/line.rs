//! Lines of the record stream: framing and chained digest. Performs no I/O.

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use sha2::{Digest, Sha256};
use snafu::{ResultExt, Snafu, ensure};

use super::Record;
use crate::deserialization::{Unreadable, from_json};

/// Maximum length of a line including its newline, in bytes.
pub const MAX_LINE_BYTES: usize = 16 * 1024;

/// Error reading or formatting a line of the stream.
#[derive(Debug, Snafu)]
pub enum LineError {
    /// The line is too long.
    #[snafu(display("line {seq} is {length} bytes long; the maximum is {MAX_LINE_BYTES}"))]
    TooLong {
        /// Expected sequence number.
        seq: u64,
        /// Length of the line, in bytes.
        length: usize,
    },
    /// The line is not a valid record.
    #[snafu(display("line {seq} cannot be read: {source}"))]
    Syntax {
        /// Expected sequence number.
        seq: u64,
        /// The field that cannot be read, and the cause.
        source: Unreadable,
    },
    /// Lines are missing, duplicated or reordered.
    #[snafu(display(
        "expected line {expected}, but found line {found}: lines are missing, duplicated or reordered"
    ))]
    Sequence {
        /// Expected sequence number.
        expected: u64,
        /// Sequence number of the line.
        found: u64,
    },
    /// The digest does not match the line and the lines before it.
    #[snafu(display("line {seq} does not match its chained digest: the stream was modified"))]
    Chain {
        /// Sequence number of the line.
        seq: u64,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    seq: u64,
    chain: String,
    record: Box<RawValue>,
}

/// A line whose record may be any JSON value.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "only the error of reading it is used")]
struct ReadableLine {
    seq: u64,
    chain: String,
    record: Value,
}

/// Why a text that the JSON parser rejects is not a `T`, in words without those of the parser. The text is read again, so
/// that the many lines without an error are read at full speed.
fn unreadable<T: DeserializeOwned>(text: &str) -> Unreadable {
    match from_json::<T>(text) {
        Err(error) => error,
        Ok(_) => Unreadable::custom("the text is not a record"),
    }
}

/// Position in a stream: the number of lines read and their digest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chain {
    next: u64,
    digest: [u8; 32],
}

impl Chain {
    /// Sequence number of the next line.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Digest of all lines so far, in hexadecimal.
    pub fn digest(&self) -> String {
        hex(&self.digest)
    }

    /// Reads the next line and advances the position.
    ///
    /// # Errors
    /// Returns an error if the line is too long, is not a record, is out of sequence, or does not match the digest. On
    /// error, the position does not change.
    pub fn read(&mut self, line: &str) -> Result<Record, LineError> {
        let seq = self.next;
        ensure!(
            line.len() < MAX_LINE_BYTES,
            TooLongSnafu {
                seq,
                length: line.len()
            }
        );
        let parsed: Line = serde_json::from_str(line)
            .map_err(|_| unreadable::<ReadableLine>(line))
            .context(SyntaxSnafu { seq })?;
        ensure!(
            parsed.seq == seq,
            SequenceSnafu {
                expected: seq,
                found: parsed.seq
            }
        );
        let digest = self.next_digest(parsed.record.get());
        ensure!(parsed.chain == hex(&digest), ChainSnafu { seq });
        let record = serde_json::from_str(parsed.record.get())
            .map_err(|_| unreadable::<Record>(parsed.record.get()).in_field("record"))
            .context(SyntaxSnafu { seq })?;
        *self = Self {
            next: seq + 1,
            digest,
        };
        Ok(record)
    }

    fn next_digest(&self, record: &str) -> [u8; 32] {
        let mut hasher = Sha256::new();
        hasher.update(self.digest);
        hasher.update(self.next.to_be_bytes());
        hasher.update(record.as_bytes());
        hasher.finalize().into()
    }
}

/// Formats records as stream lines.
#[derive(Debug, Default)]
pub struct ChainWriter {
    chain: Chain,
}

impl ChainWriter {
    /// Formats `record` as a line, including its newline.
    ///
    /// # Errors
    /// Returns an error if the record cannot be serialized, or the line is too long. On error, the stream does
    /// not change, and another record can be written.
    pub fn line(&mut self, record: &Record) -> Result<String, LineError> {
        let seq = self.chain.next;
        let raw = to_raw_value(record)
            .map_err(Unreadable::custom)
            .context(SyntaxSnafu { seq })?;
        let digest = self.chain.next_digest(raw.get());
        let line = Line {
            seq,
            chain: hex(&digest),
            record: raw,
        };
        let mut text = serde_json::to_string(&line)
            .map_err(Unreadable::custom)
            .context(SyntaxSnafu { seq })?;
        text.push('\n');
        ensure!(
            text.len() <= MAX_LINE_BYTES,
            TooLongSnafu {
                seq,
                length: text.len()
            }
        );
        self.chain = Chain {
            next: seq + 1,
            digest,
        };
        Ok(text)
    }

    /// Position after the last line.
    pub fn chain(&self) -> &Chain {
        &self.chain
    }
}

/// Formats a digest in hexadecimal, as used in records and statuses.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::record::{BlockRecord, EndRecord};

    fn stream(blocks: u32) -> Vec<String> {
        let mut writer = ChainWriter::default();
        let records = (0..blocks).map(|block| Record::Block(BlockRecord { block, cases: 2 }));
        let end = Record::End(EndRecord {
            blocks,
            complete: true,
            failure: None,
        });
        records
            .chain([end])
            .map(|record| writer.line(&record).unwrap())
            .collect()
    }

    fn read(lines: &[String]) -> (usize, Option<LineError>) {
        let mut chain = Chain::default();
        for (count, line) in lines.iter().enumerate() {
            if let Err(error) = chain.read(line.trim_end()) {
                return (count, Some(error));
            }
        }
        (lines.len(), None)
    }

    #[test]
    fn an_unreadable_line_is_described_without_words_of_the_parser() {
        for (line, expected) in [
            ("{\"seq\":", "line 0 cannot be read: the text ends before"),
            (
                "seq",
                "line 0 cannot be read: the text is not valid JSON at line 1, column 1",
            ),
            (
                "{\"seq\":\"0\"}",
                "line 0 cannot be read: seq: \"0\" is not valid here; use",
            ),
            ("{\"seq\":0}", "line 0 cannot be read: chain: is missing"),
        ] {
            let error = Chain::default().read(line).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
        let record = "{\"kind\":\"block\",\"block\":true}";
        let chain = hex(&Chain::default().next_digest(record));
        let line = format!("{{\"seq\":0,\"chain\":\"{chain}\",\"record\":{record}}}");
        let error = Chain::default().read(&line).unwrap_err().to_string();
        assert!(error.starts_with("line 0 cannot be read: record"), "{error}");
    }

    #[test]
    fn reads_a_complete_stream() {
        assert!(matches!(read(&stream(5)), (6, None)));
    }

    #[test]
    fn reads_a_reordered_stream_up_to_the_swap() {
        let mut lines = stream(5);
        lines.swap(2, 3);
        assert!(matches!(
            read(&lines),
            (
                2,
                Some(LineError::Sequence {
                    expected: 2,
                    found: 3
                })
            )
        ));
    }

    #[test]
    fn detects_an_edited_line() {
        let mut lines = stream(5);
        lines[3] = lines[3].replace("\"cases\":2", "\"cases\":3");
        assert!(matches!(read(&lines), (3, Some(LineError::Chain { seq: 3 }))));
    }

    #[test]
    fn detects_a_line_from_another_stream() {
        let mut lines = stream(5);
        let mut other = ChainWriter::default();
        for block in 10..14 {
            lines[3] = other
                .line(&Record::Block(BlockRecord { block, cases: 1 }))
                .unwrap();
        }
        assert!(matches!(read(&lines), (3, Some(LineError::Chain { seq: 3 }))));
    }

    proptest! {
        #[test]
        fn reads_every_prefix_and_detects_every_truncated_line(blocks in 1u32..20, cut in 0usize..4000) {
            let text = stream(blocks).concat();
            let cut = cut.min(text.len());
            let (lines, rest) = text[..cut].rsplit_once('\n').map_or(("", &text[..cut]), |(lines, rest)| (lines, rest));
            let mut chain = Chain::default();
            for line in lines.lines() {
                prop_assert!(chain.read(line).is_ok());
            }
            // A last line that lacks only its newline is complete.
            let whole = text[cut..].starts_with('\n') || rest.is_empty();
            prop_assert_eq!(chain.read(rest).is_ok(), whole && !rest.is_empty());
        }

        #[test]
        fn reading_never_panics(text: String) {
            let _ = Chain::default().read(&text);
        }
    }
}
