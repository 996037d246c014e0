//! Root cause of an error. Performs no I/O.

use std::error::Error;

/// Returns the message of the last error in the chain of sources. The errors before it only state that an operation
/// failed.
pub fn root_cause(error: &dyn Error) -> String {
    let mut cause = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}
