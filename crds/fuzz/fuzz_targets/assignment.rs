//! The assignment parser does not panic on any input, and accepted assignments survive a round trip.
#![no_main]

use fabricbench_crds::assignment::Assignment;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(assignment) = Assignment::parse(bytes) {
        let text = serde_json::to_vec(&assignment).expect("an assignment can be serialized");
        let reparsed = Assignment::parse(&text).expect("a serialized assignment is valid");
        assert_eq!(reparsed, assignment);
    }
});
