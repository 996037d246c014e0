//! Names of runs and scenarios.

use crds::names::MAX_RUN_NAME;

use crate::format::clipped;

/// Checks the name of a run.
///
/// # Errors
/// Returns the requirements for a name if `name` is not valid.
pub fn check_name(name: &str) -> Result<(), String> {
    match is_label(name, MAX_RUN_NAME) {
        true => Ok(()),
        false => Err(format!(
            "`{name}` is not a valid name: pods and directories are named after the run, so it must consist \
             of 1 to {MAX_RUN_NAME} lowercase letters, digits and `-`, and start and end with a letter or digit. Choose \
             another name",
            name = clipped(name, MAX_SHOWN_NAME)
        )),
    }
}

/// Maximum length of an invalid name in a message, in characters.
const MAX_SHOWN_NAME: usize = 80;

/// Maximum length of a scenario name in characters, as in the schema.
pub(super) const MAX_SCENARIO_NAME: usize = 40;

/// Maximum length of a DNS label, in bytes (RFC 1123, section 2.1).
pub const MAX_LABEL: usize = 63;

/// Whether `name` is a DNS label (RFC 1123, section 2.1) of at most `max_length` characters.
pub fn is_label(name: &str, max_length: usize) -> bool {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    (1..=max_length).contains(&name.len())
        && name.chars().all(inner)
        && !name.starts_with('-')
        && !name.ends_with('-')
}
