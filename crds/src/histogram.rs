//! Latency histogram with serialization, merging and quantiles. Performs no I/O.
//!
//! Uses [HdrHistogram](https://hdrhistogram.github.io/HdrHistogram/) with three significant figures, so the relative
//! error of each value is at most 1 in 1000. Records contain the V2 DEFLATE encoding of HdrHistogram in base64, which
//! other tools can read. The encoded range ends at the largest value, so a tool that adds histograms must let them
//! grow. A histogram that does not fit in a record is encoded with fewer significant figures
//! ([`Histogram::copy_with_figures`]).

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::serialization::{Deserializer as HdrDeserializer, Serializer as _, V2DeflateSerializer};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use snafu::Snafu;

/// Maximum length of a base64 string that is decoded. It equals the maximum length of a record line, so every histogram
/// in a valid record is shorter.
const MAX_ENCODED_BYTES: usize = 16 * 1024;
/// Largest recordable value, in nanoseconds: five minutes. Larger values are clamped.
const MAX_NANOS: u64 = 300_000_000_000;
/// Maximum number of significant figures of a histogram.
pub const SIGNIFICANT_FIGURES: u8 = 3;

/// Error encoding or decoding a histogram.
#[derive(Debug, Snafu)]
pub enum HistogramError {
    /// The string is too long.
    #[snafu(display("the histogram is {length} characters long; the maximum is {MAX_ENCODED_BYTES}"))]
    TooLong {
        /// Length of the string, in characters.
        length: usize,
    },
    /// The string is not valid base64.
    #[snafu(display("the histogram is not base64: {source}"))]
    Base64 {
        /// Decoder error.
        source: base64::DecodeError,
    },
    /// The bytes are not an HdrHistogram with the expected bounds.
    #[snafu(display("the histogram cannot be decoded: {reason}"))]
    Encoding {
        /// Why encoding or decoding failed.
        reason: String,
    },
}

/// Histogram of durations in nanoseconds, from 1 ns to five minutes, with at most three significant figures.
///
/// Memory for the whole range takes 240 KB with three significant figures. A histogram that is not created with
/// [`Histogram::new`] has memory only for its values, and grows when larger values are added.
///
/// A histogram that is read from a record has memory only for the buckets that have samples, because a case fills only a few
/// hundred of the buckets of its range, and a run has many cases.
#[derive(Clone, Debug)]
pub struct Histogram {
    /// Memory for a range of values. `None` until a value is added to a histogram that was read.
    range: Option<Range>,
    /// Pairs of the highest value of a bucket and the number of samples in it, ascending, with three significant figures.
    /// Empty if there is a range.
    buckets: Box<[(u64, u64)]>,
}

/// HdrHistogram with memory for a range of values.
type Range = hdrhistogram::Histogram<u64>;

impl Histogram {
    /// Creates an empty histogram and allocates the memory for the whole range, so that recording does not allocate.
    pub fn new() -> Self {
        Self::up_to(MAX_NANOS)
    }

    /// Creates an empty histogram with memory for values of up to `nanos` nanoseconds.
    pub fn up_to(nanos: u64) -> Self {
        Self::from(new_range(nanos, SIGNIFICANT_FIGURES))
    }

    /// Returns a copy with memory only for its values and with `figures` significant figures (1 to 3). With fewer
    /// figures, its encoding is shorter. Every sample is then placed in the middle of its bucket, so that the relative
    /// error of quantiles is at most 1 in 200 with two figures and 1 in 20 with one.
    pub fn copy_with_figures(&self, figures: u8) -> Self {
        let range = self.range();
        let mut copy = new_range(range.max(), figures);
        merge(&mut copy, &range);
        Self::from(copy)
    }

    /// Adds one sample of `nanos` nanoseconds. Values outside the range are clamped.
    pub fn record(&mut self, nanos: u64) {
        record_many(self.range_mut(), nanos, 1);
    }

    /// Adds all samples of `other`.
    pub fn merge(&mut self, other: &Self) {
        merge(self.range_mut(), &other.range());
    }

