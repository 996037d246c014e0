//! Latency samples of one thread. They are stored individually if their number is known in advance and at most
//! `MAX_SAMPLES`; otherwise, they are counted in a histogram. Recording does not allocate: all memory is allocated, and
//! its pages touched, before the window.

use crds::assignment::Extent;
use crds::histogram::Histogram;
use crds::quantile::exclusive;
use crds::record::ExclusiveQuantiles;

/// Maximum number of samples per thread that are stored individually. They occupy 8 MB.
pub(crate) const MAX_SAMPLES: u32 = 1_000_000;

/// Latency distribution of a window.
#[derive(Clone, Debug, PartialEq)]
pub struct Latency {
    /// Distribution of all samples.
    pub histogram: Histogram,
    /// Smallest sample in nanoseconds; 0 if there are no samples.
    pub min_nanos: u64,
    /// Largest sample in nanoseconds; 0 if there are no samples.
    pub max_nanos: u64,
    /// Percentiles computed from the individual samples; `None` if the samples were not stored.
    pub exclusive_quantiles: Option<ExclusiveQuantiles>,
}

/// Sample recorder of one thread.
#[derive(Clone, Debug)]
pub enum Recorder {
    /// Stores every sample.
    Samples(Samples),
    /// Stores only the distribution.
    Distribution(Box<Distribution>),
}

/// All samples of a window.
#[derive(Clone, Debug)]
pub struct Samples {
    values: Vec<u64>,
    count: usize,
}

/// Distribution of a window's samples.
#[derive(Clone, Debug)]
pub struct Distribution {
    histogram: Histogram,
    min: u64,
    max: u64,
}

impl Recorder {
    /// Allocates memory for one thread's samples in a window of this extent.
    pub fn new(measured: Extent) -> Self {
        match measured {
            // The memory is written once here, so that no page fault occurs in the timed region.
            Extent::Iterations(count)
            | Extent::FillWindow {
                min_iterations: count,
                ..
            } if count <= MAX_SAMPLES => Self::Samples(Samples {
                values: vec![u64::MAX; count as usize],
                count: 0,
            }),
            Extent::Iterations(_) | Extent::DurationNanos(_) | Extent::FillWindow { .. } => {
                Self::Distribution(Box::new(Distribution {
                    histogram: Histogram::new(),
                    min: u64::MAX,
                    max: 0,
                }))
            }
        }
    }

    /// Adds a sample in nanoseconds.
    ///
    /// Callers never add more samples than the window has iterations; excess samples would be dropped.
    #[inline]
    pub fn record(&mut self, nanos: u64) {
        match self {
            Self::Samples(samples) => {
                if let Some(value) = samples.values.get_mut(samples.count) {
                    *value = nanos;
                    samples.count += 1;
                }
            }
            Self::Distribution(distribution) => {
                distribution.histogram.record(nanos);
                distribution.min = distribution.min.min(nanos);
                distribution.max = distribution.max.max(nanos);
            }
        }
    }

    /// Number of samples recorded so far.
    pub fn count(&self) -> u64 {
        match self {
            Self::Samples(samples) => samples.count as u64,
            Self::Distribution(distribution) => distribution.histogram.count(),
        }
    }

    /// Samples recorded so far, in order; empty if only their distribution is stored.
    pub fn samples(&self) -> &[u64] {
        match self {
            Self::Samples(samples) => &samples.values[..samples.count],
            Self::Distribution(_) => &[],
        }
    }

    /// Mean of the stored samples, and their sample standard deviation (divisor n - 1) if there is more than one.
    /// `None` if there are no samples, or if only their distribution is stored.
    pub fn moments(&self) -> Option<(f64, Option<f64>)> {
        let samples = self.samples();
        let count = samples.len() as f64;
        let mean = samples.iter().map(|nanos| *nanos as f64).sum::<f64>() / count;
        let squares = samples.iter().map(|nanos| (*nanos as f64 - mean).powi(2));
        let variance = squares.sum::<f64>() / (count - 1.0);
        (count > 0.0).then(|| (mean, (count > 1.0).then(|| variance.sqrt())))
    }

