//! Collects the records of an attempt in memory. Implements [`Write`] for the record stream, and performs no other I/O.

use std::io::{self, Write};

use crds::record::{Chain, Record};

/// Parses the lines of a record stream and passes every record to a function.
#[derive(Debug)]
pub struct RecordSink<F> {
    chain: Chain,
    line: Vec<u8>,
    records: Vec<Record>,
    notify: F,
}

impl<F: FnMut(&Record)> RecordSink<F> {
    /// Creates a sink that calls `notify` with every record.
    pub fn new(notify: F) -> Self {
        Self {
            chain: Chain::default(),
            line: Vec::new(),
            records: Vec::new(),
            notify,
        }
    }

    /// Records received so far.
    pub fn into_records(self) -> Vec<Record> {
        self.records
    }
}

impl<F: FnMut(&Record)> Write for RecordSink<F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for byte in bytes {
            if *byte != b'\n' {
                self.line.push(*byte);
                continue;
            }
            let text = std::str::from_utf8(&self.line).map_err(io::Error::other)?;
            let record = self.chain.read(text).map_err(io::Error::other)?;
            (self.notify)(&record);
            self.records.push(record);
            self.line.clear();
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crds::record::WarningReason;

    use super::*;
    use crate::output::RecordWriter;

    #[test]
    fn returns_the_records_of_a_stream_in_order() {
        let mut seen = 0;
        let mut sink = RecordSink::new(|_| seen += 1);
        let mut stream = RecordWriter::new(&mut sink);
        for message in ["first", "second"] {
            stream.warn(None, WarningReason::Evidence, message).unwrap();
        }
        let messages: Vec<_> = sink
            .into_records()
            .into_iter()
            .map(|record| match record {
                Record::Warning(warning) => warning.message,
                other => unreachable!("{other:?}"),
            })
            .collect();
        assert_eq!(messages, ["first", "second"]);
        assert_eq!(seen, 2);
    }

    #[test]
    fn rejects_a_line_that_is_not_a_record() {
        assert!(RecordSink::new(|_| ()).write(b"x\n").is_err());
    }
}