    /// Returns the samples with memory for their range.
    fn range(&self) -> Cow<'_, Range> {
        match &self.range {
            Some(range) => Cow::Borrowed(range),
            None => Cow::Owned(range_of(&self.buckets)),
        }
    }

    fn range_mut(&mut self) -> &mut Range {
        self.range
            .get_or_insert_with(|| range_of(&std::mem::take(&mut self.buckets)))
    }

    /// Number of samples.
    pub fn count(&self) -> u64 {
        match &self.range {
            Some(range) => range.len(),
            None => {
                let counts = self.buckets.iter().map(|(_, count)| *count);
                counts.fold(0, u64::saturating_add)
            }
        }
    }

    /// Value in nanoseconds at or below which the fraction `quantile` (0 to 1) of the samples lies, or `None` if there
    /// are no samples.
    pub fn quantile(&self, quantile: f64) -> Option<u64> {
        (self.count() > 0).then(|| self.range().value_at_quantile(quantile))
    }

    /// Mean in nanoseconds, or `None` if there are no samples.
    pub fn mean(&self) -> Option<f64> {
        (self.count() > 0).then(|| self.range().mean())
    }

    /// Recorded values in nanoseconds with their sample counts, in ascending order of value.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let recorded = self.range.iter().flat_map(Range::iter_recorded);
        let recorded = recorded.map(|step| (step.value_iterated_to(), step.count_at_value()));
        recorded.chain(self.buckets.iter().copied())
    }

    /// Encodes the histogram as V2 DEFLATE in base64. The encoded range ends at the largest value, so that a reader
    /// allocates memory only for the values.
    ///
    /// # Errors
    /// Returns an error if the histogram cannot be encoded, for example because a sample count is too large
    /// for the format.
    pub fn encode(&self) -> Result<String, HistogramError> {
        let mut bytes = Vec::new();
        let tight = self.copy_with_figures(self.range().sigfig());
        let encoded = V2DeflateSerializer::new().serialize(&tight.range(), &mut bytes);
        encoded.map_err(|error| HistogramError::Encoding {
            reason: format!("{error:?}"),
        })?;
        Ok(STANDARD.encode(bytes))
    }

    /// Decodes the output of [`Histogram::encode`].
    ///
    /// # Errors
    /// Returns an error if the string is too long, is not valid base64, or is not a histogram with the expected bounds.
    pub fn decode(text: &str) -> Result<Self, HistogramError> {
        if text.len() > MAX_ENCODED_BYTES {
            return TooLongSnafu { length: text.len() }.fail();
        }
        let bytes = STANDARD
            .decode(text)
            .map_err(|source| HistogramError::Base64 { source })?;
        let decoded: Range = HdrDeserializer::new()
            .deserialize(&mut bytes.as_slice())
            .map_err(|error| HistogramError::Encoding {
                reason: format!("{error:?}"),
            })?;
        // The bounds come from the input. A histogram with a larger range or more significant figures could not be
        // merged without loss.
        if decoded.sigfig() > SIGNIFICANT_FIGURES || decoded.high() > MAX_NANOS {
            return EncodingSnafu {
                reason: "it exceeds the maximum of five minutes or the precision of three significant figures",
            }
            .fail();
        }
        let precise = Self::from(decoded).copy_with_figures(SIGNIFICANT_FIGURES);
        Ok(Self {
            range: None,
            buckets: precise.buckets().collect(),
        })
    }
}

impl From<Range> for Histogram {
    fn from(range: Range) -> Self {
        Self {
            range: Some(range),
            buckets: Box::default(),
        }
    }
}

fn range_of(buckets: &[(u64, u64)]) -> Range {
    let mut range = new_range(buckets.last().map_or(0, |(nanos, _)| *nanos), SIGNIFICANT_FIGURES);
    buckets
        .iter()
        .for_each(|(nanos, count)| record_many(&mut range, *nanos, *count));
    range
}

/// Returns an empty range from 1 ns to `nanos`, which grows when larger values are added.
fn new_range(nanos: u64, figures: u8) -> Range {
    let figures = figures.clamp(1, SIGNIFICANT_FIGURES);
    // The library requires a range of at least a factor of two.
    #[allow(
        clippy::expect_used,
        reason = "the bounds are in the range that HdrHistogram accepts"
    )]
    let mut inner = hdrhistogram::Histogram::new_with_bounds(1, nanos.clamp(2, MAX_NANOS), figures)
        .expect("a range of 1 ns to at most five minutes with one to three significant figures");
    inner.auto(true);
    inner
}

fn record_many(range: &mut Range, nanos: u64, count: u64) {
    // The range grows up to the maximum, so this cannot fail.
    let _ = range.record_n(nanos.min(MAX_NANOS), count);
}

fn merge(range: &mut Range, other: &Range) {
    if range.sigfig() == other.sigfig() {
        // The range grows as necessary, and both have the same maximum, so this cannot fail.
        let _ = range.add(other);
        return;
    }
    for step in other.iter_recorded() {
        let middle = other.median_equivalent(step.value_iterated_to());
        record_many(range, middle, step.count_at_value());
    }
}

/// Histograms are equal if they have the same precision and the same counts, whatever memory they have.
impl PartialEq for Histogram {
    fn eq(&self, other: &Self) -> bool {
        self.range().sigfig() == other.range().sigfig() && self.buckets().eq(other.buckets())
    }
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl Serialize for Histogram {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.encode().map_err(serde::ser::Error::custom)?)
    }
}

