//! Splits the bytes of a log into verified lines. Each line is returned once, even if the log is read several times
//! from the start. Performs no I/O.

use crds::record::{Chain, EndRecord, LineError, MAX_LINE_BYTES, MAX_STREAM_BYTES, Record};

use campaign::collect::framing::{Framing, RawLine};

use crate::run_controller::attempt_id::AttemptId;

/// Prefix of every line of a stream.
const LINE_START: &str = "{\"seq\":";

/// The part of a stream that is already persisted when its log is read.
#[derive(Clone, Debug, Default)]
pub(in crate::run_controller) struct ResumePoint {
    /// Number of persisted lines.
    pub(in crate::run_controller) persisted_lines: u64,
}

/// State of one stream.
#[derive(Debug)]
pub(super) struct Stream {
    /// The attempt that the worker belongs to. The worker's image must not report for another one.
    attempt: AttemptId,
    chain: Chain,
    persisted_lines: u64,
    framing: Framing,
    /// Total length of all verified lines, in bytes.
    length: u64,
    /// Verified lines that have not been taken yet.
    buffer: Vec<u8>,
    /// Length, in bytes, of the prefix of `buffer` that ends with the last complete block or with the end record.
    complete: usize,
    end: Option<EndRecord>,
    fault: Option<String>,
}

impl Stream {
    pub(super) fn new(attempt: AttemptId, resume: ResumePoint) -> Self {
        Self {
            attempt,
            chain: Chain::default(),
            persisted_lines: resume.persisted_lines,
            framing: Framing::default(),
            length: 0,
            buffer: Vec::new(),
            complete: 0,
            end: None,
            fault: None,
        }
    }

    /// Restarts at the first byte of the log.
    pub(super) fn restart(&mut self) {
        self.framing = Framing::default();
    }

    /// Processes the next bytes of the log, which may end in the middle of a line.
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        let mut framing = std::mem::take(&mut self.framing);
        framing.feed(bytes, |line| match line {
            _ if self.is_finished() => {}
            RawLine::Whole(line) => self.process_line(line),
            RawLine::TooLong => {
                let seq = self.chain.next();
                self.fault = Some(format!("line {seq} is longer than {MAX_LINE_BYTES} bytes"));
            }
        });
        self.framing = framing;
    }

    fn process_line(&mut self, line: &[u8]) {
        let Ok(text) = std::str::from_utf8(line) else {
            self.fault = Some(format!("line {} is not valid UTF-8", self.chain.next()));
            return;
        };
        // A pod's log mixes stdout and stderr. Lines that are not records are skipped. If a record is damaged and
        // therefore skipped, the sequence number of the next record reveals the gap.
        if !text.starts_with(LINE_START) {
            return;
        }
        let record = match self.chain.read(text) {
            Ok(record) => record,
            // The line was already read over an earlier connection.
            Err(LineError::Sequence { expected, found }) if found < expected => return,
            Err(LineError::Sequence { expected, found }) => {
                self.fault = Some(format!(
                    "the log continues with line {found} instead of line {expected}: the node rotated the log"
                ));
                return;
            }
            Err(error) => {
                self.fault = Some(error.to_string());
                return;
            }
        };
        if matches!(record, Record::Claim(_)) {
            self.fault = Some("the log contains a claim record, which only the operator writes".to_owned());
            return;
        }
        if let Record::Hello(hello) = &record {
            let AttemptId { leg, attempt } = self.attempt;
            let identity = &hello.identity;
            if (identity.leg, identity.attempt) != (leg, attempt) {
                self.fault = Some(format!(
                    "the worker of leg {leg}, attempt {attempt}, reports records of leg {}, attempt {}",
                    identity.leg, identity.attempt
                ));
                return;
            }
        }
        self.length += line.len() as u64 + 1;
        if self.length > MAX_STREAM_BYTES {
            self.fault = Some(format!("the stream is longer than {MAX_STREAM_BYTES} bytes"));
            return;
        }
        if self.chain.next() > self.persisted_lines {
            self.buffer.extend_from_slice(line);
            self.buffer.push(b'\n');
        }
        match record {
            Record::Block(_) => self.complete = self.buffer.len(),
            Record::End(end) => {
                self.complete = self.buffer.len();
                self.end = Some(end);
            }
            _ => {}
        }
    }

    /// Records the end of the log. A stream without an end record is truncated.
    pub(super) fn finish(&mut self) {
        if !self.is_finished() {
            let read = self.chain.next();
            self.fault = Some(format!(
                "the stream is truncated: it ends after {read} lines without an end record"
            ));
        }
    }

    /// Records that the rest of the log cannot be read.
    pub(super) fn fail(&mut self, fault: &str) {
        if !self.is_finished() {
            self.fault = Some(fault.to_owned());
        }
    }

    /// Whether the end record was read or the rest of the stream is unusable.
    pub(super) fn is_finished(&self) -> bool {
        self.end.is_some() || self.fault.is_some()
    }

    pub(super) fn end(&self) -> Option<&EndRecord> {
        self.end.as_ref()
    }

    pub(super) fn fault(&self) -> Option<String> {
        self.fault.clone()
    }

    /// Returns the number of bytes that have not been taken yet.
    pub(super) fn buffered_bytes(&self) -> usize {
        self.buffer.len()
    }

    /// Returns the number of bytes in complete blocks that have not been taken yet.
    pub(super) fn complete_block_bytes(&self) -> usize {
        self.complete
    }

    /// Takes the complete blocks, or every line if `everything` is true. Returns `None` if there are no lines to take.
    pub(super) fn take(&mut self, everything: bool) -> Option<Vec<u8>> {
        let length = if everything {
            self.buffer.len()
        } else {
            self.complete
        };
        self.complete = 0;
        let rest = self.buffer.split_off(length.min(self.buffer.len()));
        let lines = std::mem::replace(&mut self.buffer, rest);
        (!lines.is_empty()).then_some(lines)
    }
}

