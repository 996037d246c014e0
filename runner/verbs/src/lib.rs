//! The verbs transport: reliable connections (RC) over ibverbs, without a library between the runner and the driver.
//!
//! `rdma-sys` links libibverbs, so this transport is not part of `fabricbench-runner`, which must start in images without
//! rdma-core. The binary of this crate is the same runner plus this transport.
//!
//! | module | purpose |
//! |---|---|
//! | `rules` | requirements and restrictions of ibverbs; performs no I/O |
//! | `discovery` | selects the device and the source address (GID) of each rail |
//! | `open` | opens the rails and collects facts about them |
//! | `peer` | connects peers |
//! | `memory` | registers memory on every rail |
//! | `posting` | posts operations and receives |
//! | `completion` | polls the completion queues |
//! | `close` | reports the call counts |
//! | `error` | converts failures to transport errors |
//! | `ffi` | all calls to the library |
//!
//! A rail has two queue pairs for each peer: one for messages, and one for reads and writes. A write with immediate
//! data consumes a receive from its queue pair, so the transport posts separate receives, without memory, for the
//! second queue pairs. All peers share the receives of each kind.
//!
//! Posts that are not the last post of a doorbell batch are chained, and passed to the driver together with the last
//! post in one `ibv_post_send` call. Injected posts are inline and have no separate completion.
#![cfg(feature = "verbs")]

mod close;
mod completion;
mod discovery;
mod error;
mod ffi;
mod memory;
mod open;
mod peer;
mod posting;
mod rules;
mod select;
#[cfg(test)]
mod tests;

pub use memory::VerbsRegion;
pub use select::WithVerbs;

use crds::record::{FabricFacts, ProtocolUse};
use runner::memory::Memory;
use runner::transport::turns::RailTurns;
use runner::transport::{
    CallNames, Completion, EndpointAddresses, OpenConfig, Peer, Post, PostError, Rail, Transport,
    TransportError,
};
use std::sync::Arc;
use std::time::Duration;

/// Queue pairs of one arm on one worker.
pub struct Verbs {
    rails: Vec<ffi::Rail>,
    /// Rank of this worker. Its peers use this rank to select the queue pairs for this worker.
    rank: u32,
    /// Index of each rail's source address in the GID table of its port.
    gid_indexes: Vec<u8>,
    /// Number of connected peers.
    peers: usize,
    addresses: EndpointAddresses,
    facts: FabricFacts,
    /// Whether [`Transport::close`] reports the call counts.
    counts_protocols: bool,
    turns: RailTurns,
}

impl Transport for Verbs {
    type Region = VerbsRegion;

    const CALL_NAMES: CallNames = CallNames::Verbs;

    fn open(config: &OpenConfig) -> Result<Self, TransportError> {
        open::open(config)
    }

    fn facts(&self) -> &FabricFacts {
        &self.facts
    }

    fn rails(&self) -> usize {
        self.rails.len()
    }

    fn addresses(&self) -> &EndpointAddresses {
        &self.addresses
    }

    fn connect(&mut self, peer: &EndpointAddresses) -> Result<Peer, TransportError> {
        peer::connect(self, peer)
    }

    fn register(&mut self, memory: Arc<Memory>) -> Result<VerbsRegion, TransportError> {
        memory::register(self, memory)
    }

    #[inline]
    fn post(&mut self, post: &Post<'_, VerbsRegion>) -> Result<(), PostError> {
        posting::post(self, post)
    }

    #[inline]
    fn post_receive(
        &mut self,
        rail: Rail,
        region: &VerbsRegion,
        offset: u64,
        length: u64,
        token: u32,
    ) -> Result<(), PostError> {
        posting::post_receive(self, rail, region, offset, length, token)
    }

    #[inline]
    fn poll(&mut self, completions: &mut [Completion]) -> Result<usize, TransportError> {
        completion::poll(self, completions)
    }

    fn wait(&mut self, timeout: Duration) -> Result<(), TransportError> {
        completion::wait(self, timeout)
    }

    fn close(self) -> Vec<ProtocolUse> {
        close::protocols(&self)
    }
}
