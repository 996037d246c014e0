//! The bytes of a transfer, and the poison they are not. Pure.

/// Byte that memory is poisoned with before something lands there. Its top bit is set, and no byte of a pattern has
/// it, so poison is never mistaken for a byte that arrived.
pub const POISON: u8 = 0xa5;

/// Bits a pattern byte may have.
const PATTERN_BITS: u64 = 0x7f7f_7f7f_7f7f_7f7f;

/// Bytes of transfer `transfer` from `offset` on.
pub fn fill(seed: u64, transfer: u64, offset: u64, bytes: &mut [u8]) {
    let of_transfer = mix(seed ^ mix(transfer));
    let mut position = offset;
    let mut rest = bytes;
    while !rest.is_empty() {
        let word = (mix(of_transfer ^ (position / 8)) & PATTERN_BITS).to_le_bytes();
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
    fn seed_transfer_and_offset_each_change_the_bytes() {
        let base = bytes(1, 0, 0, 64);
        assert_ne!(base, bytes(2, 0, 0, 64));
        assert_ne!(base, bytes(1, 1, 0, 64));
        assert_ne!(base, bytes(1, 0, 64, 64));
        assert_ne!(base, bytes(1, 0, 1, 64));
    }

    proptest! {
        #[test]
        fn any_piece_is_a_piece_of_the_whole(seed: u64, transfer: u64, from in 0usize..200, length in 0usize..200) {
            let whole = bytes(seed, transfer, 0, 400);
            prop_assert_eq!(bytes(seed, transfer, from as u64, length), whole[from..from + length].to_vec());
            prop_assert!(whole.iter().all(|byte| *byte != POISON && byte & 0x80 == 0));
        }
    }
}
