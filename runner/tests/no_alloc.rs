//! Tests that the measured window does not allocate: a case with many operations allocates exactly as often as a case
//! with few operations. Only allocations by Rust code are counted, because the libraries use another allocator.

#![allow(unsafe_code, reason = "GlobalAlloc is an unsafe trait")]
#![allow(clippy::unwrap_used, missing_docs, reason = "a test")]

#[path = "common/pair.rs"]
mod pair;

use std::alloc::{GlobalAlloc, Layout, System};
use std::env;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

use crds::assignment::{
    ArmAssignment, Extent, PingPongWorkload, ScenarioAssignment, TransferMode, TransferWorkload, Workload,
};
use crds::v1alpha1::TransferOperation::{Read, Send, Write, WriteImmediate};
use crds::v1alpha1::{
    Arrivals, Direction, Loopback as LoopbackSpec, OpenLoop, PingPongOperation, Polling, TransferOperation,
    TransportSpec, Ucx as UcxSpec, UcxEmulation, UcxErrorHandling, UcxMessages, UcxTransport,
};
use fabricbench_runner::transport::Transport;
use fabricbench_runner::transport::environment::required_environment;
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

fn ping_pong_scenario(operation: PingPongOperation, iterations: u32) -> ScenarioAssignment {
    scenario(Workload::PingPong(PingPongWorkload {
        operation,
        measured: Extent::Iterations(iterations),
        warmup: Extent::Iterations(100),
    }))
}

fn transfer_scenario(operation: TransferOperation, iterations: u32) -> ScenarioAssignment {
    scenario(Workload::Transfer(TransferWorkload {
        batch: 4,
        warmup: Extent::Iterations(100),
        ..TransferWorkload::new(operation, 16, Extent::Iterations(iterations))
    }))
}

/// Transfers with intended start times, 20 us apart on average.
fn open_loop_scenario(operation: TransferOperation, iterations: u32) -> ScenarioAssignment {
    let mut scenario = transfer_scenario(operation, iterations);
    if let Workload::Transfer(transfer) = &mut scenario.workload {
        transfer.batch = 1;
        transfer.open_loop = Some(OpenLoop {
            rate: 50_000,
            arrivals: Arrivals::Poisson,
        });
    }
    scenario
}

/// One message at a time, each followed by a flush if the library supports flushes.
fn flushed_scenario(iterations: u32) -> ScenarioAssignment {
    let mut scenario = transfer_scenario(Send, iterations);
    if let Workload::Transfer(transfer) = &mut scenario.workload {
        (transfer.window, transfer.batch, transfer.mode) = (1, 1, TransferMode::Flushed);
    }
    scenario
}

/// Messages in both directions with concurrent pings.
fn bidirectional_ping_scenario(iterations: u32) -> ScenarioAssignment {
    let mut scenario = transfer_scenario(Send, iterations);
    if let Workload::Transfer(transfer) = &mut scenario.workload {
        (transfer.direction, transfer.mode) = (Direction::Bidirectional, TransferMode::WithPings);
    }
    scenario
}

/// Batches of writes. Each batch is read back.
fn read_back_scenario(iterations: u32) -> ScenarioAssignment {
    let mut scenario = transfer_scenario(Write, iterations);
    if let Workload::Transfer(transfer) = &mut scenario.workload {
        transfer.window = transfer.batch;
        transfer.mode = TransferMode::Segments {
            read_back: true,
            second_memory: None,
        };
    }
    scenario
}

/// Largest number of times that the allocations of a case are counted.
const MAX_ATTEMPTS: usize = 8;
/// Variable that contains the directory of the only UCX library to test. It is unset in the process that tests all
/// libraries.
const LIBRARY: &str = "FABRICBENCH_TEST_UCX_LIBRARY";

