//! Cost of the built-in transport without the scenario code: one thread operates both sides, posts bursts and polls
//! until all posts are complete. This is the overhead that the transport adds to every operation.

use std::sync::Arc;
use std::time::Instant;

use crds::v1alpha1::{Loopback as LoopbackSpec, MemoryKind, TransportSpec};
use fabricbench_runner::memory::Memory;
use fabricbench_runner::transport::loopback::{Loopback, LoopbackRegion};
use fabricbench_runner::transport::{
    Completion, CompletionKind, OpenConfig, Operation, Post, Region, Transport,
};

/// Number of posts per burst. Each burst rings the doorbell once.
const BURST: u32 = 16;
const BURSTS: u32 = 1_000;
const REPETITIONS: usize = 201;
const LENGTH: u64 = 8;

fn open() -> (Loopback, LoopbackRegion) {
    let mut transport = Loopback::open(&OpenConfig {
        spec: TransportSpec::Loopback(LoopbackSpec { rails: 1 }),
        rails: Vec::new(),
        library: None,
        inject_bytes: None,
        depth: 64,
        uses_wait: false,
        device_memory: false,
        location: None,
        peers: 1,
    })
    .unwrap();
    let memory = Memory::allocate(MemoryKind::Heap, 4096).unwrap();
    let region = transport.register(Arc::clone(&memory)).unwrap();
    (transport, region)
}

/// Median cost, in nanoseconds, of one write with immediate data, from post to completion, including the work of both
/// sides.
pub fn median_nanos() -> f64 {
    let ((mut sender, region), (mut receiver, target_region)) = (open(), open());
    sender.connect(receiver.addresses()).unwrap();
    receiver.connect(sender.addresses()).unwrap();
    let operation = Operation::WriteImmediate {
        remote: target_region.remote().rails[0],
        remote_offset: 0,
        immediate: 1,
    };
    let mut nanos: Vec<f64> = (0..REPETITIONS)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..BURSTS {
                burst(&mut sender, &mut receiver, &region, operation);
            }
            start.elapsed().as_nanos() as f64 / f64::from(BURSTS * BURST)
        })
        .collect();
    nanos.sort_by(f64::total_cmp);
    nanos[REPETITIONS / 2]
}

fn burst(sender: &mut Loopback, receiver: &mut Loopback, region: &LoopbackRegion, operation: Operation) {
    let empty = Completion {
        rail: 0,
        kind: CompletionKind::RemoteWrite { immediate: 0 },
    };
    let mut completions = [empty; BURST as usize];
    for token in 0..BURST {
        sender
            .post(&Post {
                rail: 0,
                peer: 0,
                operation,
                region,
                offset: 0,
                length: LENGTH,
                inject: false,
                more: token + 1 < BURST,
                token,
            })
            .unwrap();
    }
    let mut remaining = BURST as usize;
    while remaining > 0 {
        receiver.poll(&mut completions).unwrap();
        remaining -= sender.poll(&mut completions).unwrap();
    }
}
