//! Samples of one thread: kept one by one where their number is fixed and not very large, else counted in a histogram.
//! Recording allocates nothing; all memory is made, and its pages touched, before the window.

use crds::assignment::Extent;
use crds::histogram::Histogram;
use crds::quantile::exclusive;
use crds::record::ExclusiveQuantiles;

/// Most samples that are kept one by one, of each thread: 8 MB.
const MOST_KEPT: u32 = 1_000_000;

/// What the samples of a window come to.
#[derive(Clone, Debug, PartialEq)]
pub struct Latency {
    /// Distribution.
    pub histogram: Histogram,
    /// Smallest, in nanoseconds; 0 without samples.
    pub min_nanos: u64,
    /// Largest, in nanoseconds.
    pub max_nanos: u64,
    /// Percentiles of the samples themselves, where all were kept.
    pub exclusive_quantiles: Option<ExclusiveQuantiles>,
}

/// Recorder of one thread.
#[derive(Debug)]
pub enum Recorder {
    /// Keeps every sample.
    Samples(Samples),
    /// Keeps their distribution.
    Distribution(Box<Distribution>),
}

/// Every sample of a window.
#[derive(Debug)]
pub struct Samples {
    values: Vec<u64>,
    count: usize,
}

/// The distribution of the samples of a window.
#[derive(Debug)]
pub struct Distribution {
    histogram: Histogram,
    min: u64,
    max: u64,
}

impl Recorder {
    /// Room for the samples of one thread in a window of this extent.
    pub fn new(measured: Extent) -> Self {
        match measured {
            // Written once, so that no page is touched for the first time while times are taken.
            Extent::Iterations(count) if count <= MOST_KEPT => Self::Samples(Samples {
                values: vec![u64::MAX; count as usize],
                count: 0,
            }),
            Extent::Iterations(_) | Extent::DurationNanos(_) => Self::Distribution(Box::new(Distribution {
                histogram: Histogram::new(),
                min: u64::MAX,
                max: 0,
            })),
        }
    }

    /// Adds a sample of `nanos`. Samples beyond the room of a fixed number are not kept; there are none.
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

    /// What the samples of all threads come to.
    pub fn finish(recorders: impl IntoIterator<Item = Self>) -> Latency {
        let mut samples = Vec::new();
        let mut histogram = Histogram::new();
        let (mut min, mut max) = (u64::MAX, 0);
        for recorder in recorders {
            match recorder {
                Self::Samples(kept) => samples.extend_from_slice(&kept.values[..kept.count]),
                Self::Distribution(distribution) => {
                    histogram.merge(&distribution.histogram);
                    min = min.min(distribution.min);
                    max = max.max(distribution.max);
                }
            }
        }
        samples.sort_unstable();
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

    fn recorded(extent: Extent, values: impl IntoIterator<Item = u64>) -> Recorder {
        let mut recorder = Recorder::new(extent);
        values.into_iter().for_each(|value| recorder.record(value));
        recorder
    }

    #[test]
    fn threads_are_merged_and_their_raw_samples_interpolated() {
        let odd = recorded(Extent::Iterations(500), (1..=1000).step_by(2));
        let even = recorded(Extent::Iterations(500), (2..=1000).step_by(2));
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
    fn a_duration_keeps_the_distribution_and_the_exact_ends() {
        let latency = Recorder::finish([recorded(Extent::DurationNanos(1), [123_457, 7, 5_000_001])]);
        assert_eq!((latency.min_nanos, latency.max_nanos), (7, 5_000_001));
        assert_eq!(latency.histogram.count(), 3);
        assert_eq!(latency.exclusive_quantiles, None);
    }

    #[test]
    fn very_many_samples_are_not_kept_one_by_one() {
        let latency = Recorder::finish([recorded(Extent::Iterations(MOST_KEPT + 1), [5])]);
        assert_eq!(
            (latency.histogram.count(), latency.exclusive_quantiles),
            (1, None)
        );
    }

    #[test]
    fn without_samples_there_is_nothing_to_say() {
        let latency = Recorder::finish([Recorder::new(Extent::Iterations(10))]);
        assert_eq!((latency.min_nanos, latency.max_nanos), (0, 0));
        assert_eq!(
            (latency.histogram.count(), latency.exclusive_quantiles),
            (0, None)
        );
    }

    #[test]
    fn what_does_not_fit_is_not_kept() {
        let latency = Recorder::finish([recorded(Extent::Iterations(2), [1, 2, 3])]);
        assert_eq!(latency.histogram.count(), 2);
    }
}