#[cfg(test)]
mod tests {
    use crds::assignment::AttemptIdentity;
    use crds::record::{
        BlockRecord, ChainWriter, ClaimRecord, HelloRecord, HostEnvironment, RECORD_VERSION, WarningReason,
        WarningRecord,
    };

    use super::*;

    const FIRST: AttemptId = AttemptId { leg: 0, attempt: 1 };

    fn block(block: u32) -> Record {
        Record::Block(BlockRecord { block, cases: 0 })
    }

    fn end() -> Record {
        Record::End(EndRecord {
            blocks: 2,
            complete: true,
            failure: None,
        })
    }

    fn warning() -> Record {
        Record::Warning(WarningRecord {
            rank: None,
            reason: WarningReason::Limit,
            message: "é".to_owned(),
        })
    }

    fn lines(records: &[Record]) -> Vec<u8> {
        let mut writer = ChainWriter::default();
        let lines = records.iter().map(|record| writer.line(record).unwrap());
        lines.collect::<String>().into_bytes()
    }

    #[test]
    fn a_worker_cannot_claim_devices_in_its_log() {
        let claim = Record::Claim(Box::new(ClaimRecord {
            version: 1,
            identity: AttemptIdentity {
                run: "run".to_owned(),
                uid: "uid".to_owned(),
                plan_hash: "hash".to_owned(),
                leg: 0,
                attempt: 1,
            },
            rank: 0,
            group: 0,
            node: None,
            devices: Vec::new(),
            unread: None,
        }));
        for records in [[claim.clone(), end()], [warning(), claim]] {
            let mut stream = Stream::new(FIRST, ResumePoint::default());
            stream.feed(&lines(&records));
            let fault = stream.fault().unwrap();
            assert_eq!(
                fault,
                "the log contains a claim record, which only the operator writes"
            );
            let taken = String::from_utf8(stream.take(true).unwrap_or_default()).unwrap();
            assert!(!taken.contains("claim"), "{taken}");
        }
    }

    #[test]
    fn returns_each_line_once_after_a_reconnect_at_any_byte() {
        let whole = lines(&[warning(), block(0), warning(), block(1), end()]);
        for cut in 0..whole.len() {
            let mut stream = Stream::new(FIRST, ResumePoint::default());
            stream.feed(&whole[..cut]);
            let mut taken = stream.take(false).unwrap_or_default();
            stream.restart();
            stream.feed(&whole);
            taken.extend(stream.take(true).unwrap_or_default());
            assert_eq!(taken, whole, "cut at {cut}");
            assert_eq!((stream.end().is_some(), stream.fault()), (true, None));
        }
    }

    #[test]
    fn skips_persisted_lines_after_a_restart() {
        let whole = lines(&[warning(), block(0), end()]);
        let known = lines(&[warning(), block(0)]).len();
        let mut stream = Stream::new(FIRST, ResumePoint { persisted_lines: 2 });
        stream.feed(&whole);
        assert_eq!(stream.take(true).unwrap(), whole[known..]);
    }

    #[test]
    fn returns_only_complete_blocks_before_the_end() {
        let part = lines(&[warning(), block(0), warning()]);
        let known = lines(&[warning(), block(0)]).len();
        let mut stream = Stream::new(FIRST, ResumePoint::default());
        stream.feed(&part);
        assert_eq!(stream.complete_block_bytes(), known);
        let taken = stream.take(false).unwrap();
        assert_eq!(taken, part[..known]);
        stream.finish();
        assert!(stream.fault().unwrap().contains("after 3 lines"));
        assert_eq!(stream.take(true).unwrap(), part[known..]);
    }

