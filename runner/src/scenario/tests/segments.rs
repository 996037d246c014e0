//! Tests of batches between segments: the life cycle of a batch, the reads that follow writes, and the faults that the
//! integrity pass detects.

use crds::assignment::{ArmAssignment, Extent, TransferMode, TransferWorkload, Workload};
use crds::quantity::Observation;
use crds::record::IntegrityReport;
use crds::v1alpha1::MemoryKind;
use crds::v1alpha1::TransferOperation::{self, Read, Write};

use super::fixture::{BASELINE, Pair, transfer};
use crate::integrity::combine;
use crate::test_transport::Faults;
use crate::transport::Region;

const SIZE: u64 = 4096;

fn workload(operation: TransferOperation, read_back: bool, batch: u32, threads: u32) -> TransferWorkload {
    with_memory(operation, read_back, None, batch, threads)
}

fn with_memory(
    operation: TransferOperation,
    read_back: bool,
    second_memory: Option<MemoryKind>,
    batch: u32,
    threads: u32,
) -> TransferWorkload {
    TransferWorkload {
        threads,
        mode: TransferMode::Segments {
            read_back,
            second_memory,
        },
        warmup: Extent::Iterations(4 * batch),
        ..transfer(operation, batch, batch, 40 * batch)
    }
}

fn mix(batch: u32, threads: u32) -> Pair {
    let workload = workload(Write, true, batch, threads);
    Pair::new(Workload::Transfer(workload), BASELINE, 2, 1 << 17)
}

#[test]
fn half_of_the_measured_transfers_are_read_back() {
    for (batch, size) in [(1, 64), (3, SIZE), (8, 100_000)] {
        let (initiator, target) = mix(batch, 2).measure(size);
        let posted = initiator.posted.unwrap();
        let operations = u64::from(2 * 40 * batch);
        assert_eq!(posted.operations, operations);
        assert_eq!(posted.latency.count(), operations);
        let reads = posted.observations.distribution(Observation::ReadBack).unwrap();
        assert_eq!(reads.histogram.count(), operations / 2);
        assert!(posted.min_nanos <= reads.min_nanos && reads.max_nanos <= posted.max_nanos);
        assert!(posted.observations.nanos(Observation::FirstBurst).unwrap() > 0);
        assert_eq!(target.posted, None);
        // A batch's reads use the same rails as its writes.
        let per_rail = &posted.counters.bytes_per_rail;
        assert!(
            per_rail.iter().all(|bytes| bytes.is_multiple_of(2 * size.min(2))),
            "{per_rail:?}"
        );
        assert_eq!(per_rail.iter().sum::<u64>(), operations * size);
    }
}

/// The last half of the threads uses the second kind of memory on both sides, and the other threads the first kind.
#[test]
fn a_segment_may_have_two_kinds_of_memory() {
    for threads in [2, 3, 5] {
        for (operation, read_back) in [(Read, false), (Write, false), (Write, true)] {
            let workload = with_memory(operation, read_back, Some(MemoryKind::SharedMemory), 3, threads);
            let mut pair = Pair::new(Workload::Transfer(workload), BASELINE, 2, 1 << 17);
            for endpoints in [&pair.initiator, &pair.target] {
                let kinds = endpoints.threads.iter().map(|thread| {
                    let regions = thread.data.iter().flatten();
                    regions.map(|region| region.memory().kind()).collect::<Vec<_>>()
                });
                let expected = (0..threads).map(|thread| match thread < threads.div_ceil(2) {
                    true => vec![MemoryKind::Heap],
                    false => vec![MemoryKind::SharedMemory],
                });
                assert!(kinds.eq(expected));
                let facts = endpoints.facts().memory.iter().map(|facts| facts.kind);
                assert!(facts.eq([MemoryKind::Heap, MemoryKind::SharedMemory]));
            }
            for size in [64, SIZE, 100_000] {
                let (initiator, target) = pair.check(size);
                let both = combine(initiator, target);
                assert!(both.transfers >= 2 * u64::from(threads), "{both:?}");
                assert_eq!((both.bytes, both.first_mismatch), (both.transfers * size, None));
                let posted = pair.measure(size).0.posted.unwrap();
                assert_eq!(posted.operations, u64::from(threads) * 3 * 40);
            }
        }
    }
}

