//! Tests that the measured window does not allocate: a case with many operations allocates exactly as often as a case
//! with few operations.

#![allow(unsafe_code, reason = "GlobalAlloc is an unsafe trait")]
#![allow(clippy::unwrap_used, missing_docs, reason = "a test")]

#[path = "common/pair.rs"]
mod pair;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

use crds::assignment::{
    ArmAssignment, Extent, PingPongWorkload, ScenarioAssignment, TransferWorkload, Workload,
};
use crds::v1alpha1::TransferOperation::{Read, Send, Write, WriteImmediate};
use crds::v1alpha1::{
    Arrivals, Direction, Loopback as LoopbackSpec, OpenLoop, PingPongOperation, Polling, TransferBuffers,
    TransferOperation, TransportSpec, Ucx as UcxSpec, UcxEmulation, UcxTransport,
};
use fabricbench_runner::transport::Transport;
use fabricbench_runner::transport::loopback::Loopback;
use fabricbench_runner::transport::ucx::Ucx;
use pair::{Pair, arm, scenario};

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
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

fn allocations<T: Transport>(pair: &mut Pair<T>, scenario: &ScenarioAssignment, size: u64) -> u64 {
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
        buffers: TransferBuffers::Separate,
        open_loop: None,
        flush: false,
        ping: false,
        read_back: false,
        segments: false,
        measured: Extent::Iterations(iterations),
        warmup: Extent::Iterations(100),
    }))
}

/// Transfers with intended start times, 20 us apart on average.
fn open_loop(operation: TransferOperation, iterations: u32) -> ScenarioAssignment {
    let mut scenario = transfer(operation, iterations);
    if let Workload::Transfer(transfer) = &mut scenario.workload {
        transfer.batch = 1;
        transfer.open_loop = Some(OpenLoop {
            rate: 50_000,
            arrivals: Arrivals::Poisson,
        });
    }
    scenario
}

/// One message at a time, each followed by a flush where the library has flushes.
fn flushed(iterations: u32) -> ScenarioAssignment {
    let mut scenario = transfer(Send, iterations);
    if let Workload::Transfer(transfer) = &mut scenario.workload {
        (transfer.window, transfer.batch, transfer.flush) = (1, 1, true);
    }
    scenario
}

/// Messages in both directions with pings next to them.
fn with_pings(iterations: u32) -> ScenarioAssignment {
    let mut scenario = transfer(Send, iterations);
    if let Workload::Transfer(transfer) = &mut scenario.workload {
        (transfer.direction, transfer.ping) = (Direction::Bidirectional, true);
    }
    scenario
}

/// Batches of writes, each read back.
fn read_back(iterations: u32) -> ScenarioAssignment {
    let mut scenario = transfer(Write, iterations);
    if let Workload::Transfer(transfer) = &mut scenario.workload {
        (transfer.window, transfer.read_back, transfer.segments) = (transfer.batch, true, true);
    }
    scenario
}

/// This must be the only test in the binary, because the allocations of the whole process are counted.
#[test]
fn additional_operations_do_not_allocate() {
    let scenarios = |iterations| {
        let ping_pongs = [PingPongOperation::Send, PingPongOperation::WriteImmediate]
            .map(|operation| ping_pong(operation, iterations));
        let transfers = [Send, Write, Read, WriteImmediate].map(|operation| transfer(operation, iterations));
        let open_loops = [Send, Write].map(|operation| open_loop(operation, iterations));
        let all = ping_pongs.into_iter().chain(transfers).chain(open_loops);
        let all = all.chain([flushed(iterations), with_pings(iterations), read_back(iterations)]);
        all.collect::<Vec<_>>()
    };
    let (few, many) = (scenarios(200), scenarios(1200));
    for arm in [arm(None, None), arm(Some(256), Some(16))] {
        let loopback = TransportSpec::Loopback(LoopbackSpec { rails: 2 });
        check::<Loopback>(arm.clone(), &few, &many, loopback);
        let ucx = TransportSpec::Ucx(UcxSpec {
            emulation: UcxEmulation::Allow,
            ..UcxSpec::new(vec![UcxTransport::Sm], 2)
        });
        check::<Ucx>(arm, &few, &many, ucx);
    }
}

/// Checks that the cases of `many` allocate as often as those of `few`.
fn check<T: Transport>(
    arm: ArmAssignment,
    few: &[ScenarioAssignment],
    many: &[ScenarioAssignment],
    transport: TransportSpec,
) {
    let library = transport.library();
    let mut pair = Pair::<T>::new(arm, few.to_vec(), transport, Polling::Yield);
    for (few, many) in few.iter().zip(many) {
        for size in [64, 32 * 1024] {
            // The first case is not counted, because it makes allocations that later cases reuse.
            allocations(&mut pair, few, size);
            let (few_count, many_count) = (
                allocations(&mut pair, few, size),
                allocations(&mut pair, many, size),
            );
            assert_eq!(
                few_count, many_count,
                "{library}: {:?} of {size} bytes",
                many.workload
            );
        }
    }
}
