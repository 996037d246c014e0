//! The timed region allocates nothing: a case of many operations allocates exactly as often as one of few.

#![allow(unsafe_code, reason = "a global allocator that counts")]
#![allow(clippy::unwrap_used, missing_docs, reason = "a test")]

#[path = "common/pair.rs"]
mod pair;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

use crds::assignment::{Extent, PingPongWorkload, ScenarioAssignment, TransferWorkload, Workload};
use crds::v1alpha1::TransferOperation::{Read, Send, Write, WriteImmediate};
use crds::v1alpha1::{
    Direction, Loopback as LoopbackSpec, PingPongOperation, Polling, TransferOperation, TransportSpec,
};
use fabricbench_runner::transport::loopback::Loopback;
use pair::{Pair, arm, scenario};

struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: every method passes its arguments on to the system's allocator, which keeps the contract, and counts.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `alloc`, which is that of the system's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: `pointer` came from `alloc` above with this layout, so from the system's allocator.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn allocations(pair: &mut Pair<Loopback>, scenario: &ScenarioAssignment, size: u64) -> u64 {
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    pair.measure(scenario, size);
    ALLOCATIONS.load(Ordering::Relaxed) - before
}

fn ping_pong(operation: PingPongOperation, iterations: u32) -> ScenarioAssignment {
    scenario(Workload::PingPong(PingPongWorkload {
        operation,
        measured: Extent::Iterations(iterations),
        warmup: Extent::Iterations(100),
    }))
}

fn transfer(operation: TransferOperation, iterations: u32) -> ScenarioAssignment {
    scenario(Workload::Transfer(TransferWorkload {
        operation,
        window: 16,
        batch: 4,
        threads: 1,
        direction: Direction::Unidirectional,
        measured: Extent::Iterations(iterations),
        warmup: Extent::Iterations(100),
    }))
}

/// One test in this file, for the count is the whole process's.
#[test]
fn a_thousand_more_operations_allocate_nothing_more() {
    let scenarios = |iterations| {
        let ping_pongs = [PingPongOperation::Send, PingPongOperation::WriteImmediate]
            .map(|operation| ping_pong(operation, iterations));
        let transfers = [Send, Write, Read, WriteImmediate].map(|operation| transfer(operation, iterations));
        ping_pongs.into_iter().chain(transfers).collect::<Vec<_>>()
    };
    let (few, many) = (scenarios(200), scenarios(1200));
    for arm in [arm(None, None), arm(Some(256), Some(16))] {
        let transport = TransportSpec::Loopback(LoopbackSpec { rails: 2 });
        let mut pair = Pair::<Loopback>::new(arm, few.clone(), transport, Polling::Yield);
        for (few, many) in few.iter().zip(&many) {
            for size in [64, 32 * 1024] {
                // What is allocated once, by the first case of its kind, is out of the way then.
                allocations(&mut pair, few, size);
                let (of_few, of_many) = (
                    allocations(&mut pair, few, size),
                    allocations(&mut pair, many, size),
                );
                assert_eq!(of_few, of_many, "{:?} of {size} bytes", many.workload);
            }
        }
    }
}
