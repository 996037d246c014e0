//! Rate at which one thread copies memory, which bounds the throughput of transports that copy. Allocates two buffers.

use std::hint::black_box;

use super::clock;

/// Size of each buffer in bytes. Both buffers together fit in the L2 cache of current server CPUs. Larger buffers are
/// copied more slowly, so their rate would not be an upper bound.
const BUFFER_BYTES: usize = 256 * 1024;
/// Number of copies in a batch.
const COPIES: u32 = 16;
/// Number of batches. All batches together take a few milliseconds.
const BATCHES: u32 = 8;

/// Copy rate of the fastest batch, in bytes per second.
pub fn bytes_per_second() -> u64 {
    let source = vec![1_u8; BUFFER_BYTES];
    let mut target = vec![0_u8; BUFFER_BYTES];
    let mut fastest = u64::MAX;
    for _ in 0..BATCHES {
        let start = clock::now();
        for _ in 0..COPIES {
            black_box(&mut target).copy_from_slice(black_box(&source));
        }
        fastest = fastest.min(clock::now() - start);
    }
    let bytes = BUFFER_BYTES as f64 * f64::from(COPIES);
    (bytes * 1e9 / fastest.max(1) as f64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rate_is_plausible() {
        let rate = bytes_per_second();
        assert!(
            (100_000_000..1_000_000_000_000).contains(&rate),
            "{rate} bytes per second"
        );
    }
}
