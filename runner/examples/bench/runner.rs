//! Runs a case with the runner, using two workers, like a campaign.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use crds::assignment::{
    ArmAssignment, Extent, InstrumentProcess, PingPongWorkload, RankBinding, RpcWorkload, ScenarioAssignment,
    TransferWorkload, Workload,
};
use crds::record::{Posted, Record};
use crds::striping::{StripingPolicy, StripingRule};
use crds::v1alpha1::{
    Devices, Loopback, MemoryKind, PingPongOperation, Polling, RpcChannel, RpcPattern, TransferBuffers,
    TransferOperation, TransportSpec,
};

use crate::fabric::FILL_HEAP;
use crate::leg::{Leg, measurements};
use crate::{Setting, WARM_UP};

const ARM: &str = "arm";
/// The runner's inject limit. fi_pingpong injects up to the provider's limit. No default size lies between 1 KiB and
/// this value, so both tools inject the same default sizes.
const INJECT_MAX_BYTES: u64 = 2048;

/// Number of writes or reads in flight.
pub const WINDOW: u32 = 64;

/// Quantity to measure.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Case {
    /// Ping-pong latency.
    PingPong,
    /// Write throughput.
    Writes,
    /// Read throughput.
    Reads,
    /// Message throughput.
    Messages,
}

/// Result of one runner measurement.
pub struct MeasuredValue {
    /// Mean one-way latency in microseconds, or throughput in MB/s.
    pub value: f64,
    /// Library version.
    pub version: String,
    /// Provider name in this library version.
    pub provider: String,
}

/// Runs one measurement.
pub fn measure(setting: &Setting<'_>, case: Case) -> MeasuredValue {
    run(setting, workload(case, setting.iterations(case)), |posted| {
        let elapsed_micros = posted.elapsed_nanos as f64 / 1e3;
        match case {
            Case::PingPong => elapsed_micros / posted.operations as f64 / 2.0,
            Case::Writes | Case::Reads | Case::Messages => posted.payload_bytes as f64 / elapsed_micros,
        }
    })
}

/// Measures the throughput of a transfer in MB/s.
pub fn measure_transfer(setting: &Setting<'_>, workload: Workload) -> MeasuredValue {
    run(setting, workload, |posted| {
        posted.payload_bytes as f64 / (posted.elapsed_nanos as f64 / 1e3)
    })
}

/// Returns the mean time of `calls` calls over a UNIX socket with a payload of `bytes` bytes, in microseconds.
pub fn measure_calls(bytes: u64, calls: u32) -> f64 {
    let leg = Leg {
        rendezvous: ("127.0.0.1".to_owned(), 17_911),
        transport: TransportSpec::Loopback(Loopback { rails: 1 }),
        devices: Devices::default(),
        bindings: Vec::new(),
        process: InstrumentProcess::default(),
        scenario: ScenarioAssignment {
            name: ARM.to_owned(),
            memory: MemoryKind::Heap,
            target_memory: None,
            polling: None,
            workload: Workload::Rpc(RpcWorkload {
                gpu: None,
                pattern: RpcPattern::Call,
                hops: 1,
                message_bytes: 0,
                timeout_seconds: 60,
                open_loop: None,
                measured: Extent::Iterations(calls),
                warmup: Extent::Iterations(5),
            }),
            max_size_bytes: bytes,
        },
        arms: vec![ArmAssignment {
            channel: RpcChannel::UnixSocket,
            arguments: Vec::new(),
            ..arm()
        }],
    };
    let binary = runner_binary();
    let records = leg.run(|_| Command::new(&binary));
    let posted = measurements(&records)[ARM].initiator.posted.as_ref().unwrap();
    posted.call.as_ref().unwrap().mean_nanos / 1e3
}

fn arm() -> ArmAssignment {
    ArmAssignment {
        name: ARM.to_owned(),
        process: 0,
        inject_max_bytes: None,
        doorbell_max_batch: None,
        channel: RpcChannel::Transport,
        arguments: Vec::new(),
        striping: StripingRule {
            policy: StripingPolicy::Single,
            threshold_bytes: 1,
            min_chunk_bytes: 1,
        },
    }
}

fn run(setting: &Setting<'_>, workload: Workload, value: impl Fn(&Posted) -> f64) -> MeasuredValue {
    let rails = setting.fabric.rails();
    let leg = Leg {
        rendezvous: ("127.0.0.1".to_owned(), 17_910),
        transport: setting.fabric.spec(setting.memory),
        devices: Devices::default(),
        bindings: (setting.cpus.into_iter())
            .map(|cpu| RankBinding {
                rails: rails.clone(),
                cpus: vec![cpu],
            })
            .collect(),
        process: InstrumentProcess {
            library: setting.library.map(|directory| directory.display().to_string()),
            ..InstrumentProcess::default()
        },
        scenario: ScenarioAssignment {
            name: ARM.to_owned(),
            memory: setting.memory,
            target_memory: None,
            polling: Some(Polling::Spin),
            workload,
            max_size_bytes: setting.size,
        },
        arms: vec![ArmAssignment {
            // GPU memory cannot be injected.
            inject_max_bytes: (setting.memory != MemoryKind::Cuda).then_some(INJECT_MAX_BYTES),
            ..arm()
        }],
    };
    let binary = runner_binary();
    let fills_heap = setting.fabric.allocation_method(setting.memory).is_some();
    let records = leg.run(|_| {
        let mut command = Command::new(&binary);
        command.envs(fills_heap.then_some(FILL_HEAP));
        command
    });
    let posted = measurements(&records)[ARM].initiator.posted.as_ref().unwrap();
    let fabric = records.iter().find_map(|record| match record {
        Record::Endpoints(endpoints) => endpoints.fabric.clone(),
        _ => None,
    });
    let fabric = fabric.unwrap();
    MeasuredValue {
        value: value(posted),
        version: fabric.library.unwrap().version,
        provider: fabric.provider,
    }
}

fn workload(case: Case, iterations: u32) -> Workload {
    let measured = Extent::Iterations(iterations);
    match case {
        Case::PingPong => Workload::PingPong(PingPongWorkload {
            operation: PingPongOperation::Send,
            measured,
            warmup: Extent::Iterations(WARM_UP),
        }),
        Case::Writes | Case::Reads | Case::Messages => {
            let operation = match case {
                Case::Reads => TransferOperation::Read,
                Case::Messages => TransferOperation::Send,
                Case::Writes | Case::PingPong => TransferOperation::Write,
            };
            Workload::Transfer(TransferWorkload {
                buffers: TransferBuffers::Shared,
                warmup: Extent::Iterations(WARM_UP),
                ..TransferWorkload::new(operation, WINDOW, measured)
            })
        }
    }
}

pub fn runner_binary() -> PathBuf {
    let example = env::current_exe().unwrap();
    let directory = example.parent().and_then(Path::parent).unwrap();
    directory.join("fabricbench-runner")
}
