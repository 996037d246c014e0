//! Bytes of a version, and their verification. Performs no I/O except through the given functions.
//!
//! ```text
//! 0 version   8 case key   16 size   24 CRC32C   32 body …   size - 8 version
//! ```
//!
//! The body depends on the version, and the checksum covers the version and the body. A mixture of bytes from several
//! versions therefore never passes the verification, whether the bytes were mixed while being written, read or
//! transferred.

use crc32c::crc32c_append;

use crate::integrity::pattern;

/// Length of the header, in bytes.
pub const HEADER_BYTES: usize = 32;
/// Length of the trailer, in bytes.
const TRAILER_BYTES: usize = 8;
/// Length of the pieces in which the body is created and verified, in bytes.
const PIECE_BYTES: usize = 64 * 1024;

/// Creates and verifies the versions of one case.
#[derive(Debug)]
pub struct Parameters {
    key: u64,
    size: usize,
    piece: Vec<u8>,
}

/// Result of a verification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verification {
    /// All bytes belong to this version.
    Intact(u64),
    /// The bytes do not all belong to the same version.
    Torn,
}

impl Parameters {
    /// Prepares to create and verify versions of `size` bytes, which must be at least 64. `key` must be different for
    /// every case.
    pub fn new(key: u64, size: u64) -> Self {
        Self {
            key,
            size: size as usize,
            piece: vec![0; PIECE_BYTES],
        }
    }

    /// Size of a version, in bytes.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Passes the bytes of `version` to `write`, piece by piece, each with its offset.
    ///
    /// # Errors
    /// Returns any error that `write` returns.
    pub fn create<E>(
        &mut self,
        version: u64,
        mut write: impl FnMut(usize, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let (size, key) = (self.size, self.key);
        pattern::fill(key, version, 0, &mut self.piece);
        let mut crc = crc32c_append(0, &version.to_le_bytes());
        for (number, (_, length)) in pieces(size).enumerate() {
            crc = crc32c_append(crc, self.number_piece(number, length));
        }
        let mut header = [0; HEADER_BYTES];
        for (field, value) in header
            .chunks_exact_mut(8)
            .zip([version, key, size as u64, u64::from(crc)])
        {
            field.copy_from_slice(&value.to_le_bytes());
        }
        write(0, &header)?;
        for (number, (offset, length)) in pieces(size).enumerate() {
            write(offset, self.number_piece(number, length))?;
        }
        write(size - TRAILER_BYTES, &version.to_le_bytes())
    }

    /// Writes `number` into the piece, so that the pieces of one version differ, and returns the first `length` bytes
    /// of the piece.
    fn number_piece(&mut self, number: usize, length: usize) -> &[u8] {
        let piece = &mut self.piece[..length];
        let stamp = (number as u64).to_le_bytes();
        let stamped = length.min(stamp.len());
        piece[..stamped].copy_from_slice(&stamp[..stamped]);
        piece
    }

    /// Verifies the bytes that `read` copies from a given offset: the version number before the body, the body, and the
    /// version number after it. The version number before the body is then read again, and must not have changed.
    ///
    /// # Errors
    /// Returns any error that `read` returns.
    pub fn verify<E>(
        &mut self,
        mut read: impl FnMut(usize, &mut [u8]) -> Result<(), E>,
    ) -> Result<Verification, E> {
        let mut before = [0; HEADER_BYTES];
        read(0, &mut before)?;
        let [version, key, size, expected] = header_words(&before);
        let mut crc = crc32c_append(0, &version.to_le_bytes());
        for (offset, length) in pieces(self.size) {
            let piece = &mut self.piece[..length];
            read(offset, piece)?;
            crc = crc32c_append(crc, piece);
        }
        let mut trailer = [0; TRAILER_BYTES];
        read(self.size - TRAILER_BYTES, &mut trailer)?;
        let mut after = [0; HEADER_BYTES];
        read(0, &mut after)?;
        let is_intact = before == after
            && u64::from_le_bytes(trailer) == version
            && (key, size, expected) == (self.key, self.size as u64, u64::from(crc));
        Ok(if is_intact {
            Verification::Intact(version)
        } else {
            Verification::Torn
        })
    }

    /// Returns the version in `header`, if it is the header of a version of this case.
    pub fn header_version(&self, header: &[u8; HEADER_BYTES]) -> Option<u64> {
        let [version, key, size, _] = header_words(header);
        ((key, size) == (self.key, self.size as u64)).then_some(version)
    }
}

/// Returns the offsets and lengths of the body's pieces.
fn pieces(size: usize) -> impl Iterator<Item = (usize, usize)> {
    let end = size - TRAILER_BYTES;
    (HEADER_BYTES..end)
        .step_by(PIECE_BYTES)
        .map(move |offset| (offset, PIECE_BYTES.min(end - offset)))
}

fn header_words(header: &[u8; HEADER_BYTES]) -> [u64; 4] {
    let (chunks, _) = header.as_chunks();
    let mut words = [0; 4];
    for (word, bytes) in words.iter_mut().zip(chunks) {
        *word = u64::from_le_bytes(*bytes);
    }
    words
}

/// Returns a `write` function for [`Parameters::create`] that copies the pieces into `bytes`.
pub fn store_in(bytes: &mut [u8]) -> impl FnMut(usize, &[u8]) -> Result<(), std::convert::Infallible> + '_ {
    |offset, piece| {
        bytes[offset..offset + piece.len()].copy_from_slice(piece);
        Ok(())
    }
}