impl<'de> Deserialize<'de> for Histogram {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::decode(&String::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

#[cfg(feature = "crd")]
mod schema {
    use std::borrow::Cow;

    use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

    impl JsonSchema for super::Histogram {
        fn schema_name() -> Cow<'static, str> {
            "Histogram".into()
        }

        fn json_schema(_: &mut SchemaGenerator) -> Schema {
            json_schema!({
                "type": "string",
                "description": "HdrHistogram V2 DEFLATE encoding in base64, in nanoseconds, with 3 significant \
                                figures, or fewer if the record would not fit in a line.",
                "maxLength": super::MAX_ENCODED_BYTES,
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn histogram(samples: &[u64]) -> Histogram {
        let mut histogram = Histogram::new();
        for sample in samples {
            histogram.record(*sample);
        }
        histogram
    }

    #[test]
    fn empty_histogram_has_no_quantile() {
        assert_eq!(Histogram::new().quantile(0.5), None);
        assert_eq!(Histogram::new().mean(), None);
    }

    #[test]
    fn coarse_histogram_has_a_short_encoding() {
        let mut wide = Histogram::new();
        // Samples from a linear congruential generator (Knuth's MMIX), spread evenly over all decades.
        let mut state = 1_u64;
        for _ in 0..1_000_000 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let uniform = (state >> 11) as f64 / (1_u64 << 53) as f64;
            wide.record((uniform * 2e11_f64.ln()).exp() as u64);
        }
        assert!(wide.encode().unwrap().len() > 10_000);
        assert!(wide.copy_with_figures(1).encode().unwrap().len() < 1_500);
    }

    #[test]
    fn rejects_invalid_encodings() {
        assert!(matches!(
            Histogram::decode("???"),
            Err(HistogramError::Base64 { .. })
        ));
        assert!(matches!(
            Histogram::decode("AAAA"),
            Err(HistogramError::Encoding { .. })
        ));
        assert!(matches!(
            Histogram::decode(&"A".repeat(20_000)),
            Err(HistogramError::TooLong { .. })
        ));
    }

    proptest! {
        #[test]
        fn small_histograms_grow_and_values_beyond_the_range_are_clamped(samples in prop::collection::vec(any::<u64>(), 1..50), up_to: u64) {
            let mut small = Histogram::up_to(up_to);
            samples.iter().for_each(|sample| small.record(*sample));
            prop_assert_eq!(&small, &histogram(&samples));
            prop_assert_eq!(small.count(), samples.len() as u64);
            let mut merged = Histogram::up_to(1);
            merged.merge(&histogram(&samples));
            prop_assert_eq!(merged, small);
        }

        #[test]
        fn merging_equals_recording_both(a in prop::collection::vec(1u64..MAX_NANOS, 0..50), b in prop::collection::vec(1u64..MAX_NANOS, 0..50)) {
            let mut merged = histogram(&a);
            merged.merge(&histogram(&b));
            let both: Vec<u64> = a.iter().chain(&b).copied().collect();
            prop_assert_eq!(merged, histogram(&both));
        }

        #[test]
        fn quantiles_are_within_one_part_in_a_thousand(mut samples in prop::collection::vec(1u64..MAX_NANOS, 1..200), q in 0.0f64..=1.0) {
            let histogram = histogram(&samples);
            samples.sort_unstable();
            let rank = ((q * samples.len() as f64).ceil() as usize).clamp(1, samples.len());
            let exact = samples[rank - 1] as f64;
            let found = histogram.quantile(q).unwrap() as f64;
            prop_assert!((found - exact).abs() <= exact / 1000.0 + 1.0, "{} for {}", found, exact);
        }

        #[test]
        fn coarse_quantiles_are_within_half_a_percent(mut samples in prop::collection::vec(1u64..MAX_NANOS, 1..200), q in 0.0f64..=1.0) {
            let coarse = histogram(&samples).copy_with_figures(2);
            let read = Histogram::decode(&coarse.encode().unwrap()).unwrap();
            samples.sort_unstable();
            let rank = ((q * samples.len() as f64).ceil() as usize).clamp(1, samples.len());
            let exact = samples[rank - 1] as f64;
            let found = read.quantile(q).unwrap() as f64;
            prop_assert!((found - exact).abs() <= exact * 0.006 + 1.0, "{} for {}", found, exact);
            prop_assert_eq!(read.count(), samples.len() as u64);
        }

        #[test]
        fn encoding_round_trips(samples in prop::collection::vec(1u64..MAX_NANOS, 0..200)) {
            let histogram = histogram(&samples);
            let read = Histogram::decode(&histogram.encode().unwrap()).unwrap();
            prop_assert_eq!(read.count(), histogram.count());
            prop_assert_eq!(read.mean(), histogram.mean());
            prop_assert_eq!(read.encode().unwrap(), histogram.encode().unwrap());
            prop_assert_eq!(read, histogram);
        }

        #[test]
        fn a_histogram_that_was_read_can_be_continued(first in prop::collection::vec(1u64..MAX_NANOS, 0..50), more in prop::collection::vec(1u64..MAX_NANOS, 0..50)) {
            let mut read = Histogram::decode(&histogram(&first).encode().unwrap()).unwrap();
            more.iter().for_each(|sample| read.record(*sample));
            let both: Vec<u64> = first.iter().chain(&more).copied().collect();
            prop_assert_eq!(read, histogram(&both));
        }

        #[test]
        fn decoding_never_panics(text: String) {
            let _ = Histogram::decode(&text);
        }
    }
}
