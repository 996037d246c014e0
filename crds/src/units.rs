//! Parses and formats sizes and durations such as `64`, `1Ki`, `16M` and `500ms`. Performs no I/O.

mod hint;

use std::fmt;
use std::str::FromStr;
use std::time;

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use snafu::{OptionExt, Snafu};

/// Error parsing a size or a duration.
#[derive(Debug, Snafu, PartialEq, Eq, Clone)]
pub enum UnitError {
    /// The input does not start with a whole number.
    #[snafu(display("`{text}` does not start with a whole number; {}", or_example(forms, example)))]
    NoNumber {
        /// Text that was parsed.
        text: String,
        /// Valid forms of the text; empty if it is not clear what is meant.
        forms: Vec<String>,
        /// Example of valid input.
        example: &'static str,
    },
    /// The number has decimals.
    #[snafu(display("`{text}` is not a whole number; {}", or_example(forms, example)))]
    Decimals {
        /// Text that was parsed.
        text: String,
        /// Valid forms of the text; empty if there is none.
        forms: Vec<String>,
        /// Example of valid input.
        example: &'static str,
    },
    /// The suffix is missing.
    #[snafu(display("`{text}` has no unit; {}. The units are {known}", or_example(forms, example)))]
    NoUnit {
        /// Text that was parsed.
        text: String,
        /// Likely forms of the text.
        forms: Vec<String>,
        /// Example of valid input.
        example: &'static str,
        /// Known suffixes.
        known: &'static str,
    },
    /// The suffix is unknown.
    #[snafu(display(
        "`{text}` has the unknown unit `{unit}`; {}. The units are {known}",
        or_example(forms, example)
    ))]
    UnknownUnit {
        /// Text that was parsed.
        text: String,
        /// Suffix of the input.
        unit: String,
        /// Valid forms of the text; empty if it is not clear what is meant.
        forms: Vec<String>,
        /// Example of valid input.
        example: &'static str,
        /// Known suffixes.
        known: &'static str,
    },
    /// The number starts with 0.
    #[snafu(display(
        "`{text}` starts with 0, and some programs read such a number as octal; {}",
        or_example(forms, example)
    ))]
    LeadingZero {
        /// Text that was parsed.
        text: String,
        /// Valid forms of the text.
        forms: Vec<String>,
        /// Example of valid input.
        example: &'static str,
    },
    /// The value does not fit in 64 bits.
    #[snafu(display("`{text}` is too large; use a smaller value"))]
    TooLarge {
        /// Text that was parsed.
        text: String,
    },
}

/// The valid forms, or an example if there are none.
fn or_example(forms: &[String], example: &str) -> String {
    match forms {
        [] => format!("write for example {example}"),
        forms => format!("write {}", forms.join(" or ")),
    }
}

/// Maximum size of a message, in bytes: the largest RDMA write that an EFA device supports.
pub const MAX_MESSAGE_BYTES: u64 = 1 << 30;

/// Number of bytes, written as `64`, `1Ki`, `16Mi`, `2Gi` (binary) or `1k`, `16M`, `2G` (decimal).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Size(pub u64);

impl Size {
    /// Largest size. Each smaller one is written in a form that [`SIZE_PATTERN`] allows.
    const MAX: u64 = 999_999_999_999_999_999;

    /// The size with this number of bytes; `None` if it is above the maximum.
    fn within_maximum(bytes: u64) -> Option<Self> {
        (bytes <= Self::MAX).then_some(Self(bytes))
    }

    /// Number of bytes.
    pub const fn bytes(self) -> u64 {
        self.0
    }
}

/// How numbers with a unit are written.
struct Notation {
    /// Suffixes with their factors, from the smallest to the largest within each system of units.
    suffixes: &'static [(&'static str, u64)],
    /// Other names of the units.
    aliases: &'static [hint::Alias],
    /// Suffixes in words.
    known: &'static str,
    /// Examples.
    example: &'static str,
}

