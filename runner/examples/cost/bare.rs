//! The built-in transport alone: one thread drives both ends, posts bursts and polls until all are complete. Nothing of
//! a case is in it, so it is what the transport itself adds to every operation.

use std::sync::Arc;
use std::time::Instant;

use crds::v1alpha1::{Loopback as LoopbackSpec, MemoryKind, TransportSpec};
use fabricbench_runner::memory::Memory;
use fabricbench_runner::transport::loopback::{Loopback, LoopbackRegion};
use fabricbench_runner::transport::{
    Completion, CompletionKind, OpenConfig, Operation, Post, Region, Transport,
};

/// Posts of a burst, with one doorbell.
const BURST: u32 = 16;
const BURSTS: u32 = 1_000;
const REPEATS: usize = 201;
const LENGTH: u64 = 8;

fn open() -> (Loopback, LoopbackRegion) {
    let mut transport = Loopback::open(&OpenConfig {
        spec: TransportSpec::Loopback(LoopbackSpec { rails: 1 }),
        rails: Vec::new(),
        library: None,
        inject_bytes: None,
        depth: 64,
        sleeps: false,
        device_memory: false,
        peers: 1,
    })
    .unwrap();
    let memory = Memory::allocate(MemoryKind::Heap, 4096).unwrap();
    let region = transport.register(Arc::clone(&memory)).unwrap();
    (transport, region)
}

/// Nanoseconds of one write with immediate data, from post to completion, by both ends: the median of the repeats.
pub fn median_nanos() -> f64 {
    let ((mut one, region), (mut two, landing)) = (open(), open());
    one.connect(two.addresses()).unwrap();
    two.connect(one.addresses()).unwrap();
    let operation = Operation::WriteImmediate {
        remote: landing.remote().rails[0],
        remote_offset: 0,
        immediate: 1,
    };
    let mut nanos: Vec<f64> = (0..REPEATS)
        .map(|_| {
            let begun = Instant::now();
            for _ in 0..BURSTS {
                burst(&mut one, &mut two, &region, operation);
            }
            begun.elapsed().as_nanos() as f64 / f64::from(BURSTS * BURST)
        })
        .collect();
    nanos.sort_by(f64::total_cmp);
    nanos[REPEATS / 2]
}

fn burst(one: &mut Loopback, two: &mut Loopback, region: &LoopbackRegion, operation: Operation) {
    let nothing = Completion {
        rail: 0,
        kind: CompletionKind::RemoteWrite { immediate: 0 },
    };
    let mut room = [nothing; BURST as usize];
    for token in 0..BURST {
        one.post(&Post {
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
    let mut left = BURST as usize;
    while left > 0 {
        two.poll(&mut room).unwrap();
        left -= one.poll(&mut room).unwrap();
    }
}
