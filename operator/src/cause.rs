//! What a failed request comes from. Pure.

use std::error::Error;

/// The end of the chain: those before it only say that something went wrong.
pub fn root_cause(error: &dyn Error) -> String {
    let mut cause = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}
