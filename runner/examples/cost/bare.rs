//! Cost of a transport without the scenario code. For the built-in transport, one thread operates both sides, posts
//! bursts and polls until all posts are complete. For every transport, two threads exchange single messages.

use std::sync::Arc;
use std::time::Instant;

use crds::v1alpha1::{Loopback as LoopbackSpec, MemoryKind, TransportSpec};
use fabricbench_runner::memory::Memory;
use fabricbench_runner::transport::loopback::{Loopback, LoopbackRegion};
use fabricbench_runner::transport::{
    Completion, CompletionKind, OpenConfig, Operation, Post, PostError, Region, Transport,
};

/// Number of posts per burst. Each burst rings the doorbell once.
const BURST: u32 = 16;
const BURSTS: u32 = 1_000;
const REPETITIONS: usize = 201;
const LENGTH: u64 = 8;
/// Number of receives that each side of a ping-pong keeps posted.
const RECEIVES: u32 = 8;
const EMPTY: Completion = Completion {
    rail: 0,
    kind: CompletionKind::RemoteWrite { immediate: 0 },
};

fn open<T: Transport>(spec: &TransportSpec) -> (T, T::Region) {
    let mut transport = T::open(&OpenConfig {
        inject_bytes: Some(LENGTH),
        ..OpenConfig::polled(spec.clone(), 64)
    })
    .unwrap();
    let memory = Memory::allocate(MemoryKind::Heap, 4096).unwrap();
    let region = transport.register(Arc::clone(&memory)).unwrap();
    (transport, region)
}

fn open_pair<T: Transport>(spec: &TransportSpec) -> [(T, T::Region); 2] {
    let (mut first, mut second) = (open::<T>(spec), open::<T>(spec));
    first.0.connect(second.0.addresses()).unwrap();
    second.0.connect(first.0.addresses()).unwrap();
    [first, second]
}

/// Returns the median cost, in nanoseconds, of one write with immediate data over the built-in transport, from post to
/// completion, including the work of both sides.
pub fn median_nanos() -> f64 {
    let spec = TransportSpec::Loopback(LoopbackSpec { rails: 1 });
    let [(mut sender, region), (mut receiver, target_region)] = open_pair::<Loopback>(&spec);
    let operation = Operation::WriteImmediate {
        remote: sender.import(0, &target_region.remote()).unwrap()[0],
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
    let mut completions = [EMPTY; BURST as usize];
    for token in 0..BURST {
        let post = Post {
            more: token + 1 < BURST,
            token,
            ..post(region, operation)
        };
        sender.post(&post).unwrap();
    }
    let mut remaining = BURST as usize;
    while remaining > 0 {
        receiver.poll(&mut completions).unwrap();
        remaining -= sender.poll(&mut completions).unwrap();
    }
}

fn post<R>(region: &R, operation: Operation) -> Post<'_, R> {
    Post {
        rail: 0,
        peer: 0,
        operation,
        region,
        offset: 0,
        length: LENGTH,
        inject: false,
        more: false,
        token: 0,
    }
}

/// One side of a ping-pong.
struct Side<T: Transport> {
    transport: T,
    region: T::Region,
    /// Whether messages are injected. An injected message has no completion.
    inject: bool,
    /// Whether the completion of the last message has not been read yet.
    in_flight: bool,
}

/// A ping-pong between two threads that call only the transport.
pub struct PingPong<T: Transport> {
    sides: [Side<T>; 2],
}

impl<T: Transport> PingPong<T> {
    pub fn new(spec: &TransportSpec) -> Self {
        let sides = open_pair::<T>(spec).map(|(transport, region)| {
            let mut side = Side {
                transport,
                region,
                inject: !matches!(spec, TransportSpec::Ucx(_)),
                in_flight: false,
            };
            (0..RECEIVES).for_each(|token| side.post_receive(token));
            side
        });
        Self { sides }
    }

    /// Returns the one-way latency in nanoseconds: half the duration of `round_trips` round trips, divided by
    /// `round_trips`.
    pub fn one_way_nanos(&mut self, round_trips: u32) -> f64 {
        let [first, second] = &mut self.sides;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..round_trips {
                    let token = second.receive();
                    second.send();
                    second.post_receive(token);
                }
            });
            let start = Instant::now();
            for _ in 0..round_trips {
                first.send();
                let token = first.receive();
                first.post_receive(token);
            }
            start.elapsed().as_nanos() as f64 / f64::from(2 * round_trips)
        })
    }
}

fn receive_offset(token: u32) -> u64 {
    64 * (1 + u64::from(token))
}

impl<T: Transport> Side<T> {
    fn send(&mut self) {
        let message = Post {
            inject: self.inject,
            ..post(&self.region, Operation::Send { immediate: 1 })
        };
        while let Err(error) = self.transport.post(&message) {
            assert_eq!(error, PostError::Again);
            // Nothing can arrive before the message is sent.
            assert_eq!(self.transport.poll(&mut [EMPTY]).unwrap(), 0);
        }
        self.in_flight = !self.inject;
    }

    /// Waits for a message, and for the completion of the last message sent. Returns the token of the receive.
    fn receive(&mut self) -> u32 {
        let mut completions = [EMPTY; 1];
        let mut received = None;
        loop {
            if self.transport.poll(&mut completions).unwrap() > 0 {
                match completions[0].kind {
                    CompletionKind::Received { token, .. } => received = Some(token),
                    CompletionKind::Posted { .. } => self.in_flight = false,
                    CompletionKind::RemoteWrite { .. } => unreachable!("no side writes"),
                }
            }
            if let (Some(token), false) = (received, self.in_flight) {
                return token;
            }
        }
    }

    fn post_receive(&mut self, token: u32) {
        self.transport
            .post_receive(0, &self.region, receive_offset(token), LENGTH, token)
            .unwrap();
    }
}
