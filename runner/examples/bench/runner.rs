//! Runs a ping-pong with the runner, using two workers as in a campaign.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use crds::assignment::{
    ArmAssignment, Extent, InstrumentProcess, PingPongWorkload, RankBinding, ScenarioAssignment, Workload,
};
use crds::record::Record;
use crds::striping::{StripingPolicy, StripingRule};
use crds::v1alpha1::{
    Devices, Libfabric, LibfabricProvider, MemoryKind, PingPongOperation, Polling, TransportSpec,
};

use crate::Setting;
use crate::leg::{Leg, measurements};

/// Inject limit of the runner. fi_pingpong injects up to the provider's limit. No default size lies between 1 KiB and
/// this value, so both tools inject the same default sizes.
const INJECT_MAX_BYTES: u64 = 2048;

/// Result of one measurement of the runner.
pub struct Latency {
    /// Mean one-way latency in microseconds.
    pub micros: f64,
    /// Version of the library.
    pub version: String,
    /// Name of the provider in this version of the library.
    pub provider: String,
}

/// Runs one measurement.
pub fn measure(setting: &Setting<'_>) -> Latency {
    let arm = ArmAssignment {
        name: "ping-pong".to_owned(),
        process: 0,
        inject_max_bytes: Some(INJECT_MAX_BYTES),
        doorbell_max_batch: None,
        striping: StripingRule {
            policy: StripingPolicy::Single,
            threshold_bytes: 1,
            min_chunk_bytes: 1,
        },
    };
    let rails = match setting.provider {
        LibfabricProvider::Shm => Vec::new(),
        _ => vec!["127.0.0.1".to_owned()],
    };
    let leg = Leg {
        rendezvous: ("127.0.0.1".to_owned(), 17_910),
        transport: TransportSpec::Libfabric(Libfabric {
            provider: setting.provider,
            rails: 1,
        }),
        devices: Devices::default(),
        bindings: (0..2)
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
            name: "ping-pong".to_owned(),
            memory: MemoryKind::Heap,
            polling: Some(Polling::Spin),
            workload: Workload::PingPong(PingPongWorkload {
                operation: PingPongOperation::Send,
                measured: Extent::Iterations(setting.iterations()),
                warmup: Extent::Iterations(10),
            }),
            max_size_bytes: setting.size,
        },
        arms: vec![arm],
    };
    let binary = runner_binary();
    let records = leg.run(|_| Command::new(&binary));
    let posted = measurements(&records)["ping-pong"]
        .initiator
        .posted
        .as_ref()
        .unwrap();
    let fabric = records.iter().find_map(|record| match record {
        Record::Endpoints(endpoints) => endpoints.fabric.clone(),
        _ => None,
    });
    let fabric = fabric.unwrap();
    Latency {
        micros: posted.elapsed_nanos as f64 / posted.operations as f64 / 2.0 / 1e3,
        version: fabric.library.unwrap().version,
        provider: fabric.provider,
    }
}

fn runner_binary() -> PathBuf {
    let example = env::current_exe().unwrap();
    let directory = example.parent().and_then(Path::parent).unwrap();
    directory.join("fabricbench-runner")
}
