//! The record streams of a run in ConfigMaps: append-only, compressed, each part naming the digest of those before. Pure.
//!
//! A part holds gzip members one after another, one for each time that lines were appended, so that appending neither
//! reads nor compresses again what is there. The digest after a member is the SHA-256 of the digest before it (32 zero
//! bytes at the start) and the member's bytes; a part says which digest it begins and ends with, the status which one
//! was last. `gunzip` reads a part, and the parts in their order give the streams as received.

mod part;
mod reader;

use std::io::{self, Write};

use crds::record::hex;
use crds::v1alpha1::{BenchmarkRun, RecordsReference};
use flate2::{Compression, GzBuilder};
use k8s_openapi::api::core::v1::ConfigMap;
use sha2::{Digest as _, Sha256};
use snafu::{ResultExt, Snafu, ensure};

pub use reader::ChainReader;

use super::build::names;

/// Most bytes of a part: an object may have 1 MiB of data.
pub const MAX_PART_BYTES: usize = 900 * 1024;
/// Most parts of a run: together less than a twentieth of what the cluster's database holds by default.
pub const MAX_PARTS: u32 = 64;
/// Most bytes of lines appended at once; they make one member, which has to fit a part also where nothing compresses.
pub const MAX_APPEND_BYTES: usize = 512 * 1024;
/// Most bytes of record streams that a plan may have in a cluster, by its estimate. Records compress to a third or less.
pub const MAX_PLANNED_BYTES: u64 = MAX_PARTS as u64 * MAX_PART_BYTES as u64 * 2;

/// SHA-256.
type Digest = [u8; 32];

/// Why records cannot be kept, or what was kept not be used.
#[derive(Debug, Snafu)]
#[snafu(visibility(pub(super)))]
pub enum ChainError {
    /// Too much at once.
    #[snafu(display("{bytes} bytes of records at once, more than {MAX_APPEND_BYTES}"))]
    TooMuch {
        /// How many.
        bytes: usize,
    },
    /// Too much altogether.
    #[snafu(display(
        "the records of the run need more than {MAX_PARTS} ConfigMaps of {MAX_PART_BYTES} bytes. Ask for fewer rounds, \
         sizes, variants or workers, or split the run"
    ))]
    Full,
    /// The compressor fails.
    #[snafu(display("compressing records: {source}"))]
    Compress {
        /// What it says.
        source: io::Error,
    },
    /// A part lacks something.
    #[snafu(display("part {part} of the records has no {what}"))]
    Incomplete {
        /// Its number.
        part: u32,
        /// What.
        what: &'static str,
    },
    /// A part does not continue the one before, or was changed.
    #[snafu(display("part {part} of the records does not prove itself: {why}"))]
    Broken {
        /// Its number.
        part: u32,
        /// Why not.
        why: String,
    },
    /// Everything there is proves itself, and there was more.
    #[snafu(display(
        "the records end before {sha256}, which the status has seen: a ConfigMap with its last records was \
         deleted or put back to an older state. They cannot be had back; make a new run"
    ))]
    Older {
        /// The digest that was seen.
        sha256: String,
    },
}

/// What is kept of a run's records: all but the bytes of the parts that are full.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordChain {
    /// The part that still grows; nothing before the first append.
    open: Option<Part>,
}

/// A part that has to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartWrite {
    /// The part as it is to be.
    pub part: Part,
    /// Whether it was there before: it is to be updated, not created.
    pub update: bool,
}

/// One part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    number: u32,
    previous: Digest,
    digest: Digest,
    bytes: Vec<u8>,
    full: bool,
}

impl RecordChain {
    /// The chain with `lines` appended, and the parts that have to be written for it, in this order. This one stays as
    /// it is: it holds until they are written. Lines are whole, with their newlines.
    ///
    /// # Errors
    /// When the lines are too many at once or altogether.
    pub fn appended(&self, lines: &[u8]) -> Result<(Self, Vec<PartWrite>), ChainError> {
        ensure!(
            lines.len() <= MAX_APPEND_BYTES,
            TooMuchSnafu { bytes: lines.len() }
        );
        let member = compress(lines).context(CompressSnafu)?;
        let mut written = Vec::new();
        let mut part = match self.open.clone() {
            None => Part::first(),
            Some(part) if part.bytes.len() + member.len() > MAX_PART_BYTES => {
                let next = part.next();
                ensure!(next.number < MAX_PARTS, FullSnafu);
                written.push(PartWrite {
                    part: Part { full: true, ..part },
                    update: true,
                });
                next
            }
            Some(part) => part,
        };
        let update = !part.bytes.is_empty();
        part.digest = chained(&part.digest, &member);
        part.bytes.extend_from_slice(&member);
        written.push(PartWrite {
            part: part.clone(),
            update,
        });
        Ok((Self { open: Some(part) }, written))
    }

    /// Where the records of the run with `uid` are, for its status; `None` before the first append.
    pub fn reference(&self, uid: &str) -> Option<RecordsReference> {
        let part = self.open.as_ref()?;
        let first = names::records(uid, 0);
        let reference = match part.number {
            0 => format!("configmap/{first}"),
            last => format!("configmap/{first} to {}", names::records(uid, last)),
        };
        Some(RecordsReference {
            reference,
            sha256: hex(&part.digest),
        })
    }

    /// Number of parts there are.
    pub fn parts(&self) -> u32 {
        self.open.as_ref().map_or(0, |part| part.number + 1)
    }
}

impl Part {
    fn first() -> Self {
        Self {
            number: 0,
            previous: Digest::default(),
            digest: Digest::default(),
            bytes: Vec::new(),
            full: false,
        }
    }

    fn next(&self) -> Self {
        Self {
            number: self.number + 1,
            previous: self.digest,
            digest: self.digest,
            bytes: Vec::new(),
            full: false,
        }
    }

    /// Its number, from 0.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// The object it is kept in, of `run`.
    pub fn config_map(&self, run: &BenchmarkRun) -> ConfigMap {
        part::config_map(self, run)
    }
}

fn chained(before: &Digest, member: &[u8]) -> Digest {
    let mut hasher = Sha256::new();
    hasher.update(before);
    hasher.update(member);
    hasher.finalize().into()
}

/// One gzip member, without a time: the same lines always make the same bytes.
fn compress(lines: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzBuilder::new()
        .mtime(0)
        .write(Vec::new(), Compression::default());
    encoder.write_all(lines)?;
    encoder.finish()
}

#[cfg(test)]
mod tests;