    /// Merges the samples of all threads.
    pub fn finish(recorders: impl IntoIterator<Item = Self>) -> Latency {
        let mut samples = Vec::new();
        let mut distributions = Vec::new();
        let (mut min, mut max) = (u64::MAX, 0);
        for recorder in recorders {
            match recorder {
                Self::Samples(stored) => samples.extend_from_slice(&stored.values[..stored.count]),
                Self::Distribution(distribution) => {
                    min = min.min(distribution.min);
                    max = max.max(distribution.max);
                    distributions.push(distribution.histogram);
                }
            }
        }
        samples.sort_unstable();
        let mut histogram = Histogram::up_to(samples.last().copied().unwrap_or(0).max(max));
        distributions
            .iter()
            .for_each(|distribution| histogram.merge(distribution));
        for sample in &samples {
            histogram.record(*sample);
        }
        if let (Some(smallest), Some(largest)) = (samples.first(), samples.last()) {
            (min, max) = (min.min(*smallest), max.max(*largest));
        }
        Latency {
            min_nanos: if histogram.count() == 0 { 0 } else { min },
            max_nanos: max,
            histogram,
            exclusive_quantiles: exclusive_quantiles(&samples),
        }
    }
}

fn exclusive_quantiles(sorted: &[u64]) -> Option<ExclusiveQuantiles> {
    Some(ExclusiveQuantiles {
        p50_nanos: exclusive(sorted, 1, 2)?,
        p95_nanos: exclusive(sorted, 19, 20)?,
        p99_nanos: exclusive(sorted, 99, 100)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorder_with(extent: Extent, values: impl IntoIterator<Item = u64>) -> Recorder {
        let mut recorder = Recorder::new(extent);
        values.into_iter().for_each(|value| recorder.record(value));
        recorder
    }

    #[test]
    fn merges_threads_and_interpolates_individual_samples() {
        let odd = recorder_with(Extent::Iterations(500), (1..=1000).step_by(2));
        let even = recorder_with(Extent::Iterations(500), (2..=1000).step_by(2));
        assert_eq!(odd.count(), 500);
        let latency = Recorder::finish([odd, even]);
        assert_eq!((latency.min_nanos, latency.max_nanos), (1, 1000));
        assert_eq!(latency.histogram.count(), 1000);
        let exclusive = latency.exclusive_quantiles.unwrap();
        assert_eq!(
            (exclusive.p50_nanos, exclusive.p95_nanos, exclusive.p99_nanos),
            (500.5, 950.95, 990.99)
        );
    }

    #[test]
    fn computes_the_mean_and_the_sample_standard_deviation() {
        let moments = |values: &[u64]| {
            let extent = Extent::Iterations(values.len() as u32);
            recorder_with(extent, values.iter().copied()).moments()
        };
        assert_eq!(moments(&[2, 4, 9]), Some((5.0, Some(13.0_f64.sqrt()))));
        assert_eq!(moments(&[7]), Some((7.0, None)));
        assert_eq!(moments(&[]), None);
        assert_eq!(recorder_with(Extent::DurationNanos(1), [5]).moments(), None);
    }

    #[test]
    fn stores_distribution_and_exact_extremes_for_a_duration() {
        let recorder = recorder_with(Extent::DurationNanos(1), [123_457, 7, 5_000_001]);
        assert_eq!(recorder.count(), 3);
        let latency = Recorder::finish([recorder]);
        assert_eq!((latency.min_nanos, latency.max_nanos), (7, 5_000_001));
        assert_eq!(latency.histogram.count(), 3);
        assert_eq!(latency.exclusive_quantiles, None);
    }

    #[test]
    fn stores_only_the_distribution_above_the_sample_limit() {
        let latency = Recorder::finish([recorder_with(Extent::Iterations(MAX_SAMPLES + 1), [5])]);
        assert_eq!(
            (latency.histogram.count(), latency.exclusive_quantiles),
            (1, None)
        );
    }

    #[test]
    fn reports_zeros_without_samples() {
        let latency = Recorder::finish([Recorder::new(Extent::Iterations(10))]);
        assert_eq!((latency.min_nanos, latency.max_nanos), (0, 0));
        assert_eq!(
            (latency.histogram.count(), latency.exclusive_quantiles),
            (0, None)
        );
    }

    #[test]
    fn drops_samples_beyond_the_fixed_number() {
        let latency = Recorder::finish([recorder_with(Extent::Iterations(2), [1, 2, 3])]);
        assert_eq!(latency.histogram.count(), 2);
    }
}
