//! Seed of the random order of a run.

use crds::v1alpha1::BenchmarkRun;
use sha2::{Digest, Sha256};

/// Number of bits in a derived seed. JSON parsers that use double-precision numbers represent such a seed exactly.
const BITS: u32 = 53;

/// Seed of `run`: `spec.sampling.seed`, or a number derived from `metadata.uid`.
///
/// The UID is random, so every run that does not set a seed has a different order, but every program that reads the
/// same run derives the same order. A run without a UID has not been created yet; its seed is derived from an empty
/// UID.
pub(super) fn seed(run: &BenchmarkRun) -> u64 {
    let drawn = || from_uid(run.metadata.uid.as_deref().unwrap_or_default());
    run.spec.sampling.seed.unwrap_or_else(drawn)
}

/// The highest [`BITS`] bits of the SHA-256 hash of `uid`.
fn from_uid(uid: &str) -> u64 {
    let digest = Sha256::digest(uid.as_bytes());
    let (first, _) = digest.split_at(size_of::<u64>());
    first.iter().fold(0, |value, byte| value << 8 | u64::from(*byte)) >> (u64::BITS - BITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn derived_seed_is_the_start_of_the_uid_hash() {
        // Output of `printf %s 00000000-0000-4000-8000-000000000000 | sha256sum | cut -c1-16`, shifted right by 11
        // bits.
        assert_eq!(
            from_uid("00000000-0000-4000-8000-000000000000"),
            0x1b_700a_bc1c_060f
        );
        assert_ne!(from_uid("a"), from_uid("b"));
    }
}