/// Returns a `read` function for [`Parameters::verify`] that copies the pieces out of `bytes`.
pub fn load_from(bytes: &[u8]) -> impl FnMut(usize, &mut [u8]) -> Result<(), std::convert::Infallible> + '_ {
    |offset, piece| {
        piece.copy_from_slice(&bytes[offset..offset + piece.len()]);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const KEY: u64 = 7;

    fn version(number: u64, size: usize) -> Vec<u8> {
        let mut bytes = vec![0; size];
        let Ok(()) = Parameters::new(KEY, size as u64).create(number, store_in(&mut bytes));
        bytes
    }

    fn verify(bytes: &[u8]) -> Verification {
        let Ok(found) = Parameters::new(KEY, bytes.len() as u64).verify(load_from(bytes));
        found
    }

    #[test]
    fn rejects_parameters_of_another_case() {
        let bytes = version(3, 4096);
        let mut other = Parameters::new(KEY + 1, 4096);
        let Ok(found) = other.verify(load_from(&bytes));
        assert_eq!(found, Verification::Torn);
        let header: [u8; HEADER_BYTES] = bytes[..HEADER_BYTES].try_into().unwrap();
        assert_eq!(other.header_version(&header), None);
        assert_eq!(Parameters::new(KEY, 4096).header_version(&header), Some(3));
    }

    #[test]
    fn exchanged_pieces_are_torn() {
        let mut bytes = version(3, 3 * PIECE_BYTES);
        let (first, second) = (HEADER_BYTES, HEADER_BYTES + PIECE_BYTES);
        let piece = bytes[first..second].to_vec();
        bytes.copy_within(second..second + PIECE_BYTES, first);
        bytes[second..second + PIECE_BYTES].copy_from_slice(&piece);
        assert_eq!(verify(&bytes), Verification::Torn);
    }

    #[test]
    fn version_that_changes_while_it_is_read_is_torn() {
        let (old, new) = (version(4, 200_000), version(6, 200_000));
        let mut reads = 0;
        let Ok(found) = Parameters::new(KEY, 200_000).verify(|offset, piece| {
            reads += 1;
            let bytes = if reads > 2 { &new } else { &old };
            load_from(bytes)(offset, piece)
        });
        assert_eq!(found, Verification::Torn);
    }

    proptest! {
        #[test]
        fn whole_versions_are_recognized(number: u64, size in 64usize..200_000) {
            prop_assert_eq!(verify(&version(number, size)), Verification::Intact(number));
        }

        #[test]
        fn mixed_versions_are_torn(cut in 1usize..199_999, back: bool) {
            let (mut one, mut two) = (version(8, 200_000), version(10, 200_000));
            if back {
                std::mem::swap(&mut one, &mut two);
            }
            one[..cut].copy_from_slice(&two[..cut]);
            prop_assert_eq!(verify(&one), Verification::Torn);
        }

        #[test]
        fn changed_byte_is_detected(at in 0usize..100_000, bit in 0u32..8) {
            let mut bytes = version(1, 100_000);
            bytes[at] ^= 1 << bit;
            prop_assert_eq!(verify(&bytes), Verification::Torn);
        }
    }
}
