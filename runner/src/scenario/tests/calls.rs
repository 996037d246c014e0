//! Integrity passes of calls over a transport.

use crds::assignment::{Extent, RpcWorkload, Workload};
use crds::record::IntegrityReport;
use crds::v1alpha1::RpcPattern;

use super::fixture::{BASELINE, Pair};
use crate::integrity::combine;
use crate::scenario::Role;
use crate::test_transport::Faults;

/// Size of the payload in bytes.
const BYTES: u64 = 110;

/// Checks calls whose initiator has `faults`, and returns the report of both sides.
fn check(faults: Faults) -> IntegrityReport {
    let workload = Workload::Rpc(RpcWorkload {
        gpu: None,
        pattern: RpcPattern::Call,
        hops: 1,
        message_bytes: BYTES,
        timeout_seconds: 10,
        open_loop: None,
        measured: Extent::Iterations(10),
        warmup: Extent::Iterations(1),
    });
    let mut pair = Pair::new(workload, BASELINE, 1, BYTES);
    pair.set_faults(Role::Initiator, &faults);
    let (initiator, target) = pair.check(BYTES);
    combine(initiator, target)
}

#[test]
fn intact_calls_have_no_mismatch() {
    let report = check(Faults::default());
    assert!(report.transfers > 2, "{report:?}");
    assert_eq!((report.first_mismatch, report.duplicated_chunks), (None, 0));
}

#[test]
fn a_corrupted_call_is_detected() {
    let mismatch = check(Faults {
        corrupt_at: Some(1),
        ..Faults::default()
    })
    .first_mismatch
    .unwrap();
    assert_eq!((mismatch.transfer, mismatch.offset_bytes), (1, 0));
}

#[test]
fn a_truncated_call_is_detected() {
    let report = check(Faults {
        tear_at: Some(1),
        ..Faults::default()
    });
    assert_eq!(report.first_mismatch.unwrap().offset_bytes, BYTES / 2);
}

#[test]
fn a_call_that_repeats_the_previous_one_is_detected() {
    let report = check(Faults {
        repeat_at: Some(1),
        ..Faults::default()
    });
    assert_eq!(report.first_mismatch.unwrap().transfer, 1);
}

#[test]
fn a_duplicated_call_is_detected() {
    let report = check(Faults {
        duplicate_at: Some(1),
        ..Faults::default()
    });
    assert!(
        report.duplicated_chunks > 0 || report.first_mismatch.is_some(),
        "{report:?}"
    );
}
