//! Simulates one scenario at one size: rounds of blocks, as a campaign measures them.

use fabricbench_campaign::stats::{Pair, round_effect};
use rand::Rng;
use rand::seq::SliceRandom;

use super::noise::{Noise, SharedNoise};

/// Number of arms in a block, including the baseline.
pub const ARMS: usize = 5;

/// Standard deviation, per unit of noise, of the logarithm of the value that a case measures.
const SPREAD: f64 = 0.05;

/// Weight of the shared noise, which is the same for all pairs of a case, in simulations with several pairs.
const SHARED: f64 = 0.5;

/// Latency of the baseline without noise, in microseconds.
const BASELINE: f64 = 4.13;

/// The order of the arms within a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// A new random order in each block.
    Random,
    /// The same order in every block, with the baseline first.
    Fixed,
}

/// Parameters of a simulated campaign.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    /// Noise of the cases.
    pub noise: Noise,
    /// Order of the arms in the blocks.
    pub order: Order,
    /// Number of pairs of workers, each with one value per case.
    pub pairs: usize,
    /// Number of rounds of the campaign.
    pub rounds: usize,
}

impl Setting {
    /// Simulates a campaign at one size.
    ///
    /// For each of the first `compared` arms after the baseline, returns the pairs of each round. The true effect of
    /// every arm is `effect`, a log ratio to the baseline.
    pub fn measure(&self, compared: usize, effect: f64, rng: &mut impl Rng) -> Vec<Vec<Vec<Pair>>> {
        let mut shared_noise = SharedNoise::new(self.noise, rng);
        let mut arms = vec![Vec::with_capacity(self.rounds); compared];
        for _ in 0..self.rounds {
            let mut position_of_arm: [usize; ARMS] = std::array::from_fn(|arm| arm);
            if self.order == Order::Random {
                position_of_arm.shuffle(rng);
            }
            let block: [f64; ARMS] = shared_noise.block(rng);
            let mut value = |arm: usize| {
                let shared = block[position_of_arm[arm]];
                let noise = match self.pairs {
                    1 => shared,
                    _ => SHARED * shared + self.noise.independent(rng),
                };
                let effect = if arm == 0 { 0.0 } else { effect };
                BASELINE * (effect + SPREAD * noise).exp()
            };
            let baseline: Vec<f64> = (0..self.pairs).map(|_| value(0)).collect();
            for (index, rounds) in arms.iter_mut().enumerate() {
                let pairs = baseline.iter().map(|&baseline| Pair {
                    arm: value(index + 1),
                    baseline,
                });
                rounds.push(pairs.collect::<Vec<Pair>>());
            }
        }
        arms
    }
}

/// The effect of each round.
pub fn round_effects(rounds: &[Vec<Pair>]) -> Vec<f64> {
    rounds
        .iter()
        .filter_map(|pairs| round_effect(pairs).expect("simulated values are positive"))
        .collect()
}

/// The effect of each pair in each round, as if they were independent repetitions.
pub fn pair_effects(rounds: &[Vec<Pair>]) -> Vec<f64> {
    rounds
        .iter()
        .flatten()
        .map(|pair| (pair.arm / pair.baseline).ln())
        .collect()
}
