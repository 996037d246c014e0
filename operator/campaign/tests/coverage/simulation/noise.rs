//! Noise of the cases of a campaign.

use std::fmt;

use rand::{Rng, RngExt};
use rand_distr::StandardNormal;

/// Correlation of neighboring values in the autocorrelated noises.
const MEMORY: f64 = 0.7;

/// Model of the noise of one case. All are in units of roughly one standard deviation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Noise {
    /// Independent, normal.
    Normal,
    /// Independent, lognormal: a long tail to one side.
    Skewed,
    /// Independent, one of two modes for each fresh process.
    Bimodal,
    /// First-order autoregression over the sequence of cases, within rounds and from one to the next.
    Wandering,
    /// The machine changes steadily within a round, at a rate that is correlated from round to round.
    Drifting,
    /// Later places in a block are slower, on top of independent normal noise.
    Warming,
}

impl Noise {
    /// All of them.
    pub const ALL: [Noise; 6] = [
        Noise::Normal,
        Noise::Skewed,
        Noise::Bimodal,
        Noise::Wandering,
        Noise::Drifting,
        Noise::Warming,
    ];

    /// One independent draw with the distribution of this noise.
    pub fn independent(self, rng: &mut impl Rng) -> f64 {
        let normal: f64 = rng.sample(StandardNormal);
        match self {
            Noise::Skewed => normal.exp(),
            Noise::Bimodal => 0.3 * normal + if rng.random_bool(0.3) { 2.0 } else { 0.0 },
            Noise::Normal | Noise::Wandering | Noise::Drifting | Noise::Warming => normal,
        }
    }
}

impl fmt::Display for Noise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Noise::Normal => "normal",
            Noise::Skewed => "skewed",
            Noise::Bimodal => "bimodal",
            Noise::Wandering => "wandering",
            Noise::Drifting => "drifting",
            Noise::Warming => "warming",
        })
    }
}

/// The noise that all pairs of a case share, in the order in which the cases run.
pub struct Weather {
    noise: Noise,
    memory: f64,
}

impl Weather {
    /// Weather in its stationary state.
    pub fn new(noise: Noise, rng: &mut impl Rng) -> Weather {
        Weather {
            noise,
            memory: rng.sample(StandardNormal),
        }
    }

    /// The noise of the next block, one value for each place in it.
    pub fn block<const ARMS: usize>(&mut self, rng: &mut impl Rng) -> [f64; ARMS] {
        if self.noise == Noise::Drifting {
            self.remember(rng);
        }
        std::array::from_fn(|place| match self.noise {
            Noise::Normal | Noise::Skewed | Noise::Bimodal => self.noise.independent(rng),
            Noise::Wandering => self.remember(rng),
            Noise::Drifting => self.memory * place as f64,
            Noise::Warming => 0.5 * place as f64 + self.noise.independent(rng),
        })
    }

    fn remember(&mut self, rng: &mut impl Rng) -> f64 {
        let innovation: f64 = rng.sample(StandardNormal);
        self.memory = MEMORY * self.memory + (1.0 - MEMORY * MEMORY).sqrt() * innovation;
        self.memory
    }
}
