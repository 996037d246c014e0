//! Parts to lines, each part proven before the next. Pure; memory is bounded by one part and one piece of lines.

use std::io::Read;

use crds::record::hex;
use flate2::bufread::GzDecoder;
use k8s_openapi::api::core::v1::ConfigMap;
use snafu::ensure;

use super::part::said;
use super::{
    ChainError, FullSnafu, IncompleteSnafu, MAX_APPEND_BYTES, MAX_PARTS, OlderSnafu, Part, RecordChain,
    chained,
};

/// Bytes of lines handed on at once.
const PIECE: usize = 64 * 1024;

/// Reads the parts of a run in their order.
#[derive(Debug, Default)]
pub struct ChainReader {
    last: Option<Part>,
    /// The digest in the status that was not met yet.
    seen: Option<String>,
}

impl ChainReader {
    /// A reader before part 0. `seen` is the digest in the run's status: the chain may be ahead of it, for a part is
    /// written before the status, and never behind.
    pub fn new(seen: Option<String>) -> Self {
        Self { last: None, seen }
    }

    /// Number of the part that is read next.
    pub fn next(&self) -> u32 {
        self.last.as_ref().map_or(0, |part| part.number + 1)
    }

    /// Reads the next part, and calls `each` with its lines in pieces, cut anywhere. A member is proven before any of its
    /// lines is handed on.
    ///
    /// # Errors
    /// When the part does not continue those before, does not prove itself, or is one too many.
    pub fn read(&mut self, object: &ConfigMap, mut each: impl FnMut(&[u8])) -> Result<(), ChainError> {
        let mut part = self.last.as_ref().map_or_else(Part::first, Part::next);
        let number = part.number;
        ensure!(number < MAX_PARTS, FullSnafu);
        let broken = |why: String| ChainError::Broken { part: number, why };
        let said = said(object).map_err(|what| IncompleteSnafu { part: number, what }.build())?;
        if said.previous != hex(&part.previous) {
            return Err(broken(format!(
                "it continues {}, and the part before ends with {}",
                said.previous,
                hex(&part.previous)
            )));
        }
        let mut met = false;
        let mut rest = said.bytes;
        while !rest.is_empty() {
            let length = member_length(rest).map_err(broken)?;
            let (member, after) = rest.split_at(length);
            part.digest = chained(&part.digest, member);
            met |= self.seen.as_ref().is_some_and(|seen| *seen == hex(&part.digest));
            rest = after;
        }
        if said.sha256 != hex(&part.digest) {
            return Err(broken(format!(
                "its bytes give {}, and it says {}",
                hex(&part.digest),
                said.sha256
            )));
        }
        expand(said.bytes, &mut each).map_err(broken)?;
        part.bytes = said.bytes.to_vec();
        part.full = object.immutable == Some(true);
        if met {
            self.seen = None;
        }
        self.last = Some(part);
        Ok(())
    }

    /// The chain as it is, to be appended to.
    ///
    /// # Errors
    /// When the status has seen more.
    pub fn finish(self) -> Result<RecordChain, ChainError> {
        if let Some(sha256) = self.seen {
            return OlderSnafu { sha256 }.fail();
        }
        // A full part may not be written again, even if another member would fit.
        let open = self.last.map(|part| match part.full {
            true => part.next(),
            false => part,
        });
        Ok(RecordChain { open })
    }
}

/// Bytes of the gzip member that `bytes` begin with, once it was read to its checksum.
fn member_length(bytes: &[u8]) -> Result<usize, String> {
    let mut decoder = GzDecoder::new(bytes);
    drain(&mut decoder, &mut |_| {})?;
    Ok(bytes.len() - decoder.into_inner().len())
}

fn expand(bytes: &[u8], each: &mut impl FnMut(&[u8])) -> Result<(), String> {
    let mut rest = bytes;
    while !rest.is_empty() {
        let mut decoder = GzDecoder::new(rest);
        drain(&mut decoder, each)?;
        rest = decoder.into_inner();
    }
    Ok(())
}

/// Reads one member; never more than was ever appended at once, whatever it expands to.
fn drain(decoder: &mut impl Read, each: &mut impl FnMut(&[u8])) -> Result<(), String> {
    let mut piece = vec![0; PIECE];
    let mut total = 0;
    loop {
        let read = decoder.read(&mut piece).map_err(|error| error.to_string())?;
        total += read;
        if total > MAX_APPEND_BYTES {
            return Err(format!(
                "it expands to more than {MAX_APPEND_BYTES} bytes at once"
            ));
        }
        match piece.get(..read) {
            Some([]) | None => return Ok(()),
            Some(read) => each(read),
        }
    }
}