/// This must be the only test in the binary, because the allocations of the whole process are counted. A process can
/// load only one UCX library, so each library is tested in a separate process.
#[test]
fn additional_operations_do_not_allocate() {
    if let Some(library) = env::var_os(LIBRARY) {
        let library = library.into_string().unwrap();
        return check_ucx(&Some(library).filter(|library| !library.is_empty()));
    }
    let (few, many) = (scenarios(200), scenarios(1200));
    for arm in arms() {
        let loopback = TransportSpec::Loopback(LoopbackSpec { rails: 2 });
        check::<Loopback>("loopback", arm, [&few, &many], &loopback, &None);
    }
    let newer = env::var("FABRICBENCH_TEST_UCX_2").unwrap_or_else(|_| {
        panic!("FABRICBENCH_TEST_UCX_2 must name a directory with a newer UCX; .ci/test sets it")
    });
    // The empty name stands for the system's UCX.
    for library in [String::new(), newer] {
        let mut command = Command::new(env::current_exe().unwrap());
        command
            .args(["--exact", "additional_operations_do_not_allocate"])
            .env(LIBRARY, &library);
        command.envs(required_environment(
            &ucx(UcxTransport::Sm, UcxMessages::Tag, None),
            1,
        ));
        let output = command.output().unwrap();
        assert!(
            output.status.success(),
            "UCX in {library:?}: {}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
    }
}

fn arms() -> [ArmAssignment; 2] {
    [arm(None, None), arm(Some(256), Some(16))]
}

fn scenarios(iterations: u32) -> Vec<ScenarioAssignment> {
    let ping_pongs = [PingPongOperation::Send, PingPongOperation::WriteImmediate]
        .map(|operation| ping_pong_scenario(operation, iterations));
    let transfers =
        [Send, Write, Read, WriteImmediate].map(|operation| transfer_scenario(operation, iterations));
    let open_loops = [Send, Write].map(|operation| open_loop_scenario(operation, iterations));
    let all = ping_pongs.into_iter().chain(transfers).chain(open_loops);
    let all = all.chain([
        flushed_scenario(iterations),
        bidirectional_ping_scenario(iterations),
        read_back_scenario(iterations),
    ]);
    all.collect()
}

/// UCX with two rails.
fn ucx(
    transport: UcxTransport,
    messages: UcxMessages,
    error_handling: Option<UcxErrorHandling>,
) -> TransportSpec {
    TransportSpec::Ucx(UcxSpec {
        emulation: UcxEmulation::Allow,
        messages,
        error_handling,
        ..UcxSpec::new(vec![transport], 2)
    })
}

/// Checks UCX over shared memory and tcp, with both message APIs, and over tcp with both error handling modes.
fn check_ucx(library: &Option<String>) {
    let (few, many) = (scenarios(200), scenarios(1200));
    for messages in [UcxMessages::Tag, UcxMessages::ActiveMessage] {
        for (transport, error_handling) in [
            (UcxTransport::Sm, None),
            (UcxTransport::Tcp, None),
            (UcxTransport::Tcp, Some(UcxErrorHandling::None)),
        ] {
            let name = format!("{transport:?}, {messages:?}, {error_handling:?}");
            let spec = ucx(transport, messages, error_handling);
            check::<Ucx>(&name, arm(None, None), [&few, &many], &spec, library);
        }
    }
}

/// Checks that the cases with many iterations allocate as often as the cases with few iterations.
fn check<T: Transport>(
    name: &str,
    arm: ArmAssignment,
    [few, many]: [&[ScenarioAssignment]; 2],
    transport: &TransportSpec,
    library: &Option<String>,
) {
    let mut pair = Pair::<T>::new(
        arm,
        few.to_vec(),
        transport.clone(),
        Polling::Yield,
        library.clone(),
    );
    for (few, many) in few.iter().zip(many) {
        for size in [64, 32 * 1024] {
            // The first case is not counted, because it makes allocations that later cases reuse.
            allocations(&mut pair, few, size);
            // The report of a case contains a histogram, whose text is longer if the latencies are more spread, as on a busy
            // machine. The smallest counts are those of quiet cases.
            let (mut few_count, mut many_count) = (u64::MAX, u64::MAX);
            for _ in 0..MAX_ATTEMPTS {
                few_count = few_count.min(allocations(&mut pair, few, size));
                many_count = many_count.min(allocations(&mut pair, many, size));
                if few_count == many_count {
                    break;
                }
            }
            assert_eq!(
                few_count, many_count,
                "{name}: {:?} of {size} bytes",
                many.workload
            );
        }
    }
}
