//! Intended start times of the operations in an open loop. Computing a start time neither allocates nor reads the clock.

use crds::v1alpha1::{Arrivals, OpenLoop};

const NANOS_PER_SECOND: f64 = 1e9;

/// Intended start times of one thread.
#[derive(Debug)]
pub struct Schedule {
    mean_gap: f64,
    arrivals: Arrivals,
    state: u64,
    /// Time from the first to the next intended start, in nanoseconds. The fraction is retained, so that rounding
    /// errors do not accumulate.
    next: f64,
}

impl Schedule {
    /// Creates the schedule for `load`. Equal seeds give equal schedules.
    pub fn new(load: OpenLoop, seed: u64) -> Self {
        Self {
            mean_gap: NANOS_PER_SECOND / f64::from(load.rate.max(1)),
            arrivals: load.arrivals,
            state: seed,
            next: 0.0,
        }
    }

    /// Time of the next intended start, in nanoseconds since the first one.
    #[inline]
    pub fn next(&self) -> u64 {
        self.next as u64
    }

    /// Advances to the intended start after the next one.
    #[inline]
    pub fn advance(&mut self) {
        self.next += match self.arrivals {
            Arrivals::Constant => self.mean_gap,
            // The inverse of the cumulative distribution of an exponential variable.
            Arrivals::Poisson => -self.mean_gap * self.uniform().ln(),
        };
    }

    /// Draws a number that is uniformly distributed above 0 and at most 1, with SplitMix64 (Steele, Lea, Flood 2014).
    fn uniform(&mut self) -> f64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        ((mixed >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNT: usize = 100_000;

    fn starts(arrivals: Arrivals, rate: u32, seed: u64) -> Vec<u64> {
        let mut schedule = Schedule::new(OpenLoop { rate, arrivals }, seed);
        let next = |_| {
            let next = schedule.next();
            schedule.advance();
            next
        };
        (0..COUNT).map(next).collect()
    }

    #[test]
    fn constant_starts_do_not_drift() {
        let starts = starts(Arrivals::Constant, 3, 1);
        assert_eq!(starts[..3], [0, 333_333_333, 666_666_666]);
        let expected = 33_333 * 1_000_000_000;
        assert!(starts[99_999].abs_diff(expected) < 1000, "{}", starts[99_999]);
    }

    #[test]
    fn poisson_gaps_have_the_mean_and_deviation_of_an_exponential_distribution() {
        let starts = starts(Arrivals::Poisson, 10_000, 7);
        let gaps: Vec<f64> = starts.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        // The standard error of the mean is 0.3 percent.
        assert!((mean / 1e5 - 1.0).abs() < 0.02, "{mean}");
        assert!((variance.sqrt() / 1e5 - 1.0).abs() < 0.03, "{variance}");
    }

    #[test]
    fn equal_seeds_give_equal_schedules() {
        assert_eq!(starts(Arrivals::Poisson, 9, 5), starts(Arrivals::Poisson, 9, 5));
        assert_ne!(starts(Arrivals::Poisson, 9, 5), starts(Arrivals::Poisson, 9, 6));
    }
}
