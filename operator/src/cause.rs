//! Root cause of an error. Performs no I/O.

use std::error::Error;

/// Returns the innermost error in the source chain. The outer errors only say which operation failed.
pub(crate) fn innermost<'a>(error: &'a (dyn Error + 'static)) -> &'a (dyn Error + 'static) {
    let mut cause = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause
}

/// Returns the message of the innermost error.
pub(crate) fn root_cause(error: &(dyn Error + 'static)) -> String {
    innermost(error).to_string()
}
