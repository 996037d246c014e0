//! Splits bytes into lines of bounded length.

use crds::record::MAX_LINE_BYTES;

/// A line of the input.
#[derive(Clone, Copy, Debug)]
pub enum RawLine<'a> {
    /// A complete line without its newline.
    Whole(&'a [u8]),
    /// A line whose bytes were dropped because it exceeds the maximum length.
    TooLong,
}

/// Splits the input into lines and keeps the bytes after the last newline until more input follows.
#[derive(Debug, Default, Clone)]
pub struct Framing {
    rest: Vec<u8>,
    too_long: bool,
}

impl Framing {
    /// Calls `consume` with every line that ends in `bytes`.
    pub fn feed(&mut self, mut bytes: &[u8], mut consume: impl FnMut(RawLine<'_>)) {
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            let (line, after) = bytes.split_at(end);
            bytes = after.get(1..).unwrap_or_default();
            self.keep(line);
            match self.too_long {
                true => consume(RawLine::TooLong),
                false => consume(RawLine::Whole(&self.rest)),
            }
            self.rest.clear();
            self.too_long = false;
        }
        self.keep(bytes);
    }

    /// Calls `consume` with the bytes after the last newline, if any.
    pub fn rest(&mut self, consume: impl FnOnce(RawLine<'_>)) {
        let rest = std::mem::take(&mut self.rest);
        match (std::mem::take(&mut self.too_long), rest.is_empty()) {
            (true, _) => consume(RawLine::TooLong),
            (false, false) => consume(RawLine::Whole(&rest)),
            (false, true) => {}
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        if self.too_long || self.rest.len() + bytes.len() >= MAX_LINE_BYTES {
            self.too_long = true;
            self.rest.clear();
        } else {
            self.rest.extend_from_slice(bytes);
        }
    }
}
