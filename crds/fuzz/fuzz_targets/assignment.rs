//! No bytes make the reader of assignments panic, and what it accepts survives a round trip.
#![no_main]

use fabricbench_crds::assignment::Assignment;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(assignment) = Assignment::parse(bytes) {
        let text = serde_json::to_vec(&assignment).expect("an assignment is always JSON");
        let again = Assignment::parse(&text).expect("an accepted assignment is accepted again");
        assert_eq!(again, assignment);
    }
});
