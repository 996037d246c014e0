//! The environment variables that change how fabric libraries behave, as they are recorded. Pure.

use std::collections::BTreeMap;
use std::ffi::OsString;

use crds::names::RECORDED_ENV_PREFIXES;

use crate::output::bounded;

/// Variables recorded at most.
const MAX_VARIABLES: usize = 48;
/// Longest recorded value, in bytes; 48 of them with their names fit half a line of the stream.
const MAX_VALUE_BYTES: usize = 128;
/// Longest recorded name, in bytes.
const MAX_NAME_BYTES: usize = 64;
/// Parts of a name that announce a secret.
const SECRET: [&str; 4] = ["SECRET", "TOKEN", "PASSWORD", "KEY"];

/// The variables that are text; others are none of a library's.
pub fn texts(all: impl Iterator<Item = (OsString, OsString)>) -> impl Iterator<Item = (String, String)> {
    all.filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

/// Those of `variables` that are recorded, bounded in number and length; values of secrets are masked.
pub fn recorded(variables: impl Iterator<Item = (String, String)>) -> BTreeMap<String, String> {
    let mut all: BTreeMap<_, _> = variables
        .filter(|(name, _)| {
            RECORDED_ENV_PREFIXES
                .iter()
                .any(|prefix| name.starts_with(prefix))
        })
        .collect();
    let surplus = all.len().saturating_sub(MAX_VARIABLES);
    if surplus > 0 {
        let first_left_out = all.keys().nth(MAX_VARIABLES).cloned().unwrap_or_default();
        all.split_off(&first_left_out);
    }
    let mut recorded: BTreeMap<_, _> = all
        .into_iter()
        .map(|(name, value)| {
            let secret = SECRET.iter().any(|part| name.contains(part));
            let value = if secret {
                "[masked]".into()
            } else {
                bounded(&value, MAX_VALUE_BYTES)
            };
            (bounded(&name, MAX_NAME_BYTES), value)
        })
        .collect();
    if surplus > 0 {
        recorded.insert("[left out]".into(), format!("{surplus} more variables"));
    }
    recorded
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        recorded(
            pairs
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned())),
        )
    }

    #[test]
    fn only_fabric_variables_are_recorded_and_secrets_are_masked() {
        let found = of(&[
            ("HOME", "/root"),
            ("FI_PROVIDER", "tcp"),
            ("UCX_API_KEY", "123"),
            ("NIXL_LOG_LEVEL", "DEBUG"),
        ]);
        let expected = [
            ("FI_PROVIDER", "tcp"),
            ("NIXL_LOG_LEVEL", "DEBUG"),
            ("UCX_API_KEY", "[masked]"),
        ];
        assert!(
            found
                .iter()
                .map(|(name, value)| (name.as_str(), value.as_str()))
                .eq(expected)
        );
    }

    #[test]
    fn many_and_long_ones_are_bounded_and_said() {
        let many: Vec<_> = (0..100)
            .map(|number| (format!("FI_X{number:03}"), "v".repeat(5000)))
            .collect();
        let found = recorded(many.into_iter());
        assert_eq!(found.len(), MAX_VARIABLES + 1);
        assert_eq!(found["[left out]"], "52 more variables");
        assert!(found["FI_X000"].len() <= MAX_VALUE_BYTES);
    }
}
