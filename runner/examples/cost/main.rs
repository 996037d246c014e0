//! What one operation costs: whole cases between two workers in this process, over the built-in transport or a
//! provider of libfabric on this machine.
//!
//! `cargo run --release -p fabricbench-runner --example cost [loopback|tcp|shm]`. An operation's cost is the measured window by the
//! operations in it: posting, polling, accounts and both readings of the clock. Initiator and target each need a
//! processor of their own, or the figures are those of the scheduler.
//!
//! With `loopback` the first line is the built-in transport alone. It ends with status 1 where that costs more than
//! [`MOST_NANOS`]: the transport must stay far below anything that is compared over it.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a program for people, which ends when it cannot go on"
)]

mod bare;
#[path = "../../tests/common/pair.rs"]
mod pair;

use std::process::ExitCode;

use crds::assignment::{Extent, PingPongWorkload, ScenarioAssignment, TransferWorkload, Workload};
use crds::v1alpha1::TransferOperation::{Read, Send, Write, WriteImmediate};
use crds::v1alpha1::{
    Direction, Libfabric as LibfabricSpec, LibfabricProvider, Loopback as LoopbackSpec, PingPongOperation,
    Polling, TransferOperation, TransportSpec,
};
use fabricbench_runner::transport::Transport;
use fabricbench_runner::transport::libfabric::Libfabric;
use fabricbench_runner::transport::loopback::Loopback;
use pair::{Pair, arm, scenario};

/// Most that an operation of the built-in transport alone may cost, in nanoseconds.
const MOST_NANOS: f64 = 50.0;
const SIZE: u64 = 8;
const REPEATS: usize = 7;

fn transfer(operation: TransferOperation, batch: u32, fewer: u32) -> ScenarioAssignment {
    scenario(Workload::Transfer(TransferWorkload {
        operation,
        window: 64,
        batch,
        threads: 1,
        direction: Direction::Unidirectional,
        measured: Extent::Iterations(200_000 / fewer),
        warmup: Extent::Iterations(20_000 / fewer),
    }))
}

fn main() -> ExitCode {
    let libfabric = |provider| TransportSpec::Libfabric(LibfabricSpec { provider, rails: 1 });
    let transport = std::env::args().nth(1);
    match transport.as_deref().unwrap_or("loopback") {
        "loopback" => {
            let bare = bare::median_nanos();
            println!(
                "the transport alone, one thread at both ends {bare:21.1} ns median, at most {MOST_NANOS} wanted"
            );
            measure::<Loopback>(&TransportSpec::Loopback(LoopbackSpec { rails: 1 }), 1);
            if bare > MOST_NANOS {
                println!("too slow: {bare:.1} ns, and {MOST_NANOS} are wanted");
                return ExitCode::FAILURE;
            }
        }
        "tcp" => measure::<Libfabric>(&libfabric(LibfabricProvider::Tcp), 20),
        "shm" => measure::<Libfabric>(&libfabric(LibfabricProvider::Shm), 20),
        other => {
            println!("{other:?} is none of loopback, tcp and shm");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}

/// Measures all cases, with so many times fewer operations.
fn measure<T: Transport>(transport: &TransportSpec, fewer: u32) {
    let ping_pong = scenario(Workload::PingPong(PingPongWorkload {
        operation: PingPongOperation::Send,
        measured: Extent::Iterations(50_000 / fewer),
        warmup: Extent::Iterations(5_000 / fewer),
    }));
    let mut cases = vec![("ping-pong Send, one way".to_owned(), ping_pong)];
    for operation in [Send, Write, Read, WriteImmediate] {
        for batch in [1, 16] {
            cases.push((
                format!("transfer {operation:?}, bursts of {batch}"),
                transfer(operation, batch, fewer),
            ));
        }
    }
    let tunings = [("baseline", None, None), ("inject, doorbell", Some(64), Some(16))];
    for (tuning, inject, doorbell) in tunings {
        let scenarios = cases.iter().map(|(_, scenario)| scenario.clone()).collect();
        let mut pair = Pair::<T>::new(arm(inject, doorbell), scenarios, transport.clone(), Polling::Spin);
        for (name, scenario) in &cases {
            let mut nanos: Vec<f64> = (0..REPEATS)
                .map(|_| {
                    let posted = pair.measure(scenario, SIZE).posted.unwrap();
                    let round_trip = matches!(scenario.workload, Workload::PingPong(_));
                    let ways = if round_trip { 2.0 } else { 1.0 };
                    posted.elapsed_nanos as f64 / posted.operations as f64 / ways
                })
                .collect();
            nanos.sort_by(f64::total_cmp);
            println!(
                "{tuning:18} {name:38} {:7.1} ns median, {:7.1} least",
                nanos[REPEATS / 2],
                nanos[0]
            );
        }
    }
}
