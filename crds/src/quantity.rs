//! Catalogue of the quantities that are measured for each arm at each size, and of the observations from which some of them
//! are computed. Records, the status, Prometheus metrics, CSV and JSON reports, dashboards and the documentation list what
//! this catalogue contains.

mod catalogue;
mod values;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::LazyLock;

use serde::Serialize;

pub use catalogue::{Observation, Quantity};
pub use values::Values;

/// Names of all quantities, in the order of the catalogue.
static NAMES: LazyLock<Vec<String>> = LazyLock::new(|| {
    let names = Quantity::ALL.iter().map(|quantity| {
        let variant = format!("{quantity:?}");
        let (first, rest) = variant.split_at(1);
        first.to_ascii_lowercase() + rest
    });
    names.collect()
});
/// All quantities by name.
static BY_NAME: LazyLock<BTreeMap<&'static str, Quantity>> = LazyLock::new(|| {
    Quantity::ALL
        .into_iter()
        .map(|quantity| (quantity.name(), quantity))
        .collect()
});

/// Definition of a quantity.
#[derive(Clone, Copy, Debug)]
pub struct Definition {
    /// Unit of its values, which the name of the quantity also contains.
    pub unit: Unit,
    /// When its values are omitted from a status that is too large.
    pub priority: Priority,
    /// Prometheus metric that contains its values.
    pub series: Series,
    /// Observation of which it is a statistic; `None` if it is computed from other fields of the records.
    pub source: Option<Source>,
    /// What is measured, as a phrase.
    pub help: &'static str,
}

/// Definition of an observation.
#[derive(Clone, Copy, Debug)]
pub struct ObservationDefinition {
    /// How its values are combined.
    pub combination: Combination,
    /// Field of a worker's posts in a record, as a path with `/`.
    pub field: &'static str,
    /// What is observed, as a phrase.
    pub help: &'static str,
}

/// How the values of an observation are combined over threads, and over the pairs and rounds of an arm at a size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Combination {
    /// The durations of all threads, pairs and rounds are one distribution.
    Distribution,
    /// One time for each thread, in nanoseconds. The longest one counts for a pair, the median of its pairs for a round,
    /// and the median of its rounds for an arm.
    LongestThread,
}

/// Statistic of an observation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// The observation.
    pub observation: Observation,
    /// The statistic.
    pub statistic: Statistic,
}

/// Statistic of the values of an observation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statistic {
    /// Median.
    Median,
    /// 99th percentile, unless there are so few samples that it would be the maximum.
    P99,
    /// Maximum.
    Max,
}

/// Unit of a quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Nanoseconds.
    Nanos,
    /// Bytes.
    Bytes,
    /// Bytes or operations per second.
    PerSecond,
    /// Nanoseconds per GiB.
    NanosPerGib,
    /// Parts per million.
    Ppm,
    /// Percent.
    Percent,
    /// A number of things.
    Count,
}

impl Unit {
    /// Number of these units in the unit that Prometheus uses: seconds, bytes and ratios.
    pub const fn per_base_unit(self) -> f64 {
        match self {
            Self::Nanos | Self::NanosPerGib => 1e9,
            Self::Ppm => 1e6,
            Self::Percent => 100.0,
            Self::Bytes | Self::PerSecond | Self::Count => 1.0,
        }
    }
}

/// Order in which values are omitted from a status that is too large: those with the lowest priority first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Priority {
    /// Other work on the machines.
    Disturbance,
    /// Number of operations.
    Iterations,
    /// Everything that is neither of the others.
    Detail,
    /// The median, the 99th percentile, the throughput and the values that a tool reports. Only whole results are omitted
    /// after them.
    Essential,
}

/// Prometheus series of a quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Series {
    /// Name of the metric, without the prefix `fabricbench_arm_`.
    pub metric: &'static str,
    /// Value of the label that distinguishes the metric's quantities; empty if the metric has only one.
    pub label: &'static str,
}

impl Quantity {
    /// Returns the name of the quantity, such as `latencyP50Nanos`.
    pub fn name(self) -> &'static str {
        NAMES.get(self as usize).map_or("", String::as_str)
    }

    /// Returns the quantity with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        BY_NAME.get(name).copied()
    }

    /// Returns the name in snake case, such as `latency_p50_nanos`.
    pub fn column(self) -> String {
        let mut column = String::new();
        for character in self.name().chars() {
            if character.is_ascii_uppercase() {
                column.push('_');
            }
            column.push(character.to_ascii_lowercase());
        }
        column
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Serialize for Quantity {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_columns_and_series_are_unique() {
        let distinct = |texts: Vec<String>| texts.into_iter().collect::<BTreeSet<_>>().len();
        let all = Quantity::ALL;
        assert_eq!(
            distinct(all.map(|quantity| quantity.name().to_owned()).into()),
            all.len()
        );
        assert_eq!(distinct(all.map(Quantity::column).into()), all.len());
        let series = all.map(|quantity| format!("{:?}", quantity.definition().series));
        assert_eq!(distinct(series.into()), all.len());
    }

    #[test]
    fn names_are_the_variants_and_end_with_the_unit() {
        assert_eq!(Quantity::LatencyP999Nanos.name(), "latencyP999Nanos");
        assert_eq!(Quantity::LatencyP999Nanos.column(), "latency_p999_nanos");
        assert_eq!(
            Quantity::from_name("latencyP999Nanos"),
            Some(Quantity::LatencyP999Nanos)
        );
        assert_eq!(Quantity::from_name("LatencyP999Nanos"), None);
        for quantity in Quantity::ALL {
            let suffix = match quantity.definition().unit {
                Unit::Nanos => "Nanos",
                Unit::Bytes => "Bytes",
                Unit::PerSecond => "PerSecond",
                Unit::NanosPerGib => "NanosPerGib",
                Unit::Ppm => "Ppm",
                Unit::Percent => "Percent",
                Unit::Count => "",
            };
            assert!(quantity.name().ends_with(suffix), "{quantity}");
        }
    }

    /// The longest time of a thread is combined by its median, so no other statistic of it exists.
    #[test]
    fn longest_times_of_threads_have_only_a_median() {
        let sources = Quantity::ALL
            .iter()
            .filter_map(|quantity| quantity.definition().source);
        for source in sources {
            let is_longest = source.observation.definition().combination == Combination::LongestThread;
            assert!(!is_longest || source.statistic == Statistic::Median, "{source:?}");
        }
    }

    #[test]
    fn every_observation_is_the_source_of_a_quantity() {
        for observation in Observation::ALL {
            let mut sources = Quantity::ALL
                .iter()
                .filter_map(|quantity| quantity.definition().source);
            assert!(
                sources.any(|source| source.observation == observation),
                "{observation:?}"
            );
        }
    }

    #[test]
    fn metrics_have_one_unit_and_either_labels_or_one_quantity() {
        for one in Quantity::ALL {
            for other in Quantity::ALL {
                let (first, second) = (one.definition(), other.definition());
                if one != other && first.series.metric == second.series.metric {
                    assert_eq!(first.unit, second.unit, "{one} and {other}");
                    assert!(!first.series.label.is_empty(), "{one}");
                }
            }
        }
    }
}
