//! Calls within one process: the baseline without isolation.

use std::hint::black_box;

/// Calls a function that calls itself until `hops` calls have been made, each with a reference to `payload`. Returns
/// the length of the payload.
#[inline(never)]
pub(super) fn call(payload: &[u8], hops: u32) -> u64 {
    if hops > 1 {
        // The compiler must not turn the calls into a loop.
        return black_box(call(black_box(payload), hops - 1));
    }
    black_box(payload).len() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_depth_returns_the_length() {
        for hops in [1, 2, 64] {
            assert_eq!(call(&[7; 110], hops), 110);
        }
    }
}
