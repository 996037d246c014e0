//! No lines make the reader of the record stream panic; whatever record it accepts is written and read again.
//!
//! The input is a record of the stream: a random chain value would refuse nearly every input before the parser.
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
            // Texts that escape to more bytes than they had, and numbers that are not finite, may not fit.
            if let Ok(read) = read {
                assert_eq!(format!("{read:?}"), format!("{record:?}"));
            }
        }
    }
});