const SIZES: Notation = Notation {
    suffixes: &[
        ("", 1),
        ("k", 1_000),
        ("M", 1_000_000),
        ("G", 1_000_000_000),
        ("T", 1_000_000_000_000),
        ("Ki", 1 << 10),
        ("Mi", 1 << 20),
        ("Gi", 1 << 30),
        ("Ti", 1 << 40),
    ],
    aliases: &hint::SIZE_ALIASES,
    known: "k, M, G and T (powers of 1000 bytes), Ki, Mi, Gi and Ti (powers of 1024 bytes), or none (bytes)",
    example: "64, 1Ki or 16M",
};

impl FromStr for Size {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let bytes = parse_scaled(text, &SIZES)?;
        Self::within_maximum(bytes).context(TooLargeSnafu { text: truncate(text) })
    }
}

/// Writes the value in the largest binary unit that divides it exactly, or in bytes if there is no such unit.
impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let binary = SIZES.suffixes.iter().rev().find(|(suffix, factor)| {
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
                let too_large = || UnitError::TooLarge {
                    text: value.to_string(),
                };
                Size::within_maximum(value).ok_or_else(|| E::custom(too_large()))
            }

            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Size, E> {
                u64::try_from(value)
                    .map(Size)
                    .map_err(|_| E::custom(format!("size {value} is negative")))
            }

            /// The API server accepts a whole number with decimals, such as 64.0 or 1e3, as an integer.
            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Size, E> {
                let whole = format!("{value:?}");
                match whole.strip_suffix(".0").map(str::parse) {
                    Some(Ok(whole)) => self.visit_u64(whole),
                    _ => Err(E::custom(UnitError::Decimals {
                        text: whole,
                        forms: Vec::new(),
                        example: SIZES.example,
                    })),
                }
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

const DURATIONS: Notation = Notation {
    suffixes: &[
        ("ns", 1),
        ("us", 1_000),
        ("ms", 1_000_000),
        ("s", 1_000_000_000),
        ("m", 60_000_000_000),
        ("h", 3_600_000_000_000),
    ],
    aliases: &hint::DURATION_ALIASES,
    known: "ns, us, ms, s, m and h",
    example: "500ms or 10s",
};

impl FromStr for Duration {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let nanos = parse_scaled(text, &DURATIONS)?;
        Ok(Duration(time::Duration::from_nanos(nanos)))
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = u64::try_from(self.0.as_nanos()).unwrap_or(u64::MAX);
        let unit = DURATIONS
            .suffixes
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
fn parse_scaled(text: &str, notation: &Notation) -> Result<u64, UnitError> {
    let Notation {
        suffixes,
        aliases,
        known,
        example,
    } = *notation;
    let forms = || {
        let forms = hint::valid_forms(text, aliases, suffixes);
        forms.into_iter().map(|form| truncate(&form)).collect::<Vec<_>>()
    };
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    if number.is_empty() {
        return NoNumberSnafu {
            text: truncate(text),
            forms: forms(),
            example,
        }
        .fail();
    }
    if unit.starts_with('.') {
        return DecimalsSnafu {
            text: truncate(text),
            forms: forms(),
            example,
        }
        .fail();
    }
    let Some((_, factor)) = suffixes.iter().find(|(suffix, _)| *suffix == unit) else {
        let (text, forms) = (truncate(text), forms());
        return match unit {
            "" => NoUnitSnafu {
                text,
                forms,
                example,
                known,
            }
            .fail(),
            unit => UnknownUnitSnafu {
                text,
                unit: truncate(unit.trim()),
                forms,
                example,
                known,
            }
            .fail(),
        };
    };
    if number.len() > 1 && number.starts_with('0') {
        return LeadingZeroSnafu {
            text: truncate(text),
            forms: forms(),
            example,
        }
        .fail();
    }
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

/// Regular expression for strings that denote less than 2^63 bytes. It limits the number of digits for each suffix, and
/// allows no leading zeros, because YAML 1.1 reads a number with one as octal.
pub const SIZE_PATTERN: &str = "^(0(k|Ki|M|Mi|G|Gi|T|Ti)?|[1-9]([0-9]{0,17}|[0-9]{0,14}(k|Ki)|[0-9]{0,11}(M|Mi)|[0-9]{0,8}(G|Gi)|[0-9]{0,5}(T|Ti)))$";

/// Regular expression for durations. It allows no leading zeros, like that for sizes.
pub const DURATION_PATTERN: &str = "^(0|[1-9][0-9]*)(ns|us|ms|s|m|h)$";

#[cfg(feature = "crd")]
mod schema {
    use std::borrow::Cow;

    use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

    use super::{DURATION_PATTERN, Duration, SIZE_PATTERN, Size};

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
            json_schema!({"type": "string", "maxLength": 20, "pattern": DURATION_PATTERN})
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
        assert!(matches!("1.5Mi".parse::<Size>(), Err(UnitError::Decimals { .. })));
        assert!(matches!(
            "99999999999999Ti".parse::<Size>(),
            Err(UnitError::TooLarge { .. })
        ));
    }

    #[test]
    fn errors_show_the_valid_form() {
        for (given, expected) in [
            ("64KB", "write 64k or 64Ki. The units"),
            ("64K", "write 64k or 64Ki. The units"),
            ("4KiB", "write 4Ki. The units"),
            ("1m", "write 1M or 1Mi. The units"),
            ("64 B", "unknown unit `B`; write 64. The units"),
            ("1_024", "write 1024. The units"),
            ("1.5Ki", "is not a whole number; write 1536"),
            ("1.5 KB", "is not a whole number; write 1500 or 1536"),
            ("0.1Ki", "is not a whole number; write for example 64, 1Ki or 16M"),
            (".5Mi", "does not start with a whole number; write 512Ki"),
            ("-1", "does not start with a whole number; write for example 64"),
            (
                "0100",
                "starts with 0, and some programs read such a number as octal; write 100",
            ),
            (
                "007Ki",
                "starts with 0, and some programs read such a number as octal; write 7Ki",
            ),
            ("00", "as octal; write 0"),
            ("064KB", "write 64k or 64Ki. The units"),
            ("01.5Ki", "is not a whole number; write 1536"),
            ("1e6", "unknown unit `e6`; write for example 64"),
        ] {
            let message = given.parse::<Size>().unwrap_err().to_string();
            assert!(message.contains(expected), "{given}: {message}");
        }
        for (given, expected) in [
            (
                "10",
                "`10` has no unit; write 10s or 10ms. The units are ns, us, ms, s, m and h",
            ),
            ("1.5s", "write 1500ms"),
            ("0.5h", "write 30m"),
            ("10 sec", "write 10s. The units"),
            ("5min", "write 5m. The units"),
            ("20µs", "write 20us. The units"),
            (
                "010s",
                "starts with 0, and some programs read such a number as octal; write 10s",
            ),
            (
                "1d",
                "unknown unit `d`; write for example 500ms or 10s. The units",
            ),
        ] {
            let message = given.parse::<Duration>().unwrap_err().to_string();
            assert!(message.contains(expected), "{given}: {message}");
        }
        for form in ["64k", "64Ki", "1536", "1500", "512Ki"] {
            assert!(form.parse::<Size>().is_ok(), "{form}");
        }
    }

    #[test]
    fn deserializes_sizes_from_numbers_and_strings() {
        assert_eq!(serde_json::from_str::<Size>("64").ok(), Some(Size(64)));
        assert_eq!(serde_json::from_str::<Size>("\"1Ki\"").ok(), Some(Size(1024)));
        assert!(serde_json::from_str::<Size>("-64").is_err());
        assert_eq!(serde_json::from_str::<Size>("64.0").ok(), Some(Size(64)));
        assert_eq!(serde_json::from_str::<Size>("1e3").ok(), Some(Size(1000)));
        assert!(serde_json::from_str::<Size>("-64.0").is_err());
        for (given, expected) in [
            ("1.5", "`1.5` is not a whole number; write for example"),
            (
                "9223372036854775808",
                "`9223372036854775808` is too large; use a smaller value",
            ),
            ("\"8388608Ti\"", "`8388608Ti` is too large"),
        ] {
            let message = serde_json::from_str::<Size>(given).unwrap_err().to_string();
            assert!(message.contains(expected), "{given}: {message}");
        }
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
        fn sizes_round_trip(bytes in 0..=Size::MAX) {
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