/// Without a list of GPUs, the threads with GPU memory use all GPUs that the driver offers, and every byte is verified.
#[test]
#[ignore = "run by memory::tests::gpu"]
fn a_segment_with_dram_and_vram_uses_all_gpus() {
    for (operation, read_back) in [(Read, false), (Write, false), (Write, true)] {
        let workload = with_memory(operation, read_back, Some(MemoryKind::Cuda), 3, 5);
        let mut pair = Pair::new(Workload::Transfer(workload), BASELINE, 2, 1 << 17);
        for endpoints in [&pair.initiator, &pair.target] {
            let memory = &endpoints.facts().memory;
            let kinds = memory.iter().map(|facts| (facts.kind, facts.gpus.join(" ")));
            let gpus = "0000:a1:00.0 0000:a0:00.0".to_owned();
            assert!(kinds.eq([(MemoryKind::Heap, String::new()), (MemoryKind::Cuda, gpus)]));
        }
        for size in [64, 100_000] {
            let (initiator, target) = pair.check(size);
            let both = combine(initiator, target);
            assert_eq!((both.bytes, both.first_mismatch), (both.transfers * size, None));
            assert!(pair.measure(size).0.posted.unwrap().operations > 0);
        }
    }
}

#[test]
fn reads_and_writes_move_equal_bytes_on_every_rail() {
    let mut pair = mix(1, 1);
    pair.measure(64);
    pair.take_log();
    pair.measure(64);
    // Batches of one transfer alternate between the two rails, and each write is followed by its read.
    let rails: Vec<usize> = pair.take_log().iter().map(|post| post.rail).collect();
    assert!(rails.chunks(2).all(|pair| pair[0] == pair[1]), "{rails:?}");
    assert!(rails.chunks(4).any(|two| two[0] != two[2]), "{rails:?}");
}

#[test]
fn a_batch_starts_when_the_previous_one_is_complete() {
    for operation in [Read, Write] {
        let workload = Workload::Transfer(workload(operation, false, 8, 1));
        let mut pair = Pair::new(workload, BASELINE, 1, 1 << 17);
        // Completions are delayed, so that an initiator that refilled the window early would post fewer transfers at a
        // time.
        let faults = Faults {
            delay_polls: 3,
            reverse: true,
            ..Faults::default()
        };
        pair.set_faults(crate::scenario::Role::Initiator, &faults);
        let posted = pair.measure(SIZE).0.posted.unwrap();
        assert_eq!((posted.operations, posted.counters.posts_per_burst), (320, 8));
        assert_eq!(posted.observations.distribution(Observation::ReadBack), None);
        assert!(posted.observations.nanos(Observation::FirstBurst).is_some());
    }
}

#[test]
fn writes_share_a_doorbell_but_reads_never_do() {
    let arm = ArmAssignment {
        doorbell_max_batch: Some(8),
        ..BASELINE
    };
    let workload = Workload::Transfer(workload(Write, true, 8, 1));
    let mut pair = Pair::new(workload, arm, 1, 1 << 17);
    let counters = pair.measure(64).0.posted.unwrap().counters;
    // There are 20 batches of writes, each with one doorbell, and 20 batches of reads.
    assert_eq!((counters.posts, counters.more), (320, 20 * 7));
}

fn intact(report: &IntegrityReport) -> bool {
    report.first_mismatch.is_none()
        && report.torn_chunks == 0
        && report.crc32c_expected == report.crc32c_found
}

#[test]
fn every_byte_is_checked_after_the_writes_and_after_the_reads() {
    for size in [1, SIZE, 100_003] {
        let mut pair = mix(4, 3);
        let (initiator, target) = pair.check(size);
        for side in [initiator, target] {
            assert!(
                side.transfers >= 24 && side.bytes == side.transfers * size,
                "{side:?}"
            );
            assert!(intact(&side), "{side:?}");
        }
    }
}

