//! Closes the rails, and reads the protocols that UCX then prints to standard output.

use super::ffi::{self, Rail};
use super::rules::protocols;
use crds::record::ProtocolUse;
use std::io::{self, Write};

/// Closes `rails`. Returns the protocols that the library used, or an empty list if this version of the library does
/// not print them. Any other output that was captured in the meantime is printed afterwards.
pub(super) fn close_and_count(rails: Vec<Rail>) -> Vec<ProtocolUse> {
    let ((), printed) = ffi::capture_stdout(|| drop(rails));
    let printed = match printed {
        Ok(printed) => printed,
        Err(error) => {
            tracing::warn!(%error, "the protocols that UCX used cannot be read");
            return Vec::new();
        }
    };
    let (protocols, others) = protocols::parse(&printed);
    print_captured(others);
    protocols
}

/// Prints the library output that was captured.
pub(super) fn print_captured<'a>(lines: impl IntoIterator<Item = &'a str>) {
    let mut stdout = io::stdout().lock();
    for line in lines {
        // Standard output may be closed; nothing depends on these lines.
        let _ = writeln!(stdout, "{line}");
    }
}
