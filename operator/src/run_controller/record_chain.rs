//! The record chain stores a run's record streams in ConfigMaps, append-only and compressed. Each part contains the
//! digest of the previous part. Performs no I/O.
//!
//! A part is a sequence of gzip members, one for each append, so that an append neither reads nor recompresses the
//! existing members. The digest after a member is the SHA-256 of the digest before it (32 zero bytes at the start)
//! followed by the bytes of the member. Each part holds the digests at its start and end, and the status holds the last
//! digest of the chain. `gunzip` decompresses a part. The decompressed parts, in order, are the streams as received.

mod part;
mod reader;

use std::io::{self, Write};

use crds::record::{MAX_STREAM_BYTES, hex};
use crds::v1alpha1::{BenchmarkRun, RecordsReference};
use flate2::{Compression, GzBuilder};
use k8s_openapi::api::core::v1::ConfigMap;
use sha2::{Digest as _, Sha256};
use snafu::{ResultExt, Snafu, ensure};

pub use reader::ChainReader;

use super::build::names;

/// Maximum size of a part in bytes. A ConfigMap may hold at most 1 MiB.
pub const MAX_PART_BYTES: usize = 900 * 1024;
/// Maximum number of parts per run. Together, they use less than a twentieth of etcd's default size limit.
pub const MAX_PARTS: u32 = 64;
/// Maximum number of bytes to append at once. They become one gzip member, which must fit into a part even if it is
/// incompressible.
pub const MAX_APPEND_BYTES: usize = 512 * 1024;
/// Maximum size of all decompressed records of a run, in bytes: those of 64 attempts with the longest possible stream. Without
/// this limit, small members that expand to [`MAX_APPEND_BYTES`] would keep the operator busy for minutes each time that it
/// reads the chain, which anyone who may change ConfigMaps could repeat.
pub const MAX_RECORD_BYTES: u64 = 64 * MAX_STREAM_BYTES;
/// Maximum estimated size of a plan's record streams in a cluster, in bytes. Records compress to a third of their size
/// or less, so a ratio of two is a safe assumption.
pub const MAX_PLANNED_BYTES: u64 = MAX_PARTS as u64 * MAX_PART_BYTES as u64 * 2;

/// SHA-256 digest.
type Digest = [u8; 32];

/// Error storing records or reading stored records.
#[derive(Debug, Snafu)]
#[snafu(visibility(pub(super)))]
pub enum ChainError {
    /// One append is too large.
    #[snafu(display("cannot append {bytes} bytes of records at once: the limit is {MAX_APPEND_BYTES}"))]
    AppendTooLarge {
        /// Size of the append, in bytes.
        bytes: usize,
    },
    /// The chain is full.
    #[snafu(display(
        "the run's records need more than {MAX_PARTS} ConfigMaps of {MAX_PART_BYTES} bytes, or have more than \
         {MAX_RECORD_BYTES} bytes. Use fewer rounds, sizes, variants or workers, or split the run"
    ))]
    Full,
    /// Compression failed.
    #[snafu(display("cannot compress records: {source}"))]
    Compress {
        /// Cause.
        source: io::Error,
    },
    /// A part lacks a key.
    #[snafu(display("part {part} of the records has no key {key}"))]
    Incomplete {
        /// Index of the part.
        part: u32,
        /// The missing key.
        key: &'static str,
    },
    /// A part does not continue the previous part, or was changed.
    #[snafu(display("part {part} of the records cannot be verified: {reason}"))]
    Broken {
        /// Index of the part.
        part: u32,
        /// The check that failed.
        reason: String,
    },
    /// A part has another controller.
    #[snafu(display(
        "the ConfigMap of part {part} of the records is not controlled by this run, so another client created it or changed \
         its owner. Delete it and create a new run"
    ))]
    Foreign {
        /// Index of the part.
        part: u32,
    },
    /// Every part is valid, but the status refers to later records.
    #[snafu(display(
        "the records end before digest {sha256} in the status: a ConfigMap with later records was deleted or \
         restored from an older state. The later records cannot be recovered; create a new run"
    ))]
    Older {
        /// The digest in the status.
        sha256: String,
    },
}

/// The end of a record chain, to which records are appended. Does not hold the bytes of full parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordChain {
    /// The last part. It may still be empty if the previous part is full. `None` before the first append.
    open: Option<Part>,
    /// Size of all decompressed records, in bytes.
    expanded: u64,
}

/// A write of one part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartWrite {
    /// The part to write.
    pub part: Part,
    /// Whether the part already exists and is updated rather than created.
    pub update: bool,
}

/// One part of a record chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    number: u32,
    previous: Digest,
    digest: Digest,
    bytes: Vec<u8>,
    full: bool,
}

impl RecordChain {
    /// Returns the chain after appending whole `lines` (including newlines), and the parts to write, in order. `self`
    /// remains valid until the parts are written.
    ///
    /// # Errors
    /// Returns an error if `lines` exceed [`MAX_APPEND_BYTES`] or the chain is full.
    pub fn appended(&self, lines: &[u8]) -> Result<(Self, Vec<PartWrite>), ChainError> {
        ensure!(
            lines.len() <= MAX_APPEND_BYTES,
            AppendTooLargeSnafu { bytes: lines.len() }
        );
        let expanded = self.expanded + lines.len() as u64;
        ensure!(expanded <= MAX_RECORD_BYTES, FullSnafu);
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
        part.digest = next_digest(&part.digest, &member);
        part.bytes.extend_from_slice(&member);
        written.push(PartWrite {
            part: part.clone(),
            update,
        });
        let chain = Self {
            open: Some(part),
            expanded,
        };
        Ok((chain, written))
    }

    /// Returns the reference to the records for the status of the run with `uid`; `None` before the first append.
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

    /// Returns the number of parts.
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

    /// Returns the part index, starting at 0.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Returns the ConfigMap that stores this part of `run`'s records.
    pub fn config_map(&self, run: &BenchmarkRun) -> ConfigMap {
        part::config_map(self, run)
    }
}

fn next_digest(before: &Digest, member: &[u8]) -> Digest {
    let mut hasher = Sha256::new();
    hasher.update(before);
    hasher.update(member);
    hasher.finalize().into()
}

/// Compresses `lines` into one gzip member without a modification time, so that equal lines result in equal bytes.
fn compress(lines: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzBuilder::new()
        .mtime(0)
        .write(Vec::new(), Compression::default());
    encoder.write_all(lines)?;
    encoder.finish()
}

#[cfg(test)]
mod tests;
