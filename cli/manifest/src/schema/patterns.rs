//! Describes the regular expressions of the schema in words. Performs no I/O.

use crds::printable::{character_name, is_hidden};
use serde_json::Value;

/// Each regular expression of the schema, and the text that it accepts.
const DESCRIPTIONS: [(&str, &str); 13] = [
    (
        "^([0-9]{1,18}|[0-9]{1,15}(k|Ki)|[0-9]{1,12}(M|Mi)|[0-9]{1,9}(G|Gi)|[0-9]{1,6}(T|Ti))$",
        "a size such as 64, 32Ki or 1Mi",
    ),
    ("^[0-9]+(ns|us|ms|s|m|h)$", "a duration such as 500ms or 10s"),
    (
        "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$",
        "a name of lowercase letters, digits and `-` that starts and ends with a letter or digit",
    ),
    (
        "^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$",
        "a name of lowercase letters, digits, `-` and `.` that starts and ends with a letter or digit",
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
    ("^[A-Za-z0-9._:/@\\[\\]-]+$", "the name of an image"),
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

/// Message for a value that does not match `pattern`. `shown` is the value as it appears in the message.
pub(super) fn describe(shown: &str, pattern: &str, value: &Value) -> String {
    let known = DESCRIPTIONS.iter().find(|(known, _)| *known == pattern);
    let hidden = value
        .as_str()
        .and_then(|text| text.chars().find(|c| is_hidden(*c)));
    let hidden = hidden.map_or_else(String::new, |character| {
        format!(". It contains {}", character_name(character))
    });
    match known {
        Some((_, words)) => format!("{shown} is not {words}{hidden}"),
        None => format!("{shown} does not match the regular expression {pattern}{hidden}"),
    }
}
