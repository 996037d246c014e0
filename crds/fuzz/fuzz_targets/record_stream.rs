//! The record stream reader does not panic on any input, and accepted records survive a round trip.
//!
//! Each line is also parsed as a bare record, because a reader that checks the chain value would reject nearly all
//! random lines before it parses the record.
#![no_main]

use fabricbench_crds::record::{Chain, ChainWriter, Record};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    for line in text.lines() {
        let _ = Chain::default().read(line);
        let Ok(record) = serde_json::from_str::<Record>(line) else { continue };
        if let Ok(written) = ChainWriter::default().line(&record) {
            let read = Chain::default().read(written.trim_end());
            // The line may be unreadable if escaping made a string too long or if a number is not finite.
            if let Ok(read) = read {
                assert_eq!(format!("{read:?}"), format!("{record:?}"));
            }
        }
    }
});