/// Runs an integrity pass in which thread 1 corrupts the payload post with index `corrupt_at`.
fn check_with_corruption(corrupt_at: u64) -> (IntegrityReport, IntegrityReport) {
    let mut pair = mix(4, 3);
    pair.initiator.threads[1].transport.faults.corrupt_at = Some(corrupt_at);
    pair.check(SIZE)
}

#[test]
fn a_corrupted_write_is_detected_on_the_target() {
    // The posts are writes 0 to 3, their reads, and then writes 4 to 7, so the tenth post is write 5.
    let (initiator, target) = check_with_corruption(9);
    for side in [&target, &initiator] {
        // Data that was corrupted by the write is also read back corrupted.
        let mismatch = side.first_mismatch.as_ref().unwrap();
        assert_eq!(
            (
                mismatch.thread,
                mismatch.batch,
                mismatch.transfer,
                mismatch.offset_bytes
            ),
            (1, Some(1), 5, 0)
        );
    }
}

#[test]
fn a_corrupted_read_is_detected_on_the_initiator() {
    let (initiator, target) = check_with_corruption(14);
    let mismatch = initiator.first_mismatch.unwrap();
    assert_eq!(
        (
            mismatch.thread,
            mismatch.batch,
            mismatch.transfer,
            mismatch.offset_bytes
        ),
        (1, Some(1), 6, 0)
    );
    assert_eq!(mismatch.expected ^ mismatch.found, 1);
    assert!(intact(&target), "{target:?}");
}

#[test]
fn a_truncated_read_is_detected_on_the_initiator() {
    let mut pair = mix(4, 1);
    pair.initiator.threads[0].transport.faults.tear_at = Some(5);
    let (initiator, target) = pair.check(SIZE);
    assert_eq!(initiator.torn_chunks, 1);
    let mismatch = initiator.first_mismatch.unwrap();
    assert_eq!((mismatch.batch, mismatch.transfer), (Some(0), 1));
    assert!(mismatch.offset_bytes > 0);
    assert!(intact(&target), "{target:?}");
}

#[test]
fn a_truncated_write_is_detected_on_the_target() {
    let mut pair = mix(4, 1);
    pair.initiator.threads[0].transport.faults.tear_at = Some(2);
    let (_, target) = pair.check(SIZE);
    assert_eq!(target.torn_chunks, 1);
    let mismatch = target.first_mismatch.unwrap();
    assert_eq!((mismatch.batch, mismatch.transfer), (Some(0), 2));
    assert!(mismatch.offset_bytes > 0);
}

#[test]
fn a_transfer_that_repeats_the_previous_one_is_detected() {
    // The posts are writes 0 to 3, their reads, and then writes 4 to 7.
    for (post, transfer, is_write) in [(2, 2, true), (5, 1, false)] {
        let mut pair = mix(4, 1);
        pair.initiator.threads[0].transport.faults.repeat_at = Some(post);
        let (initiator, target) = pair.check(SIZE);
        assert_eq!(target.first_mismatch.is_some(), is_write, "{target:?}");
        let mismatch = initiator.first_mismatch.unwrap();
        assert_eq!((mismatch.batch, mismatch.transfer), (Some(0), transfer));
    }
}

#[test]
fn swapped_segments_are_detected() {
    for (operation, read_back) in [(Read, false), (Write, false), (Write, true)] {
        let workload = Workload::Transfer(workload(operation, read_back, 4, 2));
        let mut pair = Pair::new(workload, BASELINE, 2, 1 << 17);
        let (mut initiator, mut target) = (pair.initiator.offer(), pair.target.offer());
        initiator.threads.swap(0, 1);
        target.threads.swap(0, 1);
        pair.initiator.connect(1, &target).unwrap();
        pair.target.connect(0, &initiator).unwrap();
        let (initiator, target) = pair.check(SIZE);
        let both = combine(initiator, target);
        let mismatch = both.first_mismatch.unwrap();
        assert_eq!((mismatch.batch, mismatch.transfer), (Some(0), 0));
    }
}
