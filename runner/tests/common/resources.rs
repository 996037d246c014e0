//! Checks that endpoints release their resources and that posting does not allocate. Must be used by only one test in a
//! binary, because it counts the file descriptors and allocations of the whole process.

use std::alloc::{GlobalAlloc, Layout, System};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crds::v1alpha1::MemoryKind;
use fabricbench_runner::memory::Memory;
use fabricbench_runner::transport::{
    Completion, CompletionKind, OpenConfig, Operation, Post, PostError, Region, RemoteKey, Transport,
};

struct CountingAllocator;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: every method passes its arguments unchanged to the system allocator, which upholds the contract.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller upholds the contract of `alloc`, which is also the contract of the system allocator.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller guarantees that `alloc` returned `pointer` for this layout, and `alloc` uses the system
        // allocator.
        unsafe { System.dealloc(pointer, layout) };
    }
}

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

const TIMEOUT: Duration = Duration::from_secs(20);
const LENGTH: u64 = 4096;

struct Side<T: Transport> {
    transport: T,
    region: T::Region,
}

/// Two connected transports, and the key of the target's memory.
fn pair<T: Transport>(config: &OpenConfig) -> (Side<T>, Side<T>, RemoteKey) {
    let open = || {
        let mut transport = T::open(config).unwrap();
        let memory = Memory::allocate(MemoryKind::Heap, usize::try_from(LENGTH).unwrap()).unwrap();
        let region = transport.register(memory).unwrap();
        Side { transport, region }
    };
    let (mut initiator, mut target) = (open(), open());
    let peer = initiator.transport.connect(target.transport.addresses()).unwrap();
    target.transport.connect(initiator.transport.addresses()).unwrap();
    let key = initiator.transport.import(peer, &target.region.remote()).unwrap()[0];
    (initiator, target, key)
}

/// Posts `count` writes. Each write is posted after the previous write has completed.
fn write<T: Transport>(initiator: &mut Side<T>, target: &mut Side<T>, operation: Operation, count: usize) {
    let deadline = Instant::now() + TIMEOUT;
    let mut completions = [Completion {
        rail: 0,
        kind: CompletionKind::Posted { token: 0 },
    }; 16];
    for _ in 0..count {
        let region = &initiator.region;
        let (offset, length, inject, more) = (0, LENGTH, false, false);
        let post = Post {
            rail: 0,
            peer: 0,
            operation,
            region,
            offset,
            length,
            inject,
            more,
            token: 0,
        };
        let mut posted = false;
        loop {
            if !posted {
                match initiator.transport.post(&post) {
                    Ok(()) => posted = true,
                    Err(PostError::Again) => {}
                    Err(other) => panic!("{other:?}"),
                }
            }
            target.transport.poll(&mut completions).unwrap();
            if initiator.transport.poll(&mut completions).unwrap() > 0 {
                break;
            }
            assert!(Instant::now() < deadline, "a write did not complete in time");
            std::thread::yield_now();
        }
    }
}

/// Returns the number of open file descriptors and the files of this process in `/dev/shm`.
fn list_open_resources() -> (usize, BTreeSet<String>) {
    let is_own = |name: &String| name.contains(&std::process::id().to_string());
    let entries = |directory| std::fs::read_dir(directory).unwrap().flatten();
    let files = entries("/dev/shm")
        .map(|e| e.file_name().to_string_lossy().into_owned())
        .filter(is_own)
        .collect();
    (entries("/proc/self/fd").count(), files)
}

/// Opens, uses and closes a pair of transports several times.
///
/// # Panics
/// Panics if a post allocates, or closed transports leave a file descriptor or a file in `/dev/shm` behind.
pub fn check<T: Transport>(config: &OpenConfig) {
    let spec = &config.spec;
    let mut before = None;
    for round in 0..4 {
        let (mut initiator, mut target, remote) = pair::<T>(config);
        let operation = Operation::Write {
            remote,
            remote_offset: 0,
        };
        write(&mut initiator, &mut target, operation, 10);
        let allocations = ALLOCATIONS.load(Ordering::Relaxed);
        write(&mut initiator, &mut target, operation, 200);
        assert_eq!(ALLOCATIONS.load(Ordering::Relaxed), allocations, "{spec:?}");

        let Side { transport, region } = initiator;
        if round % 2 == 0 {
            drop(transport);
            drop(region);
        } else {
            drop(region);
            drop(transport);
        }
        drop(target);
        let after = list_open_resources();
        assert!(after.1.is_empty(), "{spec:?}: files left in /dev/shm: {after:?}");
        // The comparison starts after the first iteration, in which the library opens additional descriptors that it
        // keeps until the process exits.
        if let Some(before) = before.replace(after.clone()) {
            assert_eq!(after, before, "{spec:?}: open descriptors");
        }
    }
}
