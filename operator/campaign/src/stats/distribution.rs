//! Latencies as counts per histogram bucket, which can be merged and queried for quantiles. Performs no I/O.
//!
//! Its buckets are those of the histograms in records, so merging and quantiles lose no precision.

use std::collections::BTreeMap;

use crds::histogram::Histogram;
use crds::record::{Durations, Posted};
use serde::{Serialize, Serializer};

/// Number of samples by bucket. The key of a bucket is its highest value, in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Distribution {
    buckets: BTreeMap<u64, u64>,
    count: u64,
}

impl Distribution {
    /// Creates the distribution of a histogram whose largest sample is `max_nanos`.
    pub fn with_maximum(histogram: &Histogram, max_nanos: u64) -> Self {
        let mut distribution = Self::default();
        distribution.add(histogram, max_nanos);
        distribution
    }

    /// Adds all samples of a histogram whose largest sample is `max_nanos`.
    ///
    /// The last bucket is cut off at this sample, so that no quantile exceeds the maximum. A maximum outside the last
    /// bucket is ignored.
    pub fn add(&mut self, histogram: &Histogram, max_nanos: u64) {
        let mut buckets = histogram.buckets().peekable();
        let mut previous = 0;
        while let Some((highest, count)) = buckets.next() {
            let is_last = buckets.peek().is_none();
            let end = match is_last && max_nanos > previous {
                true => highest.min(max_nanos),
                false => highest,
            };
            let bucket = self.buckets.entry(end).or_default();
            *bucket = bucket.saturating_add(count);
            self.count = self.count.saturating_add(count);
            previous = highest;
        }
    }

    /// Adds the latencies of the posts.
    pub fn add_latencies(&mut self, posted: &Posted) {
        self.add(&posted.latency, posted.max_nanos);
    }

    /// Adds all samples of `durations`.
    pub fn add_durations(&mut self, durations: &Durations) {
        self.add(&durations.histogram, durations.max_nanos);
    }

    /// Number of samples.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Latency in nanoseconds at or below which the fraction `quantile` (0 to 1) of the samples lies, as computed by
    /// [`Histogram::quantile`]; `None` if there are no samples.
    pub fn quantile(&self, quantile: f64) -> Option<u64> {
        let rank = (quantile.clamp(0.0, 1.0) * self.count as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        self.buckets.iter().find_map(|(nanos, count)| {
            seen += count;
            (seen >= rank).then_some(*nanos)
        })
    }

    /// Quantile in the tail, in nanoseconds; `None` if there are so few samples that the quantile would be the maximum.
    pub fn tail_quantile(&self, quantile: f64) -> Option<u64> {
        let rank = (quantile * self.count as f64).ceil();
        self.quantile(quantile).filter(|_| rank < self.count as f64)
    }

    /// Pairs of (highest value of the bucket in nanoseconds, number of samples in it), ascending.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.buckets.iter().map(|(nanos, count)| (*nanos, *count))
    }
}

/// The latencies of the posts.
impl From<&Posted> for Distribution {
    fn from(posted: &Posted) -> Self {
        Self::with_maximum(&posted.latency, posted.max_nanos)
    }
}

/// Serializes as a list of `[nanos, count]`.
impl Serialize for Distribution {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.buckets())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn whole(histogram: &Histogram) -> Distribution {
        Distribution::with_maximum(histogram, u64::MAX)
    }

    fn histogram(samples: &[u64]) -> Histogram {
        let mut histogram = Histogram::new();
        samples.iter().for_each(|sample| histogram.record(*sample));
        histogram
    }

    #[test]
    fn tail_quantile_needs_a_sample_beyond_it() {
        let p99_of_samples =
            |count: u64| whole(&histogram(&(1..=count).collect::<Vec<_>>())).tail_quantile(0.99);
        assert_eq!(
            (
                p99_of_samples(0),
                p99_of_samples(99),
                p99_of_samples(100),
                p99_of_samples(200)
            ),
            (None, None, Some(99), Some(198))
        );
    }

    #[test]
    fn empty_distribution_has_no_quantile() {
        assert_eq!(Distribution::default().quantile(0.5), None);
    }

    #[test]
    fn ignores_a_maximum_below_the_last_bucket() {
        let histogram = histogram(&[1_000, 2_000_000]);
        assert_eq!(Distribution::with_maximum(&histogram, 500), whole(&histogram));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn no_quantile_exceeds_the_maximum(samples in prop::collection::vec(1u64..1 << 38, 1..100)) {
            let max = samples.iter().copied().max().unwrap();
            let distribution = Distribution::with_maximum(&histogram(&samples), max);
            prop_assert_eq!(distribution.quantile(1.0), Some(max));
            prop_assert_eq!(distribution.count(), samples.len() as u64);
        }

        #[test]
        fn agrees_with_the_histogram_of_records(
            samples in prop::collection::vec(1u64..1 << 38, 1..100),
            more in prop::collection::vec(1u64..1 << 38, 0..100),
            quantile in prop::sample::select(vec![0.01, 0.5, 0.9, 0.95, 0.99, 0.999, 1.0]),
        ) {
            let (mut histogram, other) = (histogram(&samples), histogram(&more));
            let mut distribution = whole(&histogram);
            distribution.add(&other, u64::MAX);
            histogram.merge(&other);
            prop_assert_eq!(distribution.count(), histogram.count());
            prop_assert_eq!(distribution.quantile(quantile), histogram.quantile(quantile));
        }
    }
}
