//! Tests that integrity passes accept intact transfers and detect injected faults.

use crds::assignment::{ArmAssignment, TransferWorkload, Workload};
use crds::v1alpha1::Direction;
use crds::v1alpha1::MemoryKind;
use crds::v1alpha1::PingPongOperation;
use crds::v1alpha1::TransferBuffers;
use crds::v1alpha1::TransferOperation::{self, Read, Send, Write, WriteImmediate};

use super::fixture::{BASELINE, Pair, ping_pong, transfer};
use crate::integrity::combine;
use crate::scenario::Role;
use crate::test_transport::Faults;

const OPERATIONS: [TransferOperation; 4] = [Send, Write, Read, WriteImmediate];
const SIZES: [u64; 4] = [1, 100, 4096, 100_003];

fn pair(operation: TransferOperation) -> Pair {
    let arm = ArmAssignment {
        doorbell_max_batch: Some(4),
        inject_max_bytes: Some(128),
        ..BASELINE
    };
    Pair::new(Workload::Transfer(transfer(operation, 8, 3, 10)), arm, 4, 1 << 17)
}

#[test]
fn checks_every_byte_of_every_transfer_at_its_destination() {
    for operation in OPERATIONS {
        let mut pair = pair(operation);
        for size in SIZES {
            let (initiator, target) = pair.check(size);
            let (destination, source) = match operation {
                Read => (initiator, target),
                _ => (target, initiator),
            };
            assert!(
                destination.transfers >= 16,
                "{operation:?} {size}: {destination:?}"
            );
            assert_eq!(destination.bytes, destination.transfers * size);
            assert_eq!(
                (
                    destination.first_mismatch,
                    destination.torn_chunks,
                    destination.duplicated_chunks
                ),
                (None, 0, 0)
            );
            assert_eq!(destination.crc32c_expected, destination.crc32c_found);
            assert_eq!(source.bytes, 0);
        }
    }
}

#[test]
fn the_sides_may_use_different_kinds_of_memory() {
    let workloads = OPERATIONS.map(|operation| Workload::Transfer(transfer(operation, 8, 3, 10)));
    let both = Workload::Transfer(TransferWorkload {
        direction: Direction::Bidirectional,
        ..transfer(Write, 8, 3, 10)
    });
    let echoed = ping_pong(PingPongOperation::Send, 20);
    for workload in workloads.into_iter().chain([both, echoed]) {
        let kind = Some(MemoryKind::SharedMemory);
        let mut pair = Pair::with_target_memory(kind, workload.clone(), BASELINE, 4, 1 << 17);
        for size in SIZES {
            let (initiator, target) = pair.check(size);
            for side in [initiator, target] {
                assert_eq!(side.crc32c_expected, side.crc32c_found, "{workload:?}");
                assert_eq!((side.first_mismatch, side.torn_chunks), (None, 0));
            }
            pair.measure(size);
        }
        let kinds: Vec<_> = pair
            .initiator
            .facts()
            .memory
            .iter()
            .map(|facts| facts.kind)
            .collect();
        assert_eq!(kinds, [MemoryKind::Heap, MemoryKind::SharedMemory]);
    }
}

#[test]
fn transfers_that_share_buffers_are_checked_one_at_a_time() {
    for operation in OPERATIONS {
        let workload = TransferWorkload {
            buffers: TransferBuffers::Shared,
            ..transfer(operation, 8, 3, 10)
        };
        let mut pair = Pair::new(Workload::Transfer(workload), BASELINE, 4, 1 << 17);
        for size in SIZES {
            let (initiator, target) = pair.check(size);
            let both = combine(initiator, target);
            assert!(both.transfers >= 2, "{operation:?} {size}: {both:?}");
            assert_eq!((both.bytes, both.first_mismatch), (both.transfers * size, None));
        }
    }
}

