//! Measures the cost of one operation in complete cases between two workers in this process, over the built-in
//! transport, a libfabric provider or UCX on this machine.
//!
//! Run it with `cargo run --release -p fabricbench-runner --example cost [loopback|tcp|shm|ucx-tcp|ucx-sm]`. The cost
//! of an operation is the measured window divided by the number of operations. It includes posting, polling,
//! bookkeeping and reading the clock. The initiator and the target each need a separate CPU; otherwise, the results
//! measure the scheduler.
//!
//! The line "transport only" shows a ping-pong without the scenario code. The messages are injected unless the library
//! is UCX, which has no inject call. The difference from the same ping-pong in a complete case is the cost of the
//! scenario code. With `loopback`, the first line shows the cost of an operation if one thread serves both sides. The
//! exit status is 1 if this cost exceeds [`MAX_NANOS`], because the transport cost must be far less than the effects
//! that are measured with it.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "an interactive tool that exits on errors"
)]

mod bare;
#[path = "../../tests/common/pair.rs"]
mod pair;

use std::process::ExitCode;

use crds::assignment::{Extent, PingPongWorkload, ScenarioAssignment, TransferWorkload, Workload};
use crds::v1alpha1::TransferOperation::{Read, Send, Write, WriteImmediate};
use crds::v1alpha1::{
    Libfabric as LibfabricSpec, LibfabricProvider, Loopback as LoopbackSpec, PingPongOperation, Polling,
    TransferOperation, TransportSpec, Ucx as UcxSpec, UcxEmulation, UcxTransport,
};
use fabricbench_runner::transport::Transport;
use fabricbench_runner::transport::libfabric::Libfabric;
use fabricbench_runner::transport::loopback::Loopback;
use fabricbench_runner::transport::ucx::Ucx;
use pair::{Pair, arm, scenario};

/// Maximum cost of an operation over the built-in transport without the scenario code, in nanoseconds.
const MAX_NANOS: f64 = 50.0;
const SIZE: u64 = 8;
const REPETITIONS: usize = 7;

fn transfer(operation: TransferOperation, batch: u32, divisor: u32) -> ScenarioAssignment {
    scenario(Workload::Transfer(TransferWorkload {
        batch,
        warmup: Extent::Iterations(20_000 / divisor),
        ..TransferWorkload::new(operation, 64, Extent::Iterations(200_000 / divisor))
    }))
}

fn main() -> ExitCode {
    let libfabric = |provider| TransportSpec::Libfabric(LibfabricSpec { provider, rails: 1 });
    let ucx = |transport| {
        TransportSpec::Ucx(UcxSpec {
            emulation: UcxEmulation::Allow,
            ..UcxSpec::new(vec![transport], 1)
        })
    };
    let transport = std::env::args().nth(1);
    match transport.as_deref().unwrap_or("loopback") {
        "loopback" => {
            let bare = bare::median_nanos();
            println!("transport only, one thread for both sides {bare:25.1} ns median, limit {MAX_NANOS} ns");
            measure::<Loopback>(&TransportSpec::Loopback(LoopbackSpec { rails: 1 }), 1);
            if bare > MAX_NANOS {
                println!("too slow: {bare:.1} ns exceeds the limit of {MAX_NANOS} ns");
                return ExitCode::FAILURE;
            }
        }
        "tcp" => measure::<Libfabric>(&libfabric(LibfabricProvider::Tcp), 20),
        "shm" => measure::<Libfabric>(&libfabric(LibfabricProvider::Shm), 20),
        "ucx-tcp" => measure::<Ucx>(&ucx(UcxTransport::Tcp), 20),
        "ucx-sm" => measure::<Ucx>(&ucx(UcxTransport::Sm), 20),
        other => {
            println!("unknown transport {other:?}: use loopback, tcp, shm, ucx-tcp or ucx-sm");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}

/// Measures all cases, with the number of operations divided by `divisor`.
fn measure<T: Transport>(transport: &TransportSpec, divisor: u32) {
    let round_trips = 50_000 / divisor;
    let mut bare = bare::PingPong::<T>::new(transport);
    bare.one_way_nanos(round_trips / 10);
    let injects = !matches!(transport, TransportSpec::Ucx(_));
    let bare_case = if injects {
        "ping-pong Send, inject, one way"
    } else {
        "ping-pong Send, one way"
    };
    measure_and_print("transport only", bare_case, || bare.one_way_nanos(round_trips));
    let ping_pong = scenario(Workload::PingPong(PingPongWorkload {
        operation: PingPongOperation::Send,
        measured: Extent::Iterations(round_trips),
        warmup: Extent::Iterations(round_trips / 10),
    }));
    let mut cases = vec![("ping-pong Send, one way".to_owned(), ping_pong)];
    for operation in [Send, Write, Read, WriteImmediate] {
        for batch in [1, 16] {
            cases.push((
                format!("transfer {operation:?}, bursts of {batch}"),
                transfer(operation, batch, divisor),
            ));
        }
    }
    let tunings = [("baseline", None, None), ("inject, doorbell", Some(64), Some(16))];
    // UCX has neither optimization.
    let tunings = &tunings[..if injects { 2 } else { 1 }];
    for (tuning, inject, doorbell) in tunings {
        let scenarios = cases.iter().map(|(_, scenario)| scenario.clone()).collect();
        let mut pair = Pair::<T>::new(
            arm(*inject, *doorbell),
            scenarios,
            transport.clone(),
            Polling::Spin,
            None,
        );
        for (name, scenario) in &cases {
            measure_and_print(tuning, name, || {
                let posted = pair.measure(scenario, SIZE).posted.unwrap();
                let round_trip = matches!(scenario.workload, Workload::PingPong(_));
                let directions = if round_trip { 2.0 } else { 1.0 };
                posted.elapsed_nanos as f64 / posted.operations as f64 / directions
            });
        }
    }
}

/// Repeats a measurement and prints its median and minimum.
fn measure_and_print(what: &str, case: &str, mut measure_nanos: impl FnMut() -> f64) {
    let mut nanos: Vec<f64> = (0..REPETITIONS).map(|_| measure_nanos()).collect();
    nanos.sort_by(f64::total_cmp);
    println!(
        "{what:18} {case:38} {:7.1} ns median, {:7.1} ns minimum",
        nanos[REPETITIONS / 2],
        nanos[0]
    );
}
