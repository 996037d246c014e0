//! Bytes of a log to lines that verified, each once, however often the log is read from its beginning. Pure.

use crds::record::{Chain, EndRecord, LineError, MAX_LINE_BYTES, MAX_STREAM_BYTES, Record};

use crate::campaign::collect::framing::{Framing, RawLine};

/// How every line of a stream begins.
const LINE_START: &str = "{\"seq\":";

/// How far a stream is known before its log is read.
#[derive(Clone, Debug, Default)]
pub(in crate::run_controller) struct Begun {
    /// Lines that are persisted.
    pub(in crate::run_controller) lines: u64,
}

/// One stream.
#[derive(Debug)]
pub(super) struct Stream {
    chain: Chain,
    persisted: u64,
    framing: Framing,
    /// Bytes of all lines that verified.
    length: u64,
    /// Lines that verified and were not handed out.
    waiting: Vec<u8>,
    /// How much of that ends with a block.
    blocks: usize,
    end: Option<EndRecord>,
    fault: Option<String>,
}

impl Stream {
    pub(super) fn new(begun: Begun) -> Self {
        Self {
            chain: Chain::default(),
            persisted: begun.lines,
            framing: Framing::default(),
            length: 0,
            waiting: Vec::new(),
            blocks: 0,
            end: None,
            fault: None,
        }
    }

    /// The log is read from its first byte again.
    pub(super) fn read_again(&mut self) {
        self.framing = Framing::default();
    }

    /// Takes the next bytes, cut anywhere.
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        let mut framing = std::mem::take(&mut self.framing);
        framing.feed(bytes, |line| match line {
            _ if self.is_over() => {}
            RawLine::Whole(line) => self.whole_line(line),
            RawLine::TooLong => {
                let seq = self.chain.next();
                self.fault = Some(format!("line {seq} is longer than {MAX_LINE_BYTES} bytes"));
            }
        });
        self.framing = framing;
    }

    fn whole_line(&mut self, line: &[u8]) {
        let Ok(text) = std::str::from_utf8(line) else {
            self.fault = Some(format!("line {} is no text", self.chain.next()));
            return;
        };
        // A pod's log is both of its outputs in one. What stands between the records is no part of them, and a record
        // that was cut is missed by the next one.
        if !text.starts_with(LINE_START) {
            return;
        }
        let record = match self.chain.read(text) {
            Ok(record) => record,
            // Read before this connection.
            Err(LineError::Sequence { expected, found }) if found < expected => return,
            Err(LineError::Sequence { expected, found }) => {
                self.fault = Some(format!(
                    "its log begins or goes on with line {found} where {expected} should follow: the node rotated the log \
                     away"
                ));
                return;
            }
            Err(error) => {
                self.fault = Some(error.to_string());
                return;
            }
        };
        self.length += line.len() as u64 + 1;
        if self.length > MAX_STREAM_BYTES {
            self.fault = Some(format!("it is longer than {MAX_STREAM_BYTES} bytes"));
            return;
        }
        if self.chain.next() > self.persisted {
            self.waiting.extend_from_slice(line);
            self.waiting.push(b'\n');
        }
        match record {
            Record::Block(_) => self.blocks = self.waiting.len(),
            Record::End(end) => {
                self.blocks = self.waiting.len();
                self.end = Some(end);
            }
            _ => {}
        }
    }

    /// Nothing more will come: a stream without its end was cut off.
    pub(super) fn no_more(&mut self) {
        if !self.is_over() {
            let read = self.chain.next();
            self.fault = Some(format!(
                "it ends after {read} lines, without an end record: it was cut off"
            ));
        }
    }

    /// Nothing more can be read.
    pub(super) fn lose(&mut self, why: &str) {
        if !self.is_over() {
            self.fault = Some(why.to_owned());
        }
    }

    /// Whether its end was read, or what follows cannot be used.
    pub(super) fn is_over(&self) -> bool {
        self.end.is_some() || self.fault.is_some()
    }

    pub(super) fn end(&self) -> Option<&EndRecord> {
        self.end.as_ref()
    }

    pub(super) fn fault(&self) -> Option<String> {
        self.fault.clone()
    }

    /// Bytes that were not handed out.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Bytes of whole blocks that were not handed out.
    pub(super) fn ready(&self) -> usize {
        self.blocks
    }

    /// Hands out whole blocks, or everything; nothing where there is none.
    pub(super) fn take(&mut self, everything: bool) -> Option<Vec<u8>> {
        let length = if everything {
            self.waiting.len()
        } else {
            self.blocks
        };
        self.blocks = 0;
        let rest = self.waiting.split_off(length.min(self.waiting.len()));
        let lines = std::mem::replace(&mut self.waiting, rest);
        (!lines.is_empty()).then_some(lines)
    }
}

#[cfg(test)]
mod tests {
    use crds::record::{BlockRecord, ChainWriter, WarningReason, WarningRecord};

    use super::*;

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
    fn however_it_is_cut_and_re_read_each_line_comes_once() {
        let whole = lines(&[warning(), block(0), warning(), block(1), end()]);
        for cut in 0..whole.len() {
            let mut stream = Stream::new(Begun::default());
            stream.feed(&whole[..cut]);
            let mut got = stream.take(false).unwrap_or_default();
            stream.read_again();
            stream.feed(&whole);
            got.extend(stream.take(true).unwrap_or_default());
            assert_eq!(got, whole, "cut at {cut}");
            assert_eq!((stream.end().is_some(), stream.fault()), (true, None));
        }
    }

    #[test]
    fn what_is_persisted_is_not_handed_out_again_after_a_restart() {
        let whole = lines(&[warning(), block(0), end()]);
        let known = lines(&[warning(), block(0)]).len();
        let mut stream = Stream::new(Begun { lines: 2 });
        stream.feed(&whole);
        assert_eq!(stream.take(true).unwrap(), whole[known..]);
    }

    #[test]
    fn only_whole_blocks_are_handed_out_before_the_end() {
        let part = lines(&[warning(), block(0), warning()]);
        let known = lines(&[warning(), block(0)]).len();
        let mut stream = Stream::new(Begun::default());
        stream.feed(&part);
        assert_eq!(stream.ready(), known);
        let got = stream.take(false).unwrap();
        assert_eq!(got, part[..known]);
        stream.no_more();
        assert!(stream.fault().unwrap().contains("after 3 lines"));
        assert_eq!(stream.take(true).unwrap(), part[known..]);
    }

    #[test]
    fn what_stands_between_records_is_passed_over_and_what_it_cut_is_missed() {
        let whole = String::from_utf8(lines(&[warning(), block(0), end()])).unwrap();
        let (first, others) = whole.split_at(whole.find('\n').unwrap() + 1);
        let mut stream = Stream::new(Begun::default());
        stream.feed(format!("rank 0: a connection was refused\n{first}\nmore\n{others}").as_bytes());
        assert_eq!((stream.end().is_some(), stream.fault()), (true, None));
        assert_eq!(stream.take(true).unwrap(), whole.as_bytes());
        let mut stream = Stream::new(Begun::default());
        stream.feed(format!("words{first}{others}").as_bytes());
        assert!(stream.fault().unwrap().contains("line 1 where 0 should follow"));
    }

    #[test]
    fn a_rotated_an_edited_and_an_endless_line_are_told_apart() {
        let whole = lines(&[warning(), block(0), end()]);
        let second = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        let fault = |bytes: &[u8]| {
            let mut stream = Stream::new(Begun::default());
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
