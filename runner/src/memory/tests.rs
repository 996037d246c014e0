//! Tests of every kind of memory that this machine supports, and of the errors for the other kinds.

mod gpu;
mod machine;

use crds::record::FailureReason;
use proptest::prelude::*;

use super::*;

const HOST_KINDS: [MemoryKind; 2] = [MemoryKind::Heap, MemoryKind::SharedMemory];

fn byte_at(memory: &Memory, offset: usize) -> u8 {
    let mut byte = [0];
    memory.read_into(offset, &mut byte).unwrap();
    byte[0]
}

#[test]
fn host_memory_is_zeroed_and_page_aligned() {
    for kind in HOST_KINDS {
        let memory = Memory::allocate(kind, 10_000).unwrap();
        assert_eq!((memory.kind(), memory.length()), (kind, 10_000));
        assert_eq!(memory.address().addr() % 4096, 0);
        assert!(!memory.is_device());
        assert_eq!((byte_at(&memory, 0), byte_at(&memory, 9_999)), (0, 0));
    }
}

#[test]
fn populated_pages_have_a_numa_node_if_the_kernel_reports_nodes() {
    for kind in HOST_KINDS {
        let memory = Memory::allocate(kind, 64 * 4096).unwrap();
        let reported = std::path::Path::new("/proc/self/numa_maps").exists();
        assert_eq!(memory.numa_node().is_some(), reported, "{kind:?}");
    }
}

#[test]
fn rejects_empty_and_excessive_sizes() {
    for kind in HOST_KINDS {
        let empty = Memory::allocate(kind, 0).unwrap_err();
        assert_eq!(empty, MemoryError::Empty { kind });
        // Huge pages come from a pool of their own.
        let reason = match kind {
            MemoryKind::HugePages => FailureReason::MemoryUnavailable,
            _ => FailureReason::NotEnoughMemory,
        };
        for bytes in [1 << 50, usize::MAX] {
            let error = Memory::allocate(kind, bytes).unwrap_err();
            assert_eq!(error.reason(), reason, "{error}");
        }
    }
}

#[test]
fn failed_huge_page_allocations_do_not_unmap_other_memory() {
    // No pool is this large. The kernel returns the error after it has already unmapped the reserved addresses.
    let fail_to_allocate = || (0..5_000).for_each(|_| drop(Memory::allocate(MemoryKind::HugePages, 1 << 40)));
    let use_memory = || {
        for _ in 0..5_000 {
            let memory = Memory::allocate(MemoryKind::Heap, 10_000).unwrap();
            memory.fill(7).unwrap();
            assert_eq!(byte_at(&memory, 9_999), 7);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(fail_to_allocate);
            scope.spawn(use_memory);
        }
    });
}

#[test]
fn shared_memory_can_be_opened_by_its_path() {
    let memory = Memory::allocate(MemoryKind::SharedMemory, 5_000).unwrap();
    let path = memory.path().unwrap();
    memory.write_from(4_090, b"crosses a page").unwrap();
    let seen = std::fs::read(&path).unwrap();
    assert_eq!(&seen[4_090..4_104], b"crosses a page");
    // The file is sealed, so a peer cannot truncate it and cause a fault in the owner.
    let file = File::options().read(true).write(true).open(&path).unwrap();
    assert!(file.set_len(1).is_err());
}

#[test]
fn private_memory_has_no_path() {
    let memory = Memory::allocate(MemoryKind::Heap, 1).unwrap();
    assert_eq!(memory.path(), None);
}

#[test]
fn huge_pages_are_verified_or_the_error_suggests_a_fix() {
    let allocated = Memory::allocate(MemoryKind::HugePages, 3_000_000);
    if let Some(expected) = machine::expected_huge_page_error(2) {
        let error = allocated.unwrap_err();
        assert_eq!(error.reason(), FailureReason::MemoryUnavailable);
        assert!(error.to_string().contains(expected), "{error}");
        return;
    }
    let memory = allocated.unwrap();
    assert_eq!(memory.address().addr() % (2 * 1024 * 1024), 0);
    let Backing::Private(mapping) = &memory.backing else {
        panic!("huge pages are private");
    };
    assert_eq!(maps::page_bytes(mapping.range()), Some(2 * 1024 * 1024));
    memory.fill(0x5a).unwrap();
    assert_eq!(byte_at(&memory, 2_999_999), 0x5a);
}

#[test]
fn ordinary_pages_are_not_huge() {
    for kind in HOST_KINDS {
        let memory = Memory::allocate(kind, 8 * 1024 * 1024).unwrap();
        let (Backing::Private(mapping) | Backing::Shared(mapping, _)) = &memory.backing else {
            panic!("host memory is mapped");
        };
        assert_eq!(maps::page_bytes(mapping.range()), Some(4096));
    }
}

#[test]
fn gpu_memory_works_or_the_error_names_the_missing_part() {
    let allocated = Memory::allocate(MemoryKind::Cuda, 100_000);
    if let Some(expected) = machine::expected_gpu_error() {
        let error = allocated.unwrap_err();
        assert_eq!(error.reason(), FailureReason::MemoryUnavailable);
        assert!(error.to_string().contains(expected), "{error}");
        return;
    }
    let memory = allocated.unwrap();
    assert!(memory.is_device());
    assert!(memory.pci().is_some());
    memory.fill(7).unwrap();
    memory.write_from(99_990, b"0123456789").unwrap();
    assert_eq!((byte_at(&memory, 99_989), byte_at(&memory, 99_999)), (7, b'9'));
    assert!(memory.write_from(99_991, b"0123456789").is_err());
}

proptest! {
    #[test]
    fn copies_change_only_the_given_range(
        length in 1usize..9_000,
        offset in 0usize..10_000,
        count in 0usize..10_000,
    ) {
        let memory = Memory::allocate(MemoryKind::Heap, length).unwrap();
        memory.fill(1).unwrap();
        let fits = offset + count <= length;
        prop_assert_eq!(memory.write_from(offset, &vec![2; count]).is_ok(), fits);
        prop_assert_eq!(memory.read_into(offset, &mut vec![0; count]).is_ok(), fits);
        let mut all = vec![0; length];
        memory.read_into(0, &mut all).unwrap();
        let changed = if fits { offset..offset + count } else { 0..0 };
        let expected: Vec<u8> = (0..length).map(|at| if changed.contains(&at) { 2 } else { 1 }).collect();
        prop_assert_eq!(all, expected);
    }
}

#[test]
fn rejects_offsets_that_overflow() {
    let memory = Memory::allocate(MemoryKind::Heap, 10).unwrap();
    let error = memory.write_from(usize::MAX, &[1]).unwrap_err();
    assert_eq!(
        error,
        MemoryError::OutOfRange {
            offset: usize::MAX,
            count: 1,
            length: 10
        }
    );
}
