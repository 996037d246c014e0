//! Closes the rails, and reads the protocols that UCX then prints to standard output.

use super::ffi::{self, Rail};
use super::rules::protocols;
use crds::record::ProtocolUse;
use std::io::{self, Write};

/// Closes `rails`. Returns the protocols that the library used; empty if its version does not print them. Whatever else
/// was printed in the meantime is printed again.
pub(super) fn counting(rails: Vec<Rail>) -> Vec<ProtocolUse> {
    let printed = match ffi::capture_stdout(|| drop(rails)) {
        Ok(printed) => printed,
        Err(error) => {
            tracing::warn!(%error, "the protocols that UCX used cannot be read");
            return Vec::new();
        }
    };
    let (protocols, others) = protocols::parse(&printed);
    let mut stdout = io::stdout().lock();
    for line in others {
        // Standard output may be closed; nothing depends on these lines.
        let _ = writeln!(stdout, "{line}");
    }
    protocols
}
