//! Lines of the stream: framing and the chained digest. Pure.

use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use sha2::{Digest, Sha256};
use snafu::{ResultExt, Snafu, ensure};

use super::Record;

/// Longest line, in bytes, with its newline.
pub const MAX_LINE_BYTES: usize = 16 * 1024;

/// Why a line does not continue the stream.
#[derive(Debug, Snafu)]
pub enum LineError {
    /// Longer than any line of ours.
    #[snafu(display("line {seq} has {length} bytes, more than {MAX_LINE_BYTES}"))]
    TooLong {
        /// Sequence number it should have had.
        seq: u64,
        /// Its length in bytes.
        length: usize,
    },
    /// Not JSON, or no record of ours.
    #[snafu(display("line {seq} cannot be read: {source}"))]
    Syntax {
        /// Sequence number it should have had.
        seq: u64,
        /// What the parser says.
        source: serde_json::Error,
    },
    /// Lines are missing, doubled or in another order.
    #[snafu(display(
        "line {expected} should follow, line {found} does: lines are missing, doubled or re-ordered"
    ))]
    Sequence {
        /// Sequence number it should have had.
        expected: u64,
        /// Its sequence number.
        found: u64,
    },
    /// The digest does not fit the line and those before it.
    #[snafu(display(
        "line {seq} does not fit the lines before it (chained digest differs): the stream was changed"
    ))]
    Chain {
        /// Its sequence number.
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

/// The place in a stream: how many lines came before, and their digest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chain {
    next: u64,
    digest: [u8; 32],
}

impl Chain {
    /// The sequence number of the next line.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// The digest of all lines so far, in hexadecimal.
    pub fn digest(&self) -> String {
        hex(&self.digest)
    }

    /// Reads the line that follows, and moves past it.
    ///
    /// # Errors
    /// When the line is too long, no record, out of sequence or does not fit the digest. The place is then unchanged.
    pub fn read(&mut self, line: &str) -> Result<Record, LineError> {
        let seq = self.next;
        ensure!(
            line.len() < MAX_LINE_BYTES,
            TooLongSnafu {
                seq,
                length: line.len()
            }
        );
        let parsed: Line = serde_json::from_str(line).context(SyntaxSnafu { seq })?;
        ensure!(
            parsed.seq == seq,
            SequenceSnafu {
                expected: seq,
                found: parsed.seq
            }
        );
        let digest = self.digest_with(parsed.record.get());
        ensure!(parsed.chain == hex(&digest), ChainSnafu { seq });
        let record = serde_json::from_str(parsed.record.get()).context(SyntaxSnafu { seq })?;
        *self = Self {
            next: seq + 1,
            digest,
        };
        Ok(record)
    }

    fn digest_with(&self, record: &str) -> [u8; 32] {
        let mut hasher = Sha256::new();
        hasher.update(self.digest);
        hasher.update(self.next.to_be_bytes());
        hasher.update(record.as_bytes());
        hasher.finalize().into()
    }
}

/// Writes the lines of a stream.
#[derive(Debug, Default)]
pub struct ChainWriter {
    chain: Chain,
}

impl ChainWriter {
    /// The line of `record`, with its newline.
    ///
    /// # Errors
    /// When the line would be too long; the stream is then unchanged and another record may be written.
    pub fn line(&mut self, record: &Record) -> Result<String, LineError> {
        let seq = self.chain.next;
        let raw = to_raw_value(record).context(SyntaxSnafu { seq })?;
        let digest = self.chain.digest_with(raw.get());
        let line = Line {
            seq,
            chain: hex(&digest),
            record: raw,
        };
        let mut text = serde_json::to_string(&line).context(SyntaxSnafu { seq })?;
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

    /// The place after the last line.
    pub fn chain(&self) -> &Chain {
        &self.chain
    }
}

/// The bytes of a digest in hexadecimal, as records and statuses carry it.
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
    fn a_whole_stream_reads_back() {
        assert!(matches!(read(&stream(5)), (6, None)));
    }

    #[test]
    fn a_reordered_stream_counts_up_to_the_swap() {
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
    fn an_edited_line_is_seen() {
        let mut lines = stream(5);
        lines[3] = lines[3].replace("\"cases\":2", "\"cases\":3");
        assert!(matches!(read(&lines), (3, Some(LineError::Chain { seq: 3 }))));
    }

    #[test]
    fn a_line_of_another_stream_is_seen() {
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
        fn every_prefix_reads_and_every_cut_line_is_seen(blocks in 1u32..20, cut in 0usize..4000) {
            let text = stream(blocks).concat();
            let cut = cut.min(text.len());
            let (lines, rest) = text[..cut].rsplit_once('\n').map_or(("", &text[..cut]), |(lines, rest)| (lines, rest));
            let mut chain = Chain::default();
            for line in lines.lines() {
                prop_assert!(chain.read(line).is_ok());
            }
            // A line without only its newline is whole.
            let whole = text[cut..].starts_with('\n') || rest.is_empty();
            prop_assert_eq!(chain.read(rest).is_ok(), whole && !rest.is_empty());
        }

        #[test]
        fn no_text_panics(text: String) {
            let _ = Chain::default().read(&text);
        }
    }
}
