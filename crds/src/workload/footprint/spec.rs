//! Memory use of processes that receive the same tensor, with the names and defaults of the PyIsolate memory benchmark.

use std::borrow::Cow;
use std::fmt;

use serde::de::{self, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::units::Size;
use crate::v1alpha1::{Metric, SpecWorkload};

/// Memory use of a host process and of the consumers to which it distributes a tensor. The channel of each arm
/// (`spec.variants[].channel`) determines whether the consumers share the tensor (SharedMemory) or each have a copy
/// (UnixSocket, Tcp).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct MemoryFootprint {
    /// Number of consumer processes, which run on the same machine as the host process: a number from 1 to 100, or a list
    /// of up to 16 different numbers. Each number in a list becomes a separate scenario named NAME-CONSUMERS, and reports
    /// contain one table of all of them. Defaults to 10.
    pub consumers: Consumers,
    /// Sizes of the tensor, such as 1Mi. Defaults to 1Mi and 2Gi.
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 16)))]
    pub sizes: Vec<Size>,
    /// Number of distributions after the first, which is a warm-up. Each distribution replaces the tensor in every
    /// consumer, so the total memory use grows if a distribution does not free memory. Defaults to 5.
    #[cfg_attr(feature = "crd", schemars(range(min = 2, max = 1000)))]
    pub iterations: u32,
    /// Maximum duration of a case, in seconds. Defaults to 60.
    #[cfg_attr(feature = "crd", schemars(range(min = 1, max = 3600)))]
    pub timeout_seconds: u32,
}

impl Default for MemoryFootprint {
    fn default() -> Self {
        Self {
            consumers: Consumers(vec![10]),
            sizes: vec![Size(1 << 20), Size(2 << 30)],
            iterations: 5,
            timeout_seconds: 60,
        }
    }
}

/// One or several numbers of consumers. Written as a number, or as a list of numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Consumers(pub Vec<u32>);

impl Serialize for Consumers {
    /// Serializes a single number as a number, so that manifests round-trip.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.as_slice() {
            [single] => single.serialize(serializer),
            several => several.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Consumers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ConsumersVisitor;
        impl<'de> Visitor<'de> for ConsumersVisitor {
            type Value = Consumers;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of consumers such as 10, or a list such as [1, 5, 10]")
            }

            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Consumers, E> {
                let number = u32::try_from(value).map_err(|_| E::custom(format!("{value} is too large")))?;
                Ok(Consumers(vec![number]))
            }

            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Consumers, E> {
                let number = u64::try_from(value).map_err(|_| E::custom(format!("{value} is negative")))?;
                self.visit_u64(number)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Consumers, A::Error> {
                let mut numbers = Vec::new();
                while let Some(number) = sequence.next_element()? {
                    numbers.push(number);
                }
                Ok(Consumers(numbers))
            }
        }
        deserializer.deserialize_any(ConsumersVisitor)
    }
}

/// A structural schema cannot describe a field with two types, so the values are checked when a run is validated.
#[cfg(feature = "crd")]
impl schemars::JsonSchema for Consumers {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Consumers".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "x-kubernetes-preserve-unknown-fields": true })
    }
}

impl SpecWorkload for MemoryFootprint {
    fn sizes(&self) -> Cow<'_, [Size]> {
        Cow::Borrowed(&self.sizes)
    }

    fn metric_of_closed_loop(&self) -> Metric {
        Metric::MemoryPerConsumer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consumers_are_a_number_or_a_list() {
        let parse = |text: &str| serde_json::from_str::<Consumers>(text);
        assert_eq!(parse("10").unwrap(), Consumers(vec![10]));
        assert_eq!(parse("[1, 5, 10]").unwrap(), Consumers(vec![1, 5, 10]));
        for (consumers, text) in [(Consumers(vec![7]), "7"), (Consumers(vec![1, 5]), "[1,5]")] {
            assert_eq!(serde_json::to_string(&consumers).unwrap(), text);
        }
        for wrong in ["-1", "\"10\"", "1.5", "[1, -5]", "{}"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
        assert!(
            parse("\"10\"")
                .unwrap_err()
                .to_string()
                .contains("a list such as")
        );
    }
}
