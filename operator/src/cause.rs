//! Root cause of an error. Performs no I/O.

use std::error::Error;

/// Returns the message of the innermost error in the source chain. The outer errors only say which operation failed.
pub(crate) fn root_cause(error: &dyn Error) -> String {
    let mut cause = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}
