//! A runner that slows down the arms `slower-10`, `slower-25` and `slower-50` by the percentage in their names, so that
//! a test can check whether a campaign detects the planted effect. It also slows down the combinations of the `inject`
//! and `coalesce` factors, with an interaction effect, and changes the last byte of every payload that the arm
//! `corrupted` sends or writes. Use it with `fabricbench run FILE --runner
//! target/release/examples/planted`.
//!
//! On rank 0, the time between two messages from the peer is extended by the percentage, so that every round trip takes
//! that much longer, regardless of other load. Completions of rank 0's own posts are not delayed, because part of such
//! a delay would overlap with the peer's work and have no effect.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crds::record::{FabricFacts, FailureReason, ProtocolUse};
use crds::v1alpha1::{TransferOperation, TransportSpec};
use fabricbench_runner::cli;
use fabricbench_runner::instrument::select::{
    ArmRank, BuiltInTransports, TransportFunctions, TransportSelector,
};
use fabricbench_runner::memory::Memory;
use fabricbench_runner::transport::libfabric::Libfabric;
use fabricbench_runner::transport::loopback::Loopback;
use fabricbench_runner::transport::{
    Capabilities, Completion, CompletionKind, EndpointAddresses, OpenConfig, Operation, Peer, Post,
    PostError, PreparationStats, Rail, Region, RemoteKey, RemoteRegion, Transport, TransportError,
};

fn main() -> ExitCode {
    cli::main_with(&PlantedTransports)
}

/// Arm whose payloads are changed.
const CORRUPTED: &str = "corrupted";
/// Length in bytes of the smallest payload that is changed. Control messages are shorter.
const MIN_PAYLOAD_BYTES: u64 = 64;

struct PlantedTransports;

impl TransportSelector for PlantedTransports {
    fn select(&self, at: ArmRank<'_>, spec: &TransportSpec) -> Result<TransportFunctions, TransportError> {
        let (percent, corrupts) = (planted_percent(at.arm), at.arm == CORRUPTED);
        if at.rank != 0 || (percent == 0 && !corrupts) {
            return BuiltInTransports.select(at, spec);
        }
        PERCENT.store(percent, Ordering::Relaxed);
        CORRUPTS.store(corrupts, Ordering::Relaxed);
        match spec {
            TransportSpec::Loopback(_) => {
                Ok(TransportFunctions::for_transport::<PlantedTransport<Loopback>>())
            }
            TransportSpec::Libfabric(_) => {
                Ok(TransportFunctions::for_transport::<PlantedTransport<Libfabric>>())
            }
            _ => Err(TransportError {
                reason: FailureReason::TransportNotCompiled,
                operation: "selecting the transport",
                message: format!(
                    "nothing can be planted in the arm {} over {}; use loopback or libfabric",
                    at.arm,
                    spec.library()
                ),
            }),
        }
    }
}

/// Percentage by which an arm is slowed down: the number in its name, or the planted effect of its factors.
fn planted_percent(arm: &str) -> u32 {
    match arm {
        "slower-10" | "coalesce" => 10,
        "slower-25" => 25,
        "slower-50" => 50,
        "inject" => 20,
        // With both factors, operations take 1.2 * 1.1 * 1.5 times as long.
        "inject-coalesce" => 98,
        _ => 0,
    }
}

/// Percentage by which the endpoints that are being opened are slowed down. An arm is opened immediately after its
/// transport has been selected, but its endpoints are opened in separate threads.
static PERCENT: AtomicU32 = AtomicU32::new(0);
/// Whether the endpoints that are being opened change payloads.
static CORRUPTS: AtomicBool = AtomicBool::new(false);

struct PlantedTransport<T> {
    inner: T,
    percent: u32,
    corrupts: bool,
    last_message: Instant,
}

impl<T: Transport> Transport for PlantedTransport<T> {
    type Region = T::Region;

    fn load(config: &OpenConfig) -> Result<(), TransportError> {
        T::load(config)
    }

    fn open(config: &OpenConfig) -> Result<Self, TransportError> {
        Ok(Self {
            inner: T::open(config)?,
            percent: PERCENT.load(Ordering::Relaxed),
            corrupts: CORRUPTS.load(Ordering::Relaxed),
            last_message: Instant::now(),
        })
    }

    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
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

    fn check_operation(&self, peer: Peer, operation: TransferOperation) -> Result<(), TransportError> {
        self.inner.check_operation(peer, operation)
    }

    fn register(&mut self, memory: Arc<Memory>) -> Result<T::Region, TransportError> {
        self.inner.register(memory)
    }

    fn allocate(&mut self, bytes: usize) -> Result<T::Region, TransportError> {
        self.inner.allocate(bytes)
    }

    fn prepare(&mut self, post: &Post<'_, T::Region>, at_once: u32) -> Result<(), TransportError> {
        self.inner.prepare(post, at_once)
    }

    fn preparation_stats(&self) -> Option<PreparationStats> {
        self.inner.preparation_stats()
    }

    fn post(&mut self, post: &Post<'_, T::Region>) -> Result<(), PostError> {
        if self.corrupts
            && post.length >= MIN_PAYLOAD_BYTES
            && !matches!(post.operation, Operation::Read { .. })
        {
            let (memory, last) = (post.region.memory(), (post.offset + post.length - 1) as usize);
            let mut byte = [0];
            let changed = memory.read_into(last, &mut byte).and_then(|()| {
                byte[0] ^= 1;
                memory.write_from(last, &byte)
            });
            changed.map_err(|_| PostError::Refused(0))?;
        }
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

    fn post_flush(&mut self, peer: Peer) -> Result<(), PostError> {
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
            self.last_message = now + elapsed * self.percent / 100;
            while Instant::now() < self.last_message {
                std::hint::spin_loop();
            }
        }
        Ok(count)
    }

    fn wait(&mut self, timeout: Duration) -> Result<(), TransportError> {
        self.inner.wait(timeout)
    }

    fn close(self) -> Vec<ProtocolUse> {
        self.inner.close()
    }
}