    #[test]
    fn skips_lines_between_records_and_detects_damaged_records() {
        let whole = String::from_utf8(lines(&[warning(), block(0), end()])).unwrap();
        let (first, others) = whole.split_at(whole.find('\n').unwrap() + 1);
        let mut stream = Stream::new(FIRST, ResumePoint::default());
        stream.feed(format!("rank 0: a connection was refused\n{first}\nmore\n{others}").as_bytes());
        assert_eq!((stream.end().is_some(), stream.fault()), (true, None));
        assert_eq!(stream.take(true).unwrap(), whole.as_bytes());
        let mut stream = Stream::new(FIRST, ResumePoint::default());
        stream.feed(format!("prefix{first}{others}").as_bytes());
        assert!(stream.fault().unwrap().contains("line 1 instead of line 0"));
    }

    /// A variant's image could otherwise forge the measurement of another variant's image, whose leg would not be run.
    #[test]
    fn records_of_another_leg_or_attempt_are_refused() {
        let hello = |leg, attempt| {
            Record::Hello(Box::new(HelloRecord {
                version: RECORD_VERSION,
                identity: AttemptIdentity {
                    run: "r".to_owned(),
                    uid: "u".to_owned(),
                    plan_hash: "h".to_owned(),
                    leg,
                    attempt,
                },
                rank: 0,
                workers: 2,
                runner_version: String::new(),
                started_at: String::new(),
                environment: HostEnvironment::default(),
            }))
        };
        for (leg, attempt) in [(1, 1), (0, 2)] {
            let mut stream = Stream::new(FIRST, ResumePoint::default());
            stream.feed(&lines(&[hello(leg, attempt), block(0), end()]));
            let expected =
                format!("the worker of leg 0, attempt 1, reports records of leg {leg}, attempt {attempt}");
            assert_eq!(stream.fault(), Some(expected));
            assert_eq!(
                (stream.take(true), stream.end()),
                (None, None),
                "nothing is persisted"
            );
        }
        let mut stream = Stream::new(FIRST, ResumePoint::default());
        stream.feed(&lines(&[hello(0, 1), block(0), end()]));
        assert_eq!((stream.end().is_some(), stream.fault()), (true, None));
    }

    /// A worker that prints indefinitely, with or without line feeds, uses no more memory than one line.
    #[test]
    fn endless_output_without_records_is_not_kept() {
        let mut stream = Stream::new(FIRST, ResumePoint::default());
        for text in ["noise on standard error\n", "{\"seq\"", "{\"seq\":x"] {
            let piece = text.repeat(1000);
            for _ in 0..1000 {
                stream.feed(piece.as_bytes());
                assert_eq!(stream.buffered_bytes(), 0);
            }
        }
        stream.feed(b"\n");
        let fault = stream.fault().unwrap_or_default();
        assert_eq!(fault, format!("line 0 is longer than {MAX_LINE_BYTES} bytes"));
        // Nothing follows a fault.
        stream.feed(&lines(&[block(0), end()]));
        assert_eq!((stream.buffered_bytes(), stream.end()), (0, None));
    }

    /// Valid records without end reach the limit of a stream; what follows is not kept.
    #[test]
    fn endless_records_end_the_stream() {
        let mut stream = Stream::new(FIRST, ResumePoint::default());
        let mut writer = ChainWriter::default();
        let mut kept = 0;
        while stream.fault().is_none() {
            let line = writer.line(&warning()).unwrap();
            stream.feed(line.as_bytes());
            kept += stream.take(true).map_or(0, |lines| lines.len() as u64);
            assert!(kept <= MAX_STREAM_BYTES);
        }
        assert!(stream.fault().unwrap().contains("the stream is longer"));
    }

    #[test]
    fn reports_rotated_logs_modified_lines_and_overlong_lines() {
        let whole = lines(&[warning(), block(0), end()]);
        let second = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        let fault = |bytes: &[u8]| {
            let mut stream = Stream::new(FIRST, ResumePoint::default());
            stream.feed(bytes);
            stream.fault().unwrap_or_default()
        };
        assert!(fault(&whole[second..]).contains("rotated"));
        let edited = String::from_utf8(whole.clone())
            .unwrap()
            .replace("\"cases\":0", "\"cases\":1");
        assert!(fault(edited.as_bytes()).contains("modified"));
        assert!(fault(&[&vec![b'x'; MAX_LINE_BYTES], &b"\n"[..]].concat()).contains("longer"));
        assert_eq!(fault(&whole), "");
    }
}
