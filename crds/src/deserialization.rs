//! Describes errors of deserialization in the words of a manifest: without the names of Rust types and without the
//! vocabulary of the library that reads the value. Performs no I/O.

use crate::suggestion::did_you_mean;

/// Describes an error of serde: what is wrong with the value, and what to use instead. A message of another kind is
/// returned as it is.
pub fn describe(message: &str) -> String {
    let message = without_position(message);
    if let Some(rest) = message.strip_prefix("unknown variant ") {
        let (given, known) = given_and_known(rest);
        return unknown_value(given, &known);
    }
    if let Some(rest) = message.strip_prefix("unknown field ") {
        let (given, known) = given_and_known(rest);
        return unknown_field(given, &known);
    }
    if let Some(field) = message.strip_prefix("missing field ") {
        return format!("{field} is missing; this field is required");
    }
    if let Some(field) = message.strip_prefix("duplicate field ") {
        return format!("{field} is set twice; remove one");
    }
    for prefix in ["invalid type: ", "invalid value: ", "invalid length "] {
        let parts = message
            .strip_prefix(prefix)
            .and_then(|rest| rest.rsplit_once(", expected "));
        if let Some((given, expected)) = parts {
            return format!(
                "{} is not valid here; use {}",
                given_value(given),
                expected_value(expected)
            );
        }
    }
    message.to_owned()
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

/// The name in the first pair of backticks, and the names in the others.
fn given_and_known(text: &str) -> (&str, Vec<&str>) {
    // The given name may itself contain backticks, so it ends where the list of the known names begins.
    let end = text
        .rfind(", expected ")
        .or_else(|| text.rfind(", there are no "));
    let (given, known) = text.split_at(end.unwrap_or(text.len()));
    let known = known.split('`').skip(1).step_by(2).collect();
    (given.trim_matches('`'), known)
}

/// `message` without the position that serde_json appends to errors in text.
fn without_position(message: &str) -> &str {
    match message.rsplit_once(" at line ") {
        Some((text, position))
            if position
                .chars()
                .all(|c| c.is_ascii_digit() || " column".contains(c)) =>
        {
            text
        }
        _ => message,
    }
}

/// The given value, in the words of a manifest.
fn given_value(given: &str) -> String {
    let quoted = |kind: &str| {
        given
            .strip_prefix(kind)
            .map(|rest| rest.trim_matches('`').to_owned())
    };
    match given {
        "map" => "an object".to_owned(),
        "sequence" => "a list".to_owned(),
        "null" | "unit value" | "Option value" => "an empty value".to_owned(),
        _ => quoted("integer ")
            .or_else(|| quoted("floating point "))
            .or_else(|| quoted("boolean "))
            .or_else(|| quoted("string "))
            .unwrap_or_else(|| given.to_owned()),
    }
}

/// The expected value, in the words of a manifest.
fn expected_value(expected: &str) -> String {
    let described = match expected {
        "a sequence" => "a list",
        "a map" => "an object",
        "a boolean" => "true or false",
        "u8" | "a nonzero u8" => "a whole number from 0 to 255",
        "u16" | "a nonzero u16" => "a whole number from 0 to 65535",
        "u32" | "a nonzero u32" => "a whole number from 0 to 4294967295",
        "u64" | "usize" | "a nonzero u64" => "a whole number that is not negative",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        "a borrowed string" | "string" | "str" => "a string",
        "string or map" | "variant identifier" | "map with a single key" | "externally tagged enum" => {
            "a string, or an object with exactly one field"
        }
        _ if expected.starts_with("struct ") => "an object",
        _ if expected.starts_with("enum ") => "a string, or an object with exactly one field",
        _ if expected.starts_with("fewer elements") => "fewer items",
        _ => expected,
    };
    described.to_owned()
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "camelCase", deny_unknown_fields)]
    #[allow(dead_code, reason = "the fields are only read by the test's deserializer")]
    struct Example {
        #[serde(default)]
        sizes: Vec<u32>,
        #[serde(default)]
        provider: Option<Provider>,
        count: u32,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Provider {
        Tcp,
        Shm,
    }

    fn described(value: serde_json::Value) -> String {
        describe(&serde_json::from_value::<Example>(value).unwrap_err().to_string())
    }

    #[test]
    fn describes_errors_without_words_of_a_library() {
        for (value, expected) in [
            (
                json!({"count": 1, "provider": "tpc"}),
                "`tpc` is not a valid value. Did you mean `tcp`? Use one of tcp, shm",
            ),
            (
                json!({"count": 1, "size": [1]}),
                "unknown field `size`. Did you mean `sizes`? Use one of sizes, provider, count",
            ),
            (json!({"sizes": []}), "`count` is missing; this field is required"),
            (
                json!({"count": 1, "sizes": {"a": 1}}),
                "an object is not valid here; use a list",
            ),
            (
                json!({"count": "1"}),
                "\"1\" is not valid here; use a whole number from 0 to 4294967295",
            ),
            (
                json!({"count": -1}),
                "-1 is not valid here; use a whole number from 0 to 4294967295",
            ),
            (
                json!({"count": 1, "provider": "a`, expected b"}),
                "`a`, expected b` is not a valid value. Use one of tcp, shm",
            ),
            (json!([1]), "1 is not valid here; use a list"),
        ] {
            let text = described(value.clone());
            assert!(text.starts_with(expected), "{value}: {text}");
            for word in ["variant", "sequence", "map", "struct", "u32", "expected one"] {
                assert!(!text.contains(word) || expected.contains(word), "{value}: {text}");
            }
        }
    }

    #[test]
    fn keeps_other_messages_and_removes_positions_in_text() {
        assert_eq!(describe("size -1 is negative"), "size -1 is negative");
        let error = serde_json::from_str::<Example>("{\"count\": true}")
            .unwrap_err()
            .to_string();
        assert_eq!(
            describe(&error),
            "true is not valid here; use a whole number from 0 to 4294967295"
        );
    }
}
