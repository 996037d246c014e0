//! Selects the environment variables of fabric libraries to record. Performs no I/O.

use std::collections::BTreeMap;
use std::ffi::OsString;

use crds::names::RECORDED_ENV_PREFIXES;

use crate::output::bounded;

/// Maximum number of recorded variables.
const MAX_VARIABLES: usize = 48;
/// Maximum length of a recorded value, in bytes. 48 values with their names occupy less than half of a record line.
const MAX_VALUE_BYTES: usize = 128;
/// Maximum length of a recorded name, in bytes.
const MAX_NAME_BYTES: usize = 64;
/// Substrings of a name that indicate a secret.
const SECRET_PARTS: [&str; 4] = ["SECRET", "TOKEN", "PASSWORD", "KEY"];

/// Returns the variables that are valid UTF-8. Fabric libraries use only such variables.
pub fn utf8_variables(
    variables: impl Iterator<Item = (OsString, OsString)>,
) -> impl Iterator<Item = (String, String)> {
    variables.filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

/// Selects the variables of fabric libraries, limits their number and length, and masks secrets.
pub fn recorded_variables(variables: impl Iterator<Item = (String, String)>) -> BTreeMap<String, String> {
    let mut matching: BTreeMap<_, _> = variables
        .filter(|(name, _)| {
            RECORDED_ENV_PREFIXES
                .iter()
                .any(|prefix| name.starts_with(prefix))
        })
        .collect();
    let surplus = matching.len().saturating_sub(MAX_VARIABLES);
    if surplus > 0 {
        let first_omitted = matching.keys().nth(MAX_VARIABLES).cloned().unwrap_or_default();
        matching.split_off(&first_omitted);
    }
    let mut recorded: BTreeMap<_, _> = matching
        .into_iter()
        .map(|(name, value)| {
            let secret = SECRET_PARTS.iter().any(|part| name.contains(part));
            let value = if secret {
                "[masked]".into()
            } else {
                bounded(&value, MAX_VALUE_BYTES)
            };
            (bounded(&name, MAX_NAME_BYTES), value)
        })
        .collect();
    if surplus > 0 {
        recorded.insert("[omitted]".into(), format!("{surplus} more variables"));
    }
    recorded
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded_pairs(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        recorded_variables(
            pairs
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned())),
        )
    }

    #[test]
    fn records_fabric_variables_and_masks_secrets() {
        let found = recorded_pairs(&[
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
    fn limits_number_and_length_of_variables() {
        let many: Vec<_> = (0..100)
            .map(|number| (format!("FI_X{number:03}"), "v".repeat(5000)))
            .collect();
        let found = recorded_variables(many.into_iter());
        assert_eq!(found.len(), MAX_VARIABLES + 1);
        assert_eq!(found["[omitted]"], "52 more variables");
        assert!(found["FI_X000"].len() <= MAX_VALUE_BYTES);
    }
}
