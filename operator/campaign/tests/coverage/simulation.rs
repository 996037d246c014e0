//! Simulated campaigns with a known true effect, evaluated by the same functions as measured ones.
//!
//! Every table row uses a separate stream of one seeded generator, so a table does not depend on the order in which its
//! rows are computed.
#![allow(
    clippy::expect_used,
    reason = "the inputs of the simulation are constants, and an invalid one must stop the test"
)]

pub mod campaign;
pub mod experiments;
pub mod noise;
pub mod report;
pub mod settled;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// Seed of all simulations.
const SEED: u64 = 20_240_229;

/// The random number generator for one row.
pub fn generator(stream: u64) -> ChaCha8Rng {
    let mut generator = ChaCha8Rng::seed_from_u64(SEED);
    generator.set_stream(stream);
    generator
}
