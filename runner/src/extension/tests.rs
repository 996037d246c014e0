//! Tests of calls between two threads, which act as a host and its extension.

use std::os::unix::net::UnixStream;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crds::record::{CaseFailure, FailureReason, IntegrityReport};
use crds::v1alpha1::MemoryKind;

use super::calls::{Calls, Payload};
use super::link::Link;
use super::message::{CallPlan, Message, PayloadPassing};
use super::{Extension, Stream, TimeLimit, serve};
use crate::integrity::{combine, fill, pattern};
use crate::memory::Memory;

const SEED: u64 = 7;
/// Size of a payload that is larger than a connection's buffer, so that a body arrives in several parts.
const BYTES: u64 = 300_001;

/// Host, and an extension in another thread.
struct Pair {
    host: Calls,
    extension: Option<JoinHandle<Result<(), CaseFailure>>>,
}

impl Pair {
    fn new(plan: CallPlan) -> Self {
        let (here, there) = UnixStream::pair().unwrap();
        let extension = Calls::new(Link::new(Stream::Unix(there)));
        let mut host = Calls::new(Link::new(Stream::Unix(here)));
        let extension = Some(thread::spawn(move || serve::serve(extension)));
        host.set_plan(plan);
        host.send(&Message::Plan(plan)).unwrap();
        assert_eq!(host.receive().unwrap(), Message::Ready);
        Self { host, extension }
    }

    fn check(&mut self, transfer: u64) {
        self.host.check_payloads(SEED, transfer);
        let message = Message::Check { seed: SEED, transfer };
        self.host.send(&message).unwrap();
    }

    fn report(&mut self) -> IntegrityReport {
        self.host.send(&Message::Report).unwrap();
        match self.host.receive().unwrap() {
            Message::Checked(report) => combine(self.host.report(), *report),
            other => panic!("{other:?}"),
        }
    }

    /// Closes the connection, and returns the extension's result.
    fn close(mut self) -> Result<(), CaseFailure> {
        let extension = self.extension.take().unwrap();
        drop(self);
        extension.join().unwrap()
    }
}

fn plan(hops: u32, passing: PayloadPassing, echo: bool) -> CallPlan {
    CallPlan {
        hops,
        bytes: BYTES,
        passing,
        gpu: None,
        echo,
    }
}

fn payload(transfer: u64) -> Vec<u8> {
    let mut bytes = vec![0; BYTES as usize];
    pattern::fill(SEED, transfer, 0, &mut bytes);
    bytes
}

fn shared_memory(transfer: u64) -> std::sync::Arc<Memory> {
    let memory = Memory::allocate(MemoryKind::SharedMemory, BYTES as usize).unwrap();
    fill(&memory, 0, SEED, transfer, (0, BYTES)).unwrap();
    memory
}

fn is_intact(report: &IntegrityReport) -> bool {
    report.first_mismatch.is_none()
        && report.torn_chunks == 0
        && report.crc32c_expected == report.crc32c_found
}

#[test]
fn every_hop_passes_the_whole_payload() {
    for hops in 1..=4 {
        for echo in [false, true] {
            let mut pair = Pair::new(plan(hops, PayloadPassing::Copy, echo));
            for transfer in 0..3 {
                pair.check(transfer);
                pair.host.call(Payload::Bytes(&payload(transfer))).unwrap();
            }
            let report = pair.report();
            let arrivals = u64::from(hops) * if echo { 2 } else { 1 };
            assert_eq!(
                (report.transfers, report.bytes),
                (3 * arrivals, 3 * arrivals * BYTES)
            );
            assert!(is_intact(&report), "{report:?}");
            pair.close().unwrap();
        }
    }
}

#[test]
fn every_hop_maps_the_same_memory() {
    for hops in 1..=4 {
        let mut pair = Pair::new(plan(hops, PayloadPassing::Map, false));
        pair.check(5);
        pair.host.call(Payload::Shared(&shared_memory(5))).unwrap();
        let report = pair.report();
        assert_eq!(report.transfers, u64::from(hops));
        assert!(is_intact(&report), "{report:?}");
        pair.close().unwrap();
    }
}

#[test]
fn changed_byte_is_detected_at_its_offset() {
    let mut pair = Pair::new(plan(1, PayloadPassing::Copy, false));
    pair.check(1);
    let mut changed = payload(1);
    changed[200_000] ^= 1;
    pair.host.call(Payload::Bytes(&changed)).unwrap();
    let report = pair.report();
    let mismatch = report.first_mismatch.unwrap();
    assert_eq!((mismatch.transfer, mismatch.offset_bytes), (1, 200_000));
    assert_ne!(report.crc32c_expected, report.crc32c_found);
}

#[test]
fn changed_byte_in_shared_memory_is_detected() {
    let mut pair = Pair::new(plan(1, PayloadPassing::Map, false));
    pair.check(1);
    let memory = shared_memory(1);
    let mut byte = [0];
    memory.read_into(299_999, &mut byte).unwrap();
    memory.write_from(299_999, &[!byte[0]]).unwrap();
    pair.host.call(Payload::Shared(&memory)).unwrap();
    let mismatch = pair.report().first_mismatch.unwrap();
    assert_eq!((mismatch.offset_bytes, mismatch.found), (299_999, !byte[0]));
}

#[test]
fn payload_from_a_different_call_is_detected() {
    let mut pair = Pair::new(plan(2, PayloadPassing::Copy, false));
    pair.check(1);
    pair.host.call(Payload::Bytes(&payload(2))).unwrap();
    assert!(!is_intact(&pair.report()));
}

