//! Noise of campaign cases.

use std::fmt;

use rand::{Rng, RngExt};
use rand_distr::StandardNormal;

/// Correlation of successive values in the autocorrelated models.
const LAG_1_CORRELATION: f64 = 0.7;

/// Model of the noise of one case. The unit of the noise is roughly one standard deviation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Noise {
    /// Independent normal values.
    Normal,
    /// Independent lognormal values, which have a long tail to one side.
    Skewed,
    /// Independent values, each drawn from one of two modes, as if each new process settled into one of them.
    Bimodal,
    /// First-order autoregression over the sequence of cases, within and between rounds.
    Autoregressive,
    /// A linear drift within each round, whose slope is correlated between rounds.
    Drifting,
    /// Later positions in a block are slower, in addition to independent normal noise.
    Warming,
}

impl Noise {
    /// All models.
    pub const ALL: [Noise; 6] = [
        Noise::Normal,
        Noise::Skewed,
        Noise::Bimodal,
        Noise::Autoregressive,
        Noise::Drifting,
        Noise::Warming,
    ];

    /// One independent draw with the distribution of this noise.
    pub fn independent(self, rng: &mut impl Rng) -> f64 {
        let normal: f64 = rng.sample(StandardNormal);
        match self {
            Noise::Skewed => normal.exp(),
            Noise::Bimodal => 0.3 * normal + if rng.random_bool(0.3) { 2.0 } else { 0.0 },
            Noise::Normal | Noise::Autoregressive | Noise::Drifting | Noise::Warming => normal,
        }
    }
}

impl fmt::Display for Noise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Noise::Normal => "normal",
            Noise::Skewed => "skewed",
            Noise::Bimodal => "bimodal",
            Noise::Autoregressive => "autoregressive",
            Noise::Drifting => "drifting",
            Noise::Warming => "warming",
        })
    }
}

/// The noise that all pairs of a case share, as a stochastic process over the cases in execution order.
pub struct SharedNoise {
    noise: Noise,
    /// Last value of the autoregression.
    state: f64,
}

impl SharedNoise {
    /// Creates the noise process in its stationary state.
    pub fn new(noise: Noise, rng: &mut impl Rng) -> SharedNoise {
        SharedNoise {
            noise,
            state: rng.sample(StandardNormal),
        }
    }

    /// The noise of the next block, one value for each position in it.
    pub fn block<const ARMS: usize>(&mut self, rng: &mut impl Rng) -> [f64; ARMS] {
        if self.noise == Noise::Drifting {
            self.advance(rng);
        }
        std::array::from_fn(|position| match self.noise {
            Noise::Normal | Noise::Skewed | Noise::Bimodal => self.noise.independent(rng),
            Noise::Autoregressive => self.advance(rng),
            Noise::Drifting => self.state * position as f64,
            Noise::Warming => 0.5 * position as f64 + self.noise.independent(rng),
        })
    }

    fn advance(&mut self, rng: &mut impl Rng) -> f64 {
        let innovation: f64 = rng.sample(StandardNormal);
        self.state = LAG_1_CORRELATION * self.state
            + (1.0 - LAG_1_CORRELATION * LAG_1_CORRELATION).sqrt() * innovation;
        self.state
    }
}
