//! An instrument whose arms named `slower-10`, `slower-25` and `slower-50` are slower by so many percent, to see
//! whether a campaign finds what was planted: `fabricbench run FILE --runner target/release/examples/planted`.
//!
//! On rank 0 the time from one message of the peer to the next is drawn out by the percentage, so that a round trip
//! takes as much longer, whatever the machine does meanwhile. Own completions are not: the peer works while they come.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crds::record::FabricFacts;
use crds::v1alpha1::TransportSpec;
use fabricbench_runner::cli;
use fabricbench_runner::memory::Memory;
use fabricbench_runner::transport::choice::{ArmAt, BuiltIn, TransportChoice, WithTransport};
use fabricbench_runner::transport::{
    Completion, CompletionKind, EndpointAddresses, OpenConfig, Peer, Post, PostError, Rail, Transport,
    TransportError,
};

fn main() -> ExitCode {
    cli::main_with(&Planted)
}

struct Planted;

impl TransportChoice for Planted {
    fn choose<W: WithTransport>(
        &self,
        at: ArmAt<'_>,
        spec: &TransportSpec,
        work: W,
    ) -> Result<W::Output, TransportError> {
        match at {
            ArmAt {
                rank: 0,
                arm: "slower-10",
            } => BuiltIn.choose(at, spec, Slower::<W, 10>(work)),
            ArmAt {
                rank: 0,
                arm: "slower-25",
            } => BuiltIn.choose(at, spec, Slower::<W, 25>(work)),
            ArmAt {
                rank: 0,
                arm: "slower-50",
            } => BuiltIn.choose(at, spec, Slower::<W, 50>(work)),
            _ => BuiltIn.choose(at, spec, work),
        }
    }
}

struct Slower<W, const PERCENT: u32>(W);

impl<W: WithTransport, const PERCENT: u32> WithTransport for Slower<W, PERCENT> {
    type Output = W::Output;

    fn with<T: Transport + 'static>(self) -> W::Output {
        self.0.with::<SlowerTransport<T, PERCENT>>()
    }
}

struct SlowerTransport<T, const PERCENT: u32> {
    inner: T,
    received: Instant,
}

impl<T: Transport, const PERCENT: u32> Transport for SlowerTransport<T, PERCENT> {
    type Region = T::Region;

    fn open(config: &OpenConfig) -> Result<Self, TransportError> {
        Ok(Self {
            inner: T::open(config)?,
            received: Instant::now(),
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

    fn poll(&mut self, completions: &mut [Completion]) -> Result<usize, TransportError> {
        let count = self.inner.poll(completions)?;
        let is_message = |completion: &Completion| !matches!(completion.kind, CompletionKind::Posted { .. });
        if completions[..count].iter().any(is_message) {
            let now = Instant::now();
            // What takes longer than this is no operation but the pause between two cases.
            let taken = now
                .saturating_duration_since(self.received)
                .min(Duration::from_millis(10));
            self.received = now + taken * PERCENT / 100;
            while Instant::now() < self.received {
                std::hint::spin_loop();
            }
        }
        Ok(count)
    }

    fn wait(&mut self, timeout: Duration) -> Result<(), TransportError> {
        self.inner.wait(timeout)
    }
}
