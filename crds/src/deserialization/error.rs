//! Errors of deserialization. Performs no I/O.

use std::fmt;

use serde::de::{self, Expected, Unexpected};

use crate::suggestion::did_you_mean;

/// Error deserializing a value: the field that cannot be read, and the cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// Path of the field, such as `spec.variants[0].name`; empty if the whole value cannot be read.
    pub path: String,
    /// What is wrong with the value of the field.
    pub cause: Cause,
}

/// Why a value cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A required field is not set.
    Missing,
    /// A field is set twice.
    Duplicate,
    /// The object has no field with this name.
    UnknownField {
        /// Name of the field.
        given: String,
        /// Names of all fields.
        known: &'static [&'static str],
    },
    /// The value is not one of the valid values.
    UnknownValue {
        /// The value.
        given: String,
        /// All valid values.
        known: &'static [&'static str],
    },
    /// The value has the wrong type, or it is out of bounds.
    Mismatch {
        /// The value in the words of a manifest.
        given: String,
        /// The expected value in the words of a manifest.
        expected: String,
    },
    /// Not exactly one field of the object is set, although the fields are alternatives.
    NotOneField {
        /// Names of the fields that are set.
        set: Vec<String>,
    },
    /// Only the name of an alternative is given, but it has a value.
    NoValue {
        /// Name of the alternative.
        name: String,
    },
    /// The text ends before the value is complete.
    Incomplete,
    /// The text is not JSON.
    NotJson {
        /// Line, starting at 1.
        line: usize,
        /// Column, starting at 1.
        column: usize,
    },
    /// A rule of the type of the value is violated. The text describes it.
    Rule(String),
}

impl Unreadable {
    /// Creates an error for the whole value.
    pub(super) fn new(cause: Cause) -> Self {
        Self {
            path: String::new(),
            cause,
        }
    }

    /// The error of the value around a field, for the error of the field.
    pub fn in_field(self, name: &str) -> Self {
        let separator = if self.path.is_empty() || self.path.starts_with('[') {
            ""
        } else {
            "."
        };
        Self {
            path: format!("{name}{separator}{}", self.path),
            ..self
        }
    }

    /// The error of a list, for the error of the item at `index`.
    pub(super) fn in_item(self, index: usize) -> Self {
        self.in_field(&format!("[{index}]"))
    }
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        self.cause.fmt(f)
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("is missing; this field is required"),
            Self::Duplicate => f.write_str("is set twice; remove one"),
            Self::UnknownField { given, known } => f.write_str(&unknown_field(given, known)),
            Self::UnknownValue { given, known } => f.write_str(&unknown_value(given, known)),
            Self::Mismatch { given, expected } => write!(f, "{given} is not valid here; use {expected}"),
            Self::NotOneField { set } if set.is_empty() => {
                f.write_str("exactly one field must be set, but none is")
            }
            Self::NotOneField { set } => {
                write!(f, "exactly one field must be set, but there are {}", set.join(" and "))
            }
            Self::NoValue { name } => write!(f, "`{name}` has no value; write `{name}: {{...}}`"),
            Self::Incomplete => f.write_str(
                "the text ends before the JSON value is complete; check the quotation marks and the closing brackets",
            ),
            Self::NotJson { line, column } => write!(
                f,
                "the text is not valid JSON at line {line}, column {column}; check the quotation marks, commas and brackets"
            ),
            Self::Rule(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for Unreadable {}

impl de::Error for Unreadable {
    fn custom<T: fmt::Display>(text: T) -> Self {
        Self::new(Cause::Rule(text.to_string()))
    }

    fn invalid_type(given: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::new(Cause::Mismatch {
            given: given_value(given),
            expected: expected_value(&expected.to_string()),
        })
    }

    fn invalid_value(given: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::invalid_type(given, expected)
    }

    fn invalid_length(length: usize, expected: &dyn Expected) -> Self {
        Self::new(Cause::Mismatch {
            given: format!("a list of {length}"),
            expected: expected_value(&expected.to_string()),
        })
    }

    fn unknown_variant(given: &str, known: &'static [&'static str]) -> Self {
        Self::new(Cause::UnknownValue {
            given: given.to_owned(),
            known,
        })
    }

    fn unknown_field(given: &str, known: &'static [&'static str]) -> Self {
        Self::new(Cause::UnknownField {
            given: given.to_owned(),
            known,
        })
    }

    fn missing_field(field: &'static str) -> Self {
        Self::new(Cause::Missing).in_field(field)
    }

    fn duplicate_field(field: &'static str) -> Self {
        Self::new(Cause::Duplicate).in_field(field)
    }
}

/// Message for a field that does not exist, with the most similar field and all `known` fields.
pub fn unknown_field(given: &str, known: &[&str]) -> String {
    let suggestion = did_you_mean(given, known.iter().copied());
    match known {
        [] => format!("unknown field `{given}`; there are no fields here. Remove it"),
        [only] => format!("unknown field `{given}`.{suggestion} The only field here is {only}"),
        several => format!(
            "unknown field `{given}`.{suggestion} Use one of {}",
            several.join(", ")
        ),
    }
}

/// Message for a value that is not one of the `known` values, with the most similar one.
pub fn unknown_value(given: &str, known: &[&str]) -> String {
    let suggestion = did_you_mean(given, known.iter().copied());
    match known {
        [] => format!("`{given}` is not a valid value"),
        [only] => format!("`{given}` is not a valid value.{suggestion} The only valid value is {only}"),
        several => format!(
            "`{given}` is not a valid value.{suggestion} Use one of {}",
            several.join(", ")
        ),
    }
}

/// A value in the words of a manifest.
fn given_value(given: Unexpected<'_>) -> String {
    match given {
        Unexpected::Bool(value) => value.to_string(),
        Unexpected::Unsigned(value) => value.to_string(),
        Unexpected::Signed(value) => value.to_string(),
        Unexpected::Float(value) => value.to_string(),
        Unexpected::Char(value) => format!("\"{value}\""),
        Unexpected::Str(text) => format!("{text:?}"),
        Unexpected::Bytes(_) => "a string of bytes".to_owned(),
        Unexpected::Unit | Unexpected::Option => "an empty value".to_owned(),
        Unexpected::Seq | Unexpected::TupleVariant => "a list".to_owned(),
        Unexpected::Map | Unexpected::NewtypeStruct | Unexpected::StructVariant => "an object".to_owned(),
        Unexpected::Enum | Unexpected::UnitVariant | Unexpected::NewtypeVariant => "the value".to_owned(),
        Unexpected::Other(text) => text.to_owned(),
    }
}

/// An expected value in the words of a manifest. The types of the fields describe themselves only as text.
fn expected_value(expected: &str) -> String {
    let described = match expected {
        "a sequence" => "a list",
        "a map" | "unit" => "an object",
        "a boolean" => "true or false",
        "u8" | "a nonzero u8" => "a whole number from 0 to 255",
        "u16" | "a nonzero u16" => "a whole number from 0 to 65535",
        "u32" | "a nonzero u32" => "a whole number from 0 to 4294967295",
        "u64" | "usize" | "a nonzero u64" => "a whole number that is not negative",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        "a borrowed string" | "string" | "str" => "a string",
        "variant identifier" => "a string",
        _ if expected.starts_with("struct ") => "an object",
        _ if expected.starts_with("enum ") => "a string, or an object with exactly one field",
        _ if expected.starts_with("fewer elements") => "fewer items",
        _ => expected,
    };
    described.to_owned()
}
