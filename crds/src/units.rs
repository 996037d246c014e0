//! Parses and formats sizes and durations such as `64`, `1Ki`, `16M` and `500ms`. Performs no I/O.

use std::fmt;
use std::str::FromStr;
use std::time;

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use snafu::Snafu;

/// Error parsing a size or a duration.
#[derive(Debug, Snafu, PartialEq, Eq, Clone)]
pub enum UnitError {
    /// The input does not start with a whole number.
    #[snafu(display("`{text}` does not start with a whole number; example: {example}"))]
    NoNumber {
        /// Text that was parsed.
        text: String,
        /// Example of valid input.
        example: &'static str,
    },
    /// The suffix is unknown.
    #[snafu(display("`{text}` has the unknown unit `{unit}`; known units: {known}"))]
    UnknownUnit {
        /// Text that was parsed.
        text: String,
        /// Suffix of the input.
        unit: String,
        /// Known suffixes.
        known: &'static str,
    },
    /// The value does not fit in 64 bits.
    #[snafu(display("`{text}` is too large"))]
    TooLarge {
        /// Text that was parsed.
        text: String,
    },
}

/// Number of bytes, written as `64`, `1Ki`, `16Mi`, `2Gi` (binary) or `1k`, `16M`, `2G` (decimal).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Size(pub u64);

impl Size {
    /// Number of bytes.
    pub const fn bytes(self) -> u64 {
        self.0
    }
}

const SIZE_SUFFIXES: [(&str, u64); 9] = [
    ("", 1),
    ("k", 1_000),
    ("M", 1_000_000),
    ("G", 1_000_000_000),
    ("T", 1_000_000_000_000),
    ("Ki", 1 << 10),
    ("Mi", 1 << 20),
    ("Gi", 1 << 30),
    ("Ti", 1 << 40),
];

impl FromStr for Size {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let known = "none (bytes), k, M, G, T, Ki, Mi, Gi, Ti";
        parse_scaled(text, &SIZE_SUFFIXES, known, "64, 1Ki or 16M").map(Size)
    }
}

/// Writes the value in the largest binary unit that divides it exactly, or in bytes if there is no such unit.
impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let binary = SIZE_SUFFIXES.iter().rev().find(|(suffix, factor)| {
            suffix.ends_with('i') && self.0 >= *factor && self.0.is_multiple_of(*factor)
        });
        match binary {
            Some((suffix, factor)) => write!(f, "{}{suffix}", self.0 / factor),
            None => write!(f, "{}", self.0),
        }
    }
}

impl Serialize for Size {
    /// Serializes values without a binary suffix as numbers, so that manifests round-trip.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = self.to_string();
        if text.ends_with('i') {
            serializer.serialize_str(&text)
        } else {
            serializer.serialize_u64(self.0)
        }
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct SizeVisitor;
        impl Visitor<'_> for SizeVisitor {
            type Value = Size;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a size such as 64, 1Ki or 16M")
            }

            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Size, E> {
                Ok(Size(value))
            }

            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Size, E> {
                u64::try_from(value)
                    .map(Size)
                    .map_err(|_| E::custom(format!("size {value} is negative")))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Size, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_any(SizeVisitor)
    }
}

/// Duration, written as `250us`, `500ms`, `10s` or `2m`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(pub time::Duration);

const DURATION_SUFFIXES: [(&str, u64); 6] = [
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

impl FromStr for Duration {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let nanos = parse_scaled(text, &DURATION_SUFFIXES, "ns, us, ms, s, m, h", "500ms or 10s")?;
        Ok(Duration(time::Duration::from_nanos(nanos)))
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = u64::try_from(self.0.as_nanos()).unwrap_or(u64::MAX);
        let unit = DURATION_SUFFIXES
            .iter()
            .rev()
            .find(|(_, factor)| nanos >= *factor && nanos.is_multiple_of(*factor));
        match unit {
            Some((suffix, factor)) => write!(f, "{}{suffix}", nanos / factor),
            None => write!(f, "{nanos}ns"),
        }
    }
}

impl Serialize for Duration {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Duration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

/// Parses `text` as a whole number times the factor of its suffix.
fn parse_scaled(
    text: &str,
    suffixes: &[(&str, u64)],
    known: &'static str,
    example: &'static str,
) -> Result<u64, UnitError> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    if number.is_empty() {
        return NoNumberSnafu {
            text: truncate(text),
            example,
        }
        .fail();
    }
    let Some((_, factor)) = suffixes.iter().find(|(suffix, _)| *suffix == unit) else {
        return UnknownUnitSnafu {
            text: truncate(text),
            unit: truncate(unit),
            known,
        }
        .fail();
    };
    let value = number
        .parse::<u64>()
        .ok()
        .and_then(|number| number.checked_mul(*factor));
    value.ok_or_else(|| UnitError::TooLarge { text: truncate(text) })
}

