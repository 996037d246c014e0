//! Table that the trainer writes into each worker's memory: clock readings and, after the last step, the publication
//! times and the receipts of the worker's posts. A receipt is the number of versions published when a post arrived.
//! Performs no I/O except for memory copies.
//!
//! ```text
//! word 0: number of published versions, which workers read in Pull mode
//! words 4 to 6: trainer clock, boot ID, case key
//! words 8 to 10: number of publication times, number of receipts, number of datagrams
//! words 16 and following: publication times, then receipts
//! ```

use crate::memory::{Memory, MemoryError};

/// Byte offset of the number of published versions.
pub const HEAD: u64 = 0;
/// Byte offset of the clock reading.
pub const CLOCK: u64 = 32;
/// Length of the clock reading, in bytes.
pub const CLOCK_BYTES: u64 = 24;
/// Byte offset of the final table.
pub const FINAL: u64 = 64;
/// Number of words from [`FINAL`] to the publication times.
const FINAL_HEAD_WORDS: usize = 8;

/// Reading of the trainer's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClockReading {
    /// Trainer time, in nanoseconds.
    pub nanos: u64,
    /// Boot ID of the trainer's kernel.
    pub boot: u64,
    /// Case key.
    pub key: u64,
}

/// Values from which a worker computes its staleness.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FinalTable {
    /// Publication times of all versions, on the trainer's clock, in nanoseconds.
    pub times: Vec<u64>,
    /// Number of published versions when each of the worker's posts arrived.
    pub receipts: Vec<u64>,
    /// Number of datagrams that the trainer sent.
    pub datagrams: u64,
}

/// Stores `words` at `offset` in `memory`.
///
/// # Errors
/// Returns an error if the words do not fit.
pub fn write_words(memory: &Memory, offset: u64, words: &[u64]) -> Result<(), MemoryError> {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    memory.write_from(offset as usize, &bytes)
}

/// Loads `count` words at `offset` in `memory`.
///
/// # Errors
/// Returns an error if the memory has fewer words.
pub fn read_words(memory: &Memory, offset: u64, count: usize) -> Result<Vec<u64>, MemoryError> {
    let mut bytes = vec![0; count * 8];
    memory.read_into(offset as usize, &mut bytes)?;
    let (words, _) = bytes.as_chunks();
    Ok(words.iter().map(|word| u64::from_le_bytes(*word)).collect())
}

impl ClockReading {
    /// Stores the reading in the table at `table`.
    ///
    /// # Errors
    /// Returns an error if the reading does not fit.
    pub fn store(self, memory: &Memory, table: u64) -> Result<(), MemoryError> {
        write_words(memory, table + CLOCK, &[self.nanos, self.boot, self.key])
    }

    /// Loads the reading from the table at `table`.
    ///
    /// # Errors
    /// Returns an error if the memory has no such table.
    pub fn load(memory: &Memory, table: u64) -> Result<Self, MemoryError> {
        let words = read_words(memory, table + CLOCK, 3)?;
        let [nanos, boot, key] = words[..] else {
            return Ok(Self::default());
        };
        Ok(Self { nanos, boot, key })
    }
}

impl FinalTable {
    /// Stores the values in the table at `table`, and returns their length in bytes.
    ///
    /// # Errors
    /// Returns an error if the values do not fit.
    pub fn store(&self, memory: &Memory, table: u64) -> Result<u64, MemoryError> {
        let mut words = vec![
            self.times.len() as u64,
            self.receipts.len() as u64,
            self.datagrams,
        ];
        words.resize(FINAL_HEAD_WORDS, 0);
        words.extend(&self.times);
        words.extend(&self.receipts);
        write_words(memory, table + FINAL, &words)?;
        Ok(words.len() as u64 * 8)
    }

    /// Loads the values from the table at `table`.
    ///
    /// # Errors
    /// Returns an error if the memory has fewer words than the table specifies.
    pub fn load(memory: &Memory, table: u64) -> Result<Self, MemoryError> {
        let head = read_words(memory, table + FINAL, FINAL_HEAD_WORDS)?;
        let (times, receipts) = (head[0] as usize, head[1] as usize);
        let start = table + FINAL + 8 * FINAL_HEAD_WORDS as u64;
        Ok(Self {
            times: read_words(memory, start, times)?,
            receipts: read_words(memory, start + 8 * times as u64, receipts)?,
            datagrams: head[2],
        })
    }
}

#[cfg(test)]
mod tests {
    use crds::v1alpha1::MemoryKind;

    use super::*;

    #[test]
    fn loads_what_was_stored() {
        let memory = Memory::allocate(MemoryKind::Heap, 4096).unwrap();
        let reading = ClockReading {
            nanos: 1,
            boot: 2,
            key: 3,
        };
        reading.store(&memory, 128).unwrap();
        let table = FinalTable {
            times: vec![5, 6, 7],
            receipts: vec![8],
            datagrams: 9,
        };
        assert_eq!(table.store(&memory, 128).unwrap(), 8 * (8 + 4));
        assert_eq!(ClockReading::load(&memory, 128).unwrap(), reading);
        assert_eq!(FinalTable::load(&memory, 128).unwrap(), table);
        assert!(table.store(&memory, 4096 - 64).is_err());
    }
}
