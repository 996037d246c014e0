//! Fills, poisons and checks memory, and accumulates the integrity report.

use crds::assignment::Pass;
use crds::record::{CaseFailure, IntegrityReport, Mismatch};

use super::pattern::{self, POISON};
use crate::measure::deadline::Deadline;
use crate::memory::Memory;

/// Number of bytes compared at a time.
const COMPARED_BYTES: usize = 64 * 1024;

/// Checks the payload received by one thread.
#[derive(Debug)]
pub struct Verifier {
    seed: u64,
    expected: Box<[u8]>,
    found: Box<[u8]>,
    crc_expected: u32,
    crc_found: u32,
    report: IntegrityReport,
}

impl Verifier {
    /// Creates a verifier for payload sent with this seed.
    pub fn new(seed: u64) -> Self {
        let buffer = || vec![0; COMPARED_BYTES].into_boxed_slice();
        Self {
            seed,
            expected: buffer(),
            found: buffer(),
            crc_expected: 0,
            crc_found: 0,
            report: IntegrityReport::default(),
        }
    }

    /// Checks a chunk that is stored at `offset` in `memory`.
    ///
    /// `in_transfer` is the offset of the chunk in transfer `transfer`, and `length` is its length in bytes.
    ///
    /// # Errors
    /// Returns an error if the memory cannot be read.
    pub fn check_chunk(
        &mut self,
        memory: &Memory,
        offset: u64,
        transfer: u64,
        (in_transfer, length): (u64, u64),
    ) -> Result<(), CaseFailure> {
        let mut torn = false;
        let mut done = 0;
        while done < length {
            let count = (length - done).min(COMPARED_BYTES as u64) as usize;
            memory.read_into((offset + done) as usize, &mut self.found[..count])?;
            torn |= self.compare(count, transfer, in_transfer + done);
            done += count as u64;
        }
        self.report.bytes += length;
        self.report.torn_chunks += u64::from(torn);
        Ok(())
    }

    /// Checks all bytes of transfer `transfer`.
    pub fn check_bytes(&mut self, bytes: &[u8], transfer: u64) {
        let mut torn = false;
        let mut done = 0;
        for part in bytes.chunks(COMPARED_BYTES) {
            self.found[..part.len()].copy_from_slice(part);
            torn |= self.compare(part.len(), transfer, done);
            done += part.len() as u64;
        }
        self.report.bytes += done;
        self.report.torn_chunks += u64::from(torn);
    }

    /// Compares the first `count` bytes of `found` with the bytes at `position` in transfer `transfer`. Returns whether
    /// any bytes were not written.
    fn compare(&mut self, count: usize, transfer: u64, position: u64) -> bool {
        let (expected, found) = (&mut self.expected[..count], &self.found[..count]);
        pattern::fill(self.seed, transfer, position, expected);
        self.crc_expected = crc32c::crc32c_append(self.crc_expected, expected);
        self.crc_found = crc32c::crc32c_append(self.crc_found, found);
        let mut pairs = expected.iter().zip(found.iter());
        let Some(index) = pairs.position(|(expected, found)| expected != found) else {
            return false;
        };
        self.report.first_mismatch.get_or_insert(Mismatch {
            // The caller fills in the thread and the batch.
            thread: 0,
            batch: None,
            transfer,
            offset_bytes: position + index as u64,
            expected: expected[index],
            found: found[index],
        });
        found.contains(&POISON)
    }

    /// Counts a chunk that arrived more than once.
    pub fn record_duplicate(&mut self) {
        self.report.duplicated_chunks += 1;
    }

    /// Returns the report on all checks so far, which cover `transfers` transfers.
    pub fn report(&self, transfers: u64) -> IntegrityReport {
        IntegrityReport {
            transfers,
            crc32c_expected: format!("{:08x}", self.crc_expected),
            crc32c_found: format!("{:08x}", self.crc_found),
            ..self.report.clone()
        }
    }
}

/// Fills `length` bytes at `offset` in `memory` with the pattern of transfer `transfer`, from `in_transfer` on.
///
/// # Errors
/// Returns an error if the memory cannot be written.
pub(crate) fn fill(
    memory: &Memory,
    offset: u64,
    seed: u64,
    transfer: u64,
    (in_transfer, length): (u64, u64),
) -> Result<(), CaseFailure> {
    write(memory, offset, length, |position, bytes| {
        pattern::fill(seed, transfer, in_transfer + position, bytes);
    })
}

/// Poisons `length` bytes at `offset` in `memory`.
///
/// # Errors
/// Returns an error if the memory cannot be written.
pub(crate) fn poison(memory: &Memory, offset: u64, length: u64) -> Result<(), CaseFailure> {
    write(memory, offset, length, |_, bytes| bytes.fill(POISON))
}