#[test]
fn truncated_payload_is_rejected() {
    let mut pair = Pair::new(plan(1, PayloadPassing::Copy, false));
    let failure = pair.host.call(Payload::Bytes(&payload(0)[1..])).unwrap_err();
    assert_eq!(failure.reason, FailureReason::CompletionFailed);
    assert!(
        failure
            .message
            .contains("300000 bytes of payload instead of 300001"),
        "{failure:?}"
    );
    assert_eq!(pair.close().unwrap_err().reason, FailureReason::CompletionFailed);
}

#[test]
fn shared_memory_that_is_too_short_is_rejected() {
    let mut pair = Pair::new(plan(1, PayloadPassing::Map, false));
    let short = Memory::allocate(MemoryKind::SharedMemory, 100).unwrap();
    let failure = pair.host.call(Payload::Shared(&short)).unwrap_err();
    assert_eq!(failure.reason, FailureReason::MemoryUnavailable, "{failure:?}");
}

#[test]
fn retained_payloads_are_in_separate_pages() {
    for passing in [PayloadPassing::Copy, PayloadPassing::Map] {
        let mut pair = Pair::new(plan(1, passing, false));
        let (bytes, memory) = (payload(0), shared_memory(0));
        let kept = match passing {
            PayloadPassing::Copy => Payload::Bytes(&bytes),
            PayloadPassing::Map => Payload::Shared(&memory),
        };
        pair.host.send_payload(&Message::Hold, kept).unwrap();
        assert_eq!(pair.host.receive().unwrap(), Message::Ready);
        pair.host.send(&Message::HeldPages).unwrap();
        let Message::Pages(pages) = pair.host.receive().unwrap() else {
            panic!("expected pages");
        };
        // The payload occupies 74 pages. Both threads are in the same process, so that shared memory has two mappings.
        let mappings = if passing == PayloadPassing::Map { 2 } else { 1 };
        assert_eq!(
            (pages.mappings, pages.rss_bytes),
            (mappings, mappings * 74 * 4096)
        );
        assert_eq!(pages.pss_bytes, 74 * 4096);
        pair.host.send(&Message::Release).unwrap();
        assert_eq!(pair.host.receive().unwrap(), Message::Ready);
        pair.host.send(&Message::HeldPages).unwrap();
        assert_eq!(
            pair.host.receive().unwrap_err().reason,
            FailureReason::OperationRejected
        );
    }
}

#[test]
fn oversized_messages_are_rejected_without_reading_them() {
    let mut pair = Pair::new(plan(1, PayloadPassing::Copy, false));
    let oversized = vec![0; BYTES as usize + 1];
    let failure = pair.host.call(Payload::Bytes(&oversized)).unwrap_err();
    // The extension reports the length, unless its end of the connection is closed first.
    assert!(
        matches!(
            failure.reason,
            FailureReason::CompletionFailed | FailureReason::PeerLost
        ),
        "{failure:?}"
    );
    assert_eq!(pair.close().unwrap_err().reason, FailureReason::CompletionFailed);
}

/// Makes the extension retain `payload`, and check its bytes against the pattern of transfer 1.
fn retain_payload(pair: &mut Pair, payload: Payload<'_>) -> Result<IntegrityReport, CaseFailure> {
    pair.check(1);
    pair.host.send_payload(&Message::Hold, payload)?;
    assert_eq!(pair.host.receive()?, Message::Ready);
    Ok(pair.report())
}

#[test]
fn bytes_of_retained_payloads_are_checked() {
    for passing in [PayloadPassing::Copy, PayloadPassing::Map] {
        let mut pair = Pair::new(plan(1, passing, false));
        let (bytes, memory) = (payload(1), shared_memory(1));
        let kept = match passing {
            PayloadPassing::Copy => Payload::Bytes(&bytes),
            PayloadPassing::Map => Payload::Shared(&memory),
        };
        let report = retain_payload(&mut pair, kept).unwrap();
        assert_eq!((report.transfers, report.bytes), (1, BYTES), "{passing:?}");
        assert!(is_intact(&report), "{report:?}");
    }
    let mut changed = payload(1);
    changed[250_000] ^= 1;
    let mut pair = Pair::new(plan(1, PayloadPassing::Copy, false));
    let report = retain_payload(&mut pair, Payload::Bytes(&changed)).unwrap();
    assert_eq!(report.first_mismatch.unwrap().offset_bytes, 250_000);
}

#[test]
fn truncated_payload_is_not_retained() {
    let mut pair = Pair::new(plan(1, PayloadPassing::Copy, false));
    let failure = retain_payload(&mut pair, Payload::Bytes(&payload(1)[1..])).unwrap_err();
    assert_eq!(failure.reason, FailureReason::CompletionFailed);
    assert!(failure.message.contains("300000 bytes of payload"), "{failure:?}");
}

#[test]
fn extension_failure_contains_the_end_of_standard_error() {
    // This process runs the test binary, which does not accept the arguments of an extension.
    let started = Extension::start(
        false,
        plan(1, PayloadPassing::Copy, false),
        TimeLimit::Scenario(Duration::from_secs(30)),
    );
    let Err(failure) = started else {
        panic!("the test binary is not an extension");
    };
    assert_eq!(failure.reason, FailureReason::PeerLost);
    assert!(failure.message.contains("parent"), "{failure:?}");
}
