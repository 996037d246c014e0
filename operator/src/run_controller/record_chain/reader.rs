//! Verifies the parts of a record chain in order, and decompresses their lines. Memory use is limited to one part and
//! one decompression buffer. Performs no I/O.

use std::io::Read;

use crds::record::hex;
use flate2::bufread::GzDecoder;
use k8s_openapi::api::core::v1::ConfigMap;
use snafu::ensure;

use super::part::content;
use super::{
    ChainError, ForeignSnafu, FullSnafu, IncompleteSnafu, MAX_APPEND_BYTES, MAX_PARTS, MAX_RECORD_BYTES,
    OlderSnafu, Part, RecordChain, next_digest,
};
use crate::run_controller::build::labels;

/// Size of the decompression buffer, in bytes.
const BUFFER_BYTES: usize = 64 * 1024;

/// Reads the parts of a run in order.
#[derive(Debug, Default)]
pub struct ChainReader {
    /// UID of the run.
    run_uid: String,
    last: Option<Part>,
    /// The digest in the status, until it is found in the chain.
    expected: Option<String>,
    /// Size of all decompressed records so far, in bytes.
    pub(super) expanded: u64,
}

impl ChainReader {
    /// Creates a reader for the records of the run with `run_uid` that starts at part 0. `expected` is the digest in the run's status: the chain must contain it,
    /// and may continue after it, because parts are written before the status.
    pub fn new(run_uid: &str, expected: Option<String>) -> Self {
        Self {
            run_uid: run_uid.to_owned(),
            last: None,
            expected,
            expanded: 0,
        }
    }

    /// Returns the index of the next part to read.
    pub fn next(&self) -> u32 {
        self.last.as_ref().map_or(0, |part| part.number + 1)
    }

    /// Verifies the next part, then passes its lines to `consume` in pieces that may end within a line.
    ///
    /// # Errors
    /// Returns an error if the run does not control the part, or if the part does not continue the previous part, is invalid, or exceeds the maximum number of
    /// parts.
    pub fn read(&mut self, object: &ConfigMap, mut consume: impl FnMut(&[u8])) -> Result<(), ChainError> {
        let mut part = self.last.as_ref().map_or_else(Part::first, Part::next);
        let number = part.number;
        ensure!(number < MAX_PARTS, FullSnafu);
        ensure!(
            labels::is_controlled_by(&object.metadata, &self.run_uid),
            ForeignSnafu { part: number }
        );
        let broken = |reason: String| ChainError::Broken { part: number, reason };
        let content = content(object).map_err(|key| IncompleteSnafu { part: number, key }.build())?;
        if content.previous != hex(&part.previous) {
            return Err(broken(format!(
                "it starts with digest {}, but the previous part ends with digest {}",
                content.previous,
                hex(&part.previous)
            )));
        }
        let mut found = false;
        let mut rest = content.bytes;
        while !rest.is_empty() {
            let (length, expanded) = member_lengths(rest).map_err(broken)?;
            self.expanded += expanded as u64;
            if self.expanded > MAX_RECORD_BYTES {
                return Err(broken(format!(
                    "the records expand to more than {MAX_RECORD_BYTES} bytes"
                )));
            }
            let (member, after) = rest.split_at(length);
            part.digest = next_digest(&part.digest, member);
            found |= self
                .expected
                .as_ref()
                .is_some_and(|expected| *expected == hex(&part.digest));
            rest = after;
        }
        if content.sha256 != hex(&part.digest) {
            return Err(broken(format!(
                "the digest of its bytes is {}, but its ConfigMap contains digest {}",
                hex(&part.digest),
                content.sha256
            )));
        }
        decompress(content.bytes, &mut consume).map_err(broken)?;
        part.bytes = content.bytes.to_vec();
        part.full = object.immutable == Some(true);
        if found {
            self.expected = None;
        }
        self.last = Some(part);
        Ok(())
    }

    /// Returns the end of the chain, to which records can be appended.
    ///
    /// # Errors
    /// Returns an error if the chain does not contain the digest in the status.
    pub fn finish(self) -> Result<RecordChain, ChainError> {
        if let Some(sha256) = self.expected {
            return OlderSnafu { sha256 }.fail();
        }
        // Nothing is appended to an immutable part, even if another member would fit.
        let open = self.last.map(|part| match part.full {
            true => part.next(),
            false => part,
        });
        Ok(RecordChain {
            open,
            expanded: self.expanded,
        })
    }
}

/// Verifies the checksum of the gzip member at the start of `bytes`, and returns its length and the length of its content,
/// in bytes.
fn member_lengths(bytes: &[u8]) -> Result<(usize, usize), String> {
    let mut decoder = GzDecoder::new(bytes);
    let mut content = 0;
    decompress_member(&mut decoder, &mut |piece| content += piece.len())?;
    Ok((bytes.len() - decoder.into_inner().len(), content))
}

fn decompress(bytes: &[u8], consume: &mut impl FnMut(&[u8])) -> Result<(), String> {
    let mut rest = bytes;
    while !rest.is_empty() {
        let mut decoder = GzDecoder::new(rest);
        decompress_member(&mut decoder, consume)?;
        rest = decoder.into_inner();
    }
    Ok(())
}

/// Decompresses one member. Fails if it expands to more than [`MAX_APPEND_BYTES`] bytes.
fn decompress_member(decoder: &mut impl Read, consume: &mut impl FnMut(&[u8])) -> Result<(), String> {
    let mut piece = vec![0; BUFFER_BYTES];
    let mut total = 0;
    loop {
        let read = decoder.read(&mut piece).map_err(|error| error.to_string())?;
        total += read;
        if total > MAX_APPEND_BYTES {
            return Err(format!(
                "a gzip member expands to more than {MAX_APPEND_BYTES} bytes"
            ));
        }
        match piece.get(..read) {
            Some([]) | None => return Ok(()),
            Some(read) => consume(read),
        }
    }
}