#[test]
fn checks_ping_pongs_on_both_sides() {
    for operation in [PingPongOperation::Send, PingPongOperation::WriteImmediate] {
        let mut pair = Pair::new(ping_pong(operation, 1), BASELINE, 4, 1 << 17);
        for size in SIZES {
            let (initiator, target) = pair.check(size);
            let both = combine(initiator.clone(), target);
            assert_eq!(both.transfers, 2 * initiator.transfers);
            assert_eq!(both.bytes, both.transfers * size);
            assert_eq!(
                (both.first_mismatch, both.crc32c_expected),
                (None, both.crc32c_found)
            );
        }
    }
}

#[test]
fn checks_both_directions_and_all_threads() {
    for operation in OPERATIONS {
        let mut workload = transfer(operation, 4, 2, 10);
        workload.direction = Direction::Bidirectional;
        workload.threads = 2;
        let mut pair = Pair::new(Workload::Transfer(workload), BASELINE, 2, 1 << 17);
        let (initiator, target) = pair.check(40_000);
        for side in [initiator, target] {
            assert!(side.transfers >= 16, "{side:?}");
            assert_eq!((side.bytes, side.first_mismatch), (side.transfers * 40_000, None));
        }
    }
}

#[test]
fn checks_messages_too_large_for_exclusive_receives_one_at_a_time() {
    let workload = Workload::Transfer(transfer(Send, 64, 8, 10));
    let mut pair = Pair::new(workload, BASELINE, 2, 4 << 20);
    let target = pair.check(4 << 20).1;
    assert_eq!(
        (target.first_mismatch, target.crc32c_expected),
        (None, target.crc32c_found)
    );
    assert!(target.transfers > 1);
}

#[test]
fn detects_a_flipped_bit() {
    for operation in OPERATIONS {
        let mut pair = pair(operation);
        let faults = Faults {
            corrupt_at: Some(13),
            ..Faults::default()
        };
        pair.set_faults(Role::Initiator, &faults);
        let (initiator, target) = pair.check(4096);
        let report = combine(initiator, target);
        let mismatch = report.first_mismatch.unwrap();
        assert_eq!((mismatch.transfer, mismatch.offset_bytes), (13, 0));
        assert_eq!(mismatch.expected ^ mismatch.found, 1);
        assert_ne!(report.crc32c_expected, report.crc32c_found);
    }
}

#[test]
fn detects_a_torn_chunk() {
    for operation in OPERATIONS {
        let mut pair = pair(operation);
        let faults = Faults {
            tear_at: Some(7),
            ..Faults::default()
        };
        pair.set_faults(Role::Initiator, &faults);
        let (initiator, target) = pair.check(100_000);
        let report = combine(initiator, target);
        assert_eq!(report.torn_chunks, 1, "{operation:?}");
        let mismatch = report.first_mismatch.unwrap();
        // The fault hits the eighth delivered post. A burst of three transfers is delivered rail by rail, when the
        // doorbell of each rail is rung, so this post is chunk 2 of transfer 1. Reads share no doorbells and are
        // delivered in posting order, so the eighth read is chunk 3.
        let chunk = if operation == Read { 3 } else { 2 };
        assert_eq!(
            (mismatch.transfer, mismatch.offset_bytes),
            (1, chunk * 25_000 + 12_500)
        );
    }
}

#[test]
fn detects_a_duplicated_chunk() {
    for operation in [Send, WriteImmediate] {
        let mut pair = pair(operation);
        let faults = Faults {
            duplicate_at: Some(5),
            ..Faults::default()
        };
        pair.set_faults(Role::Initiator, &faults);
        let target = pair.check(100_000).1;
        assert_eq!((target.duplicated_chunks, target.first_mismatch), (1, None));
    }
}

#[test]
fn integrity_passes_and_measurements_can_alternate() {
    let mut pair = pair(Send);
    pair.measure(4096);
    let target = pair.check(100_000).1;
    assert_eq!((target.first_mismatch, target.torn_chunks), (None, 0));
    assert_eq!(pair.measure(64).0.posted.unwrap().operations, 10);
}
