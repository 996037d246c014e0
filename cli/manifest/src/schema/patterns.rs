//! Describes the regular expressions of the schema in words. Performs no I/O.

use crds::names::{LABEL_KEY_PATTERN, LABEL_PATTERN, LABEL_VALUE_PATTERN, SUBDOMAIN_PATTERN};
use crds::printable::{character_name, deceptive_character, is_hidden};
use crds::units::{DURATION_PATTERN, SIZE_PATTERN};
use crds::v1alpha1::EXPRESSION_PATTERN;
use serde_json::Value;

/// Unit of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// A size in bytes, such as 64 or 32Ki.
    Bytes,
    /// A duration, such as 500ms.
    Time,
}

impl Unit {
    /// The text that a field with this unit accepts.
    pub(super) fn description(self) -> &'static str {
        match self {
            Self::Bytes => "a size such as 64, 32Ki or 1Mi",
            Self::Time => "a duration such as 500ms or 10s",
        }
    }

    /// Two values.
    pub(super) fn example(self) -> &'static str {
        match self {
            Self::Bytes => "64, 1Mi",
            Self::Time => "500ms, 10s",
        }
    }
}

/// Unit of a field with this schema; `None` if the field is neither a size nor a duration.
pub(super) fn unit(schema: &Value) -> Option<Unit> {
    unit_of_pattern(schema.get("pattern")?.as_str()?)
}

/// Unit of a field with this regular expression.
fn unit_of_pattern(pattern: &str) -> Option<Unit> {
    match pattern {
        SIZE_PATTERN => Some(Unit::Bytes),
        DURATION_PATTERN => Some(Unit::Time),
        _ => None,
    }
}

/// Each regular expression of the schema without a unit, and the text that it accepts.
const DESCRIPTIONS: [(&str, &str); 14] = [
    (
        LABEL_PATTERN,
        "a name of lowercase letters, digits and `-` that starts and ends with a letter or digit",
    ),
    (
        SUBDOMAIN_PATTERN,
        "a name of lowercase letters, digits, `-` and `.` whose parts between dots start and end with a letter or digit",
    ),
    (
        LABEL_KEY_PATTERN,
        "the key of a label or taint, such as nvidia.com/gpu: letters, digits, `-`, `_` and `.`, with a DNS name and `/` in \
         front of it if the key has one",
    ),
    (
        LABEL_VALUE_PATTERN,
        "the value of a label or taint: letters, digits, `-`, `_` and `.`, with a letter or digit at both ends",
    ),
    (
        EXPRESSION_PATTERN,
        "a CEL expression about `device`, such as device.driver == 'gpu.nvidia.com'",
    ),
    (
        "^[A-Z][A-Z0-9_]*$",
        "a name of uppercase letters, digits and `_` that starts with a letter",
    ),
    (
        "^[a-z][a-z0-9_]*$",
        "a name of lowercase letters, digits and `_` that starts with a letter",
    ),
    (
        "^[A-Za-z0-9][A-Za-z0-9_.-]*$",
        "a name of letters, digits, `_`, `.` and `-` that starts with a letter or digit",
    ),
    (
        "^[A-Za-z0-9._:/@\\[\\]-]+$",
        "the name of an image: letters, digits, `.`, `_`, `:`, `/`, `@`, `[`, `]` and `-`",
    ),
    (
        "^(NoSchedule|PreferNoSchedule|NoExecute)$",
        "NoSchedule, PreferNoSchedule or NoExecute",
    ),
    ("^(Exists|Equal)$", "Exists or Equal"),
    ("^[^\\x00-\\x1f\\x7f]*$", "text without control characters"),
    (
        "^/[^\\x00-\\x1f\\x7f]*$",
        "an absolute path (it starts with `/`) without control characters",
    ),
    ("^[!-~]*$", "text of printable ASCII characters without spaces"),
];

/// The text that a regular expression of the schema without a unit accepts, in words.
pub(super) fn words(pattern: &str) -> Option<&'static str> {
    let known = DESCRIPTIONS.iter().find(|(known, _)| *known == pattern);
    known.map(|(_, words)| *words)
}

/// Message for a value that does not match `pattern`. `shown` is the value as it appears in the message.
pub(super) fn describe(shown: &str, pattern: &str, value: &Value) -> String {
    let words = words(pattern).or_else(|| unit_of_pattern(pattern).map(Unit::description));
    let hidden = value.as_str().and_then(|text| {
        let hidden = || text.chars().find(|c| is_hidden(*c));
        deceptive_character(text).or_else(hidden)
    });
    let hidden = hidden.map_or_else(String::new, |character| {
        format!(". It contains {}", character_name(character))
    });
    match words {
        Some(words) => format!("{shown} is not {words}{hidden}"),
        None => format!("{shown} does not match the regular expression {pattern}{hidden}"),
    }
}
