//! Selects the fabric library environment variables to record. Performs no I/O.

use std::collections::BTreeMap;
use std::ffi::OsString;

use crds::libraries::Library;
use crds::record::hex;
use sha2::{Digest, Sha256};

use crate::output::bounded;

/// Maximum number of recorded variables.
const MAX_VARIABLES: usize = 48;
/// Maximum length of a recorded value, in bytes. 48 variables of maximum length take up less than half of a record
/// line.
const MAX_VALUE_BYTES: usize = 128;
/// Maximum length of a recorded name, in bytes.
const MAX_NAME_BYTES: usize = 64;
/// Substrings of a name that indicate a secret.
const SECRET_PARTS: [&str; 4] = ["SECRET", "TOKEN", "PASSWORD", "KEY"];

/// Returns the variables that are valid UTF-8. Fabric libraries use no others.
pub fn utf8_variables(
    variables: impl Iterator<Item = (OsString, OsString)>,
) -> impl Iterator<Item = (String, String)> {
    variables.filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

/// Fabric library variables, with secrets masked.
pub struct FabricVariables(BTreeMap<String, String>);

impl FabricVariables {
    /// Selects the fabric library variables from `variables`.
    pub fn new(variables: impl Iterator<Item = (String, String)>) -> Self {
        let is_recorded = |name: &str| Library::of_variable(name).is_some_and(|library| library.is_recorded);
        let masked = |(name, value): (String, String)| {
            let secret = SECRET_PARTS.iter().any(|part| name.contains(part));
            (name, if secret { "[masked]".to_owned() } else { value })
        };
        Self(
            variables
                .filter(|(name, _)| is_recorded(name))
                .map(masked)
                .collect(),
        )
    }

    /// SHA-256 hash of all variables, in hexadecimal.
    pub fn sha256(&self) -> String {
        let mut digest = Sha256::new();
        for (name, value) in &self.0 {
            digest.update(format!("{name}={value}\n"));
        }
        hex(&digest.finalize())
    }

    /// Limits the number of variables and the length of their names and values.
    pub fn bounded(self) -> BTreeMap<String, String> {
        let surplus = self.0.len().saturating_sub(MAX_VARIABLES);
        let kept = self.0.into_iter().take(MAX_VARIABLES);
        let mut recorded: BTreeMap<_, _> = kept
            .map(|(name, value)| (bounded(&name, MAX_NAME_BYTES), bounded(&value, MAX_VALUE_BYTES)))
            .collect();
        if surplus > 0 {
            recorded.insert("[omitted]".into(), format!("{surplus} more variables"));
        }
        recorded
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded_pairs(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        select(pairs).bounded()
    }

    fn select(pairs: &[(&str, &str)]) -> FabricVariables {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        FabricVariables::new(pairs.iter().map(owned))
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
    fn limits_the_number_and_length_of_variables() {
        let many: Vec<_> = (0..100)
            .map(|number| (format!("FI_X{number:03}"), "v".repeat(5000)))
            .collect();
        let found = FabricVariables::new(many.into_iter()).bounded();
        assert_eq!(found.len(), MAX_VARIABLES + 1);
        assert_eq!(found["[omitted]"], "52 more variables");
        assert!(found["FI_X000"].len() <= MAX_VALUE_BYTES);
    }

    #[test]
    fn hash_covers_truncated_values_but_not_secrets() {
        let long = "v".repeat(5000);
        let hash =
            |value: &str, key: &str| select(&[("FI_A", value), ("UCX_KEY", key), ("HOME", key)]).sha256();
        assert_ne!(hash(&long, ""), hash(&format!("{long}w"), ""));
        assert_eq!(hash("a", "1"), hash("a", "2"));
        // printf 'FI_A=a\nUCX_KEY=[masked]\n' | sha256sum
        assert_eq!(
            hash("a", "1"),
            "f0948162e7858bf40732d8d0fb51016dd7c690fec11c7505958f2b346e59b268"
        );
    }
}
