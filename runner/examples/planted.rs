//! A runner that slows down the arms `slower-10`, `slower-25` and `slower-50` by the percentage in their names, to
//! check that a campaign detects the planted effect. Use it with
//! `fabricbench run FILE --runner target/release/examples/planted`.
//!
//! On rank 0, the time between two messages from the peer is extended by the percentage, so that every round trip takes
//! that much longer, regardless of other load. Completions of rank 0's own posts are not delayed, because part of such
//! a delay would overlap with the work of the peer and would have no effect.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crds::record::FabricFacts;
use crds::v1alpha1::{TransferOperation, TransportSpec};
use fabricbench_runner::cli;
use fabricbench_runner::memory::Memory;
use fabricbench_runner::transport::select::{
    ArmRank, BuiltInTransports, TransportSelector, TransportVisitor,
};
use fabricbench_runner::transport::{
    Completion, CompletionKind, EndpointAddresses, OpenConfig, Peer, Post, PostError, Rail, RemoteKey,
    RemoteRegion, Transport, TransportError,
};

fn main() -> ExitCode {
    cli::main_with(&Planted)
}

struct Planted;

impl TransportSelector for Planted {
    fn select<W: TransportVisitor>(
        &self,
        at: ArmRank<'_>,
        spec: &TransportSpec,
        work: W,
    ) -> Result<W::Output, TransportError> {
        match at {
            ArmRank {
                rank: 0,
                arm: "slower-10",
            } => BuiltInTransports.select(at, spec, Slower::<W, 10>(work)),
            ArmRank {
                rank: 0,
                arm: "slower-25",
            } => BuiltInTransports.select(at, spec, Slower::<W, 25>(work)),
            ArmRank {
                rank: 0,
                arm: "slower-50",
            } => BuiltInTransports.select(at, spec, Slower::<W, 50>(work)),
            _ => BuiltInTransports.select(at, spec, work),
        }
    }
}

struct Slower<W, const PERCENT: u32>(W);

impl<W: TransportVisitor, const PERCENT: u32> TransportVisitor for Slower<W, PERCENT> {
    type Output = W::Output;

    fn visit<T: Transport + 'static>(self) -> W::Output {
        self.0.visit::<SlowerTransport<T, PERCENT>>()
    }
}

struct SlowerTransport<T, const PERCENT: u32> {
    inner: T,
    last_message: Instant,
}

impl<T: Transport, const PERCENT: u32> Transport for SlowerTransport<T, PERCENT> {
    type Region = T::Region;

    const SUPPORTS_MORE: bool = T::SUPPORTS_MORE;

    fn load(config: &OpenConfig) -> Result<(), TransportError> {
        T::load(config)
    }

    fn open(config: &OpenConfig) -> Result<Self, TransportError> {
        Ok(Self {
            inner: T::open(config)?,
            last_message: Instant::now(),
        })
    }

    fn facts(&self) -> &FabricFacts {
        self.inner.facts()
    }

    fn rails(&self) -> usize {
        self.inner.rails()
    }

    fn addresses(&self) -> &EndpointAddresses {
        self.inner.addresses()
    }

    fn connect(&mut self, peer: &EndpointAddresses) -> Result<Peer, TransportError> {
        self.inner.connect(peer)
    }

    fn import(&mut self, peer: Peer, region: &RemoteRegion) -> Result<Vec<RemoteKey>, TransportError> {
        self.inner.import(peer, region)
    }

    fn check_operation(&self, operation: TransferOperation) -> Result<(), TransportError> {
        self.inner.check_operation(operation)
    }

    fn register(&mut self, memory: Arc<Memory>) -> Result<T::Region, TransportError> {
        self.inner.register(memory)
    }

    fn post(&mut self, post: &Post<'_, T::Region>) -> Result<(), PostError> {
        self.inner.post(post)
    }

    fn post_receive(
        &mut self,
        rail: Rail,
        region: &T::Region,
        offset: u64,
        length: u64,
        token: u32,
    ) -> Result<(), PostError> {
        self.inner.post_receive(rail, region, offset, length, token)
    }

    fn post_flush(&mut self, peer: Peer) -> Result<bool, PostError> {
        self.inner.post_flush(peer)
    }

    fn flushes_in_flight(&self) -> u32 {
        self.inner.flushes_in_flight()
    }

    fn poll(&mut self, completions: &mut [Completion]) -> Result<usize, TransportError> {
        let count = self.inner.poll(completions)?;
        let is_message = |completion: &Completion| !matches!(completion.kind, CompletionKind::Posted { .. });
        if completions[..count].iter().any(is_message) {
            let now = Instant::now();
            // An interval of more than 10 ms is a pause between two cases rather than an operation, so the delay is
            // based on at most 10 ms.
            let elapsed = now
                .saturating_duration_since(self.last_message)
                .min(Duration::from_millis(10));
            self.last_message = now + elapsed * PERCENT / 100;
            while Instant::now() < self.last_message {
                std::hint::spin_loop();
            }
        }
        Ok(count)
    }

    fn wait(&mut self, timeout: Duration) -> Result<(), TransportError> {
        self.inner.wait(timeout)
    }
}