/// Returns the first characters of untrusted input, to limit the length of error messages.
fn truncate(text: &str) -> String {
    text.chars().take(40).collect()
}

#[cfg(feature = "crd")]
mod schema {
    use std::borrow::Cow;

    use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

    use super::{Duration, Size};

    /// Regular expression for strings that denote less than 2^63 bytes. It limits the number of digits for each suffix.
    const SIZE_PATTERN: &str =
        "^([0-9]{1,18}|[0-9]{1,15}(k|Ki)|[0-9]{1,12}(M|Mi)|[0-9]{1,9}(G|Gi)|[0-9]{1,6}(T|Ti))$";

    /// Number of bytes, or a string with a suffix. As in the Kubernetes schema for quantities, the bounds for both
    /// types appear side by side: `minimum` applies to numbers and `pattern` to strings.
    impl JsonSchema for Size {
        fn schema_name() -> Cow<'static, str> {
            "Size".into()
        }

        fn inline_schema() -> bool {
            true
        }

        fn json_schema(_: &mut SchemaGenerator) -> Schema {
            json_schema!({"x-kubernetes-int-or-string": true, "minimum": 0, "pattern": SIZE_PATTERN})
        }
    }

    impl JsonSchema for Duration {
        fn schema_name() -> Cow<'static, str> {
            "Duration".into()
        }

        fn inline_schema() -> bool {
            true
        }

        fn json_schema(_: &mut SchemaGenerator) -> Schema {
            json_schema!({"type": "string", "maxLength": 20, "pattern": "^[0-9]+(ns|us|ms|s|m|h)$"})
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn parses_binary_and_decimal_suffixes() {
        assert_eq!("1Ki".parse(), Ok(Size(1024)));
        assert_eq!("1k".parse(), Ok(Size(1000)));
        assert_eq!("16Mi".parse(), Ok(Size(16 << 20)));
        assert_eq!("0".parse(), Ok(Size(0)));
    }

    #[test]
    fn rejects_invalid_sizes() {
        assert!(matches!("".parse::<Size>(), Err(UnitError::NoNumber { .. })));
        assert!(matches!("-1".parse::<Size>(), Err(UnitError::NoNumber { .. })));
        assert!(matches!(
            "1KB".parse::<Size>(),
            Err(UnitError::UnknownUnit { .. })
        ));
        assert!(matches!(
            "1.5Mi".parse::<Size>(),
            Err(UnitError::UnknownUnit { .. })
        ));
        assert!(matches!(
            "99999999999999Ti".parse::<Size>(),
            Err(UnitError::TooLarge { .. })
        ));
    }

    #[test]
    fn deserializes_sizes_from_numbers_and_strings() {
        assert_eq!(serde_json::from_str::<Size>("64").ok(), Some(Size(64)));
        assert_eq!(serde_json::from_str::<Size>("\"1Ki\"").ok(), Some(Size(1024)));
        assert!(serde_json::from_str::<Size>("-64").is_err());
        assert!(serde_json::from_str::<Size>("1.5").is_err());
    }

    #[test]
    fn formats_durations_with_the_largest_exact_unit() {
        assert_eq!(
            "1500ms".parse::<Duration>().map(|duration| duration.to_string()),
            Ok("1500ms".to_owned())
        );
        assert_eq!(
            "60s".parse::<Duration>().map(|duration| duration.to_string()),
            Ok("1m".to_owned())
        );
        assert!("10".parse::<Duration>().is_err());
    }

    proptest! {
        #[test]
        fn sizes_round_trip(bytes: u64) {
            prop_assert_eq!(Size(bytes).to_string().parse(), Ok(Size(bytes)));
            let json = serde_json::to_string(&Size(bytes)).unwrap();
            prop_assert_eq!(serde_json::from_str::<Size>(&json).unwrap(), Size(bytes));
        }

        #[test]
        fn durations_round_trip(nanos in 0u64..=1 << 60) {
            let duration = Duration(time::Duration::from_nanos(nanos));
            prop_assert_eq!(duration.to_string().parse(), Ok(duration));
        }

        #[test]
        fn parsing_never_panics(text: String) {
            let _ = text.parse::<Size>();
            let _ = text.parse::<Duration>();
        }
    }
}