fn write(
    memory: &Memory,
    offset: u64,
    length: u64,
    bytes_at: impl Fn(u64, &mut [u8]),
) -> Result<(), CaseFailure> {
    let mut bytes = vec![0; COMPARED_BYTES.min(length as usize)];
    let mut done = 0;
    while done < length {
        let count = (length - done).min(COMPARED_BYTES as u64) as usize;
        bytes_at(done, &mut bytes[..count]);
        memory.write_from((offset + done) as usize, &bytes[..count])?;
        done += count as u64;
    }
    Ok(())
}

/// Checks each message on arrival, because its receive is reposted afterwards, and the next message may overwrite the
/// memory.
#[derive(Debug)]
pub struct Inspector {
    verifier: Verifier,
    deadline: Deadline,
}

impl Inspector {
    /// Creates an inspector for an integrity pass that must end before `deadline`; `None` for a measured pass.
    pub fn for_pass(pass: Pass, seed: u64, deadline: Deadline) -> Option<Self> {
        (pass == Pass::Integrity).then(|| Self {
            verifier: Verifier::new(seed),
            deadline,
        })
    }

    /// Checks a message of `length` bytes that is stored at `offset` in `memory` and is expected to be `chunk` of
    /// `transfer`, then poisons the memory again.
    ///
    /// # Errors
    /// Returns an error if the memory cannot be read or written, or if the deadline passes.
    pub fn check_message(
        &mut self,
        memory: &Memory,
        offset: u64,
        length: u64,
        transfer: u64,
        chunk: (u64, u64),
    ) -> Result<(), CaseFailure> {
        let torn_before = self.verifier.report.torn_chunks;
        let (in_transfer, expected) = chunk;
        let activity = "checking a message";
        self.deadline
            .in_parts(activity, expected as usize, |part, count| {
                let (part, count) = (part as u64, count as u64);
                let range = (in_transfer + part, count);
                self.verifier
                    .check_chunk(memory, offset + part, transfer, range)?;
                poison(memory, offset + part, count)
            })?;
        // Parts of a message are not counted separately.
        self.verifier.report.torn_chunks = self.verifier.report.torn_chunks.min(torn_before + 1);
        if length != expected {
            self.verifier.report.torn_chunks = torn_before + 1;
        }
        Ok(())
    }

    /// The verifier used by the inspector.
    pub fn verifier(&mut self) -> &mut Verifier {
        &mut self.verifier
    }

    /// Counts a chunk that arrived more than once.
    pub fn record_duplicate(&mut self) {
        self.verifier.record_duplicate();
    }
}

#[cfg(test)]
mod tests {
    use crds::v1alpha1::MemoryKind;

    use super::*;

    const LENGTH: u64 = 150_000;

    /// Fills a transfer, modifies it with `change`, checks it in two chunks, and returns the report.
    fn check_after(change: impl Fn(&Memory)) -> IntegrityReport {
        let memory = Memory::allocate(MemoryKind::Heap, LENGTH as usize + 64).unwrap();
        fill(&memory, 64, 7, 3, (0, LENGTH)).unwrap();
        change(&memory);
        let mut verifier = Verifier::new(7);
        verifier.check_chunk(&memory, 64, 3, (0, 100_000)).unwrap();
        verifier
            .check_chunk(&memory, 64 + 100_000, 3, (100_000, LENGTH - 100_000))
            .unwrap();
        verifier.report(1)
    }

    #[test]
    fn accepts_an_intact_transfer() {
        let report = check_after(|_| ());
        assert_eq!(
            (report.bytes, report.first_mismatch, report.torn_chunks),
            (LENGTH, None, 0)
        );
        assert_eq!(report.crc32c_expected, report.crc32c_found);
    }

    #[test]
    fn reports_the_offset_of_a_flipped_bit() {
        let report = check_after(|memory| {
            let mut byte = [0];
            memory.read_into(64 + 120_001, &mut byte).unwrap();
            memory.write_from(64 + 120_001, &[byte[0] ^ 1]).unwrap();
        });
        let mismatch = report.first_mismatch.unwrap();
        assert_eq!((mismatch.transfer, mismatch.offset_bytes), (3, 120_001));
        assert_eq!(mismatch.expected ^ mismatch.found, 1);
        assert_eq!(report.torn_chunks, 0);
        assert_ne!(report.crc32c_expected, report.crc32c_found);
    }

    #[test]
    fn counts_a_partly_written_chunk_as_torn() {
        let report = check_after(|memory| poison(memory, 64 + 149_999, 1).unwrap());
        assert_eq!(report.torn_chunks, 1);
        assert_eq!(report.first_mismatch.unwrap().offset_bytes, 149_999);
    }

    #[test]
    fn detects_a_misplaced_chunk() {
        let report = check_after(|memory| fill(memory, 64, 7, 4, (0, LENGTH)).unwrap());
        assert!(report.first_mismatch.is_some());
    }
}
