//! Byte pattern of a transfer, and the poison byte. Performs no I/O.

/// Byte that landing memory is filled with before a transfer.
///
/// Its top bit is set and the top bit of every pattern byte is clear, so a poison byte is never mistaken for a received
/// byte.
pub const POISON: u8 = 0xa5;

/// Mask of the bits that may be set in pattern bytes.
const PATTERN_BITS: u64 = 0x7f7f_7f7f_7f7f_7f7f;

/// Fills `bytes` with the pattern of transfer `transfer`, starting at `offset` in the transfer.
pub fn fill(seed: u64, transfer: u64, offset: u64, bytes: &mut [u8]) {
    let transfer_seed = mix(seed ^ mix(transfer));
    let mut position = offset;
    let mut rest = bytes;
    while !rest.is_empty() {
        let word = (mix(transfer_seed ^ (position / 8)) & PATTERN_BITS).to_le_bytes();
        let from = (position % 8) as usize;
        let count = rest.len().min(8 - from);
        let (head, tail) = rest.split_at_mut(count);
        head.copy_from_slice(&word[from..from + count]);
        rest = tail;
        position += count as u64;
    }
}

/// Finalizer of SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, OOPSLA 2014).
fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ value >> 31
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bytes(seed: u64, transfer: u64, offset: u64, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        fill(seed, transfer, offset, &mut bytes);
        bytes
    }

    #[test]
    fn bytes_depend_on_seed_transfer_and_offset() {
        let base = bytes(1, 0, 0, 64);
        assert_ne!(base, bytes(2, 0, 0, 64));
        assert_ne!(base, bytes(1, 1, 0, 64));
        assert_ne!(base, bytes(1, 0, 64, 64));
        assert_ne!(base, bytes(1, 0, 1, 64));
    }

    proptest! {
        #[test]
        fn partial_fill_matches_the_full_pattern(seed: u64, transfer: u64, from in 0usize..200, length in 0usize..200) {
            let whole = bytes(seed, transfer, 0, 400);
            prop_assert_eq!(bytes(seed, transfer, from as u64, length), whole[from..from + length].to_vec());
            prop_assert!(whole.iter().all(|byte| *byte != POISON && byte & 0x80 == 0));
        }
    }
}
