//! The UCX transport: one context and worker per rail, and one endpoint per peer. The library is opened at run time, so
//! one binary can measure the library of any container image.
//!
//! | module | purpose |
//! |---|---|
//! | `rules` | requirements and restrictions of UCX; performs no I/O |
//! | `discovery` | opens the library and selects the device of each rail |
//! | `open` | opens the rails and collects facts about them |
//! | `peer` | connects peers, checks the lanes, and imports keys |
//! | `memory` | registers memory on every rail |
//! | `posting` | posts operations and receives |
//! | `completion` | polls the workers |
//! | `close` | closes the rails and reads the protocols that were used |
//! | `error` | converts failures to transport errors |
//! | `variables` | lists the settings of a library and its modules |
//! | `ffi` | all calls to the library |
//!
//! A send is a tagged message with the immediate data as its tag, or an active message with the immediate data as its
//! header. A write is a put followed by a flush of the endpoint, so its completion means that the data is in the
//! target's memory, unless the spec requests local completions. A write with immediate data sends the immediate data in
//! an active message after the flush.

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
#[cfg(test)]
mod tests;
mod variables;

pub use memory::UcxRegion;
pub use rules::environment::required_variables as required_environment;
pub use variables::{ListedSettings, list_settings};

use super::turns::RailTurns;
use super::{
    Completion, EndpointAddresses, OpenConfig, Peer, Post, PostError, Rail, RemoteKey, RemoteRegion,
    Transport, TransportError,
};
use crate::memory::Memory;
use crds::record::{FabricFacts, ProtocolUse};
use crds::v1alpha1::{MemoryKind, TransferOperation, UcxAllocation, UcxWriteCompletion};
use std::sync::Arc;
use std::time::Duration;
use ucx_sys::Version;

/// UCX endpoints of one arm on one worker.
pub struct Ucx {
    rails: Vec<ffi::Rail>,
    spec: crds::v1alpha1::Ucx,
    version: Version,
    /// Device of each rail, as UCX names it; `None` if UCX chooses the devices.
    devices: Vec<Option<String>>,
    emulation_conditions: rules::emulation::Conditions,
    /// The connected peers, by number.
    peers: Vec<peer::ConnectedPeer>,
    addresses: EndpointAddresses,
    facts: FabricFacts,
    /// Whether the library prints the protocols it used when a worker is destroyed.
    counts_protocols: bool,
    turns: RailTurns,
}

impl Transport for Ucx {
    type Region = UcxRegion;

    /// UCX itself decides when to ring a doorbell; its API has no equivalent of FI_MORE.
    const SUPPORTS_MORE: bool = false;

    fn load(config: &OpenConfig) -> Result<(), TransportError> {
        discovery::discover(config).map(drop)
    }

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

    fn import(&mut self, peer: Peer, region: &RemoteRegion) -> Result<Vec<RemoteKey>, TransportError> {
        peer::import(self, peer, region)
    }

    fn check_operation(&self, peer: Peer, operation: TransferOperation) -> Result<(), TransportError> {
        peer::check_operation(self, peer, operation)
    }

    fn register(&mut self, memory: Arc<Memory>) -> Result<UcxRegion, TransportError> {
        memory::register(&mut self.rails, memory)
    }

    fn allocate(&mut self, bytes: usize) -> Result<UcxRegion, TransportError> {
        match self.spec.allocation {
            UcxAllocation::Caller => self.register(Memory::allocate(MemoryKind::Heap, bytes)?),
            UcxAllocation::Library => memory::allocate(&mut self.rails, bytes),
        }
    }

    #[inline]
    fn post(&mut self, post: &Post<'_, UcxRegion>) -> Result<(), PostError> {
        posting::post(self, post)
    }

    #[inline]
    fn post_receive(
        &mut self,
        rail: Rail,
        region: &UcxRegion,
        offset: u64,
        length: u64,
        token: u32,
    ) -> Result<(), PostError> {
        posting::post_receive(self, rail, region, offset, length, token)
    }

    fn completes_writes_locally(&self) -> bool {
        self.spec.write_completion == UcxWriteCompletion::Local
    }

    fn post_flush(&mut self, peer: Peer) -> Result<bool, PostError> {
        posting::post_flush(self, peer).map(|()| true)
    }

    #[inline]
    fn flushes_in_flight(&self) -> u32 {
        self.rails.iter().map(ffi::Rail::requested_flushes).sum()
    }

    #[inline]
    fn poll(&mut self, completions: &mut [Completion]) -> Result<usize, TransportError> {
        completion::poll(self, completions)
    }

    fn wait(&mut self, timeout: Duration) -> Result<(), TransportError> {
        ffi::wait_for_completions(&mut self.rails, timeout).map_err(|message| error::refused("wait", message))
    }

    fn close(self) -> Vec<ProtocolUse> {
        if self.counts_protocols {
            close::close_and_count(self.rails)
        } else {
            Vec::new()
        }
    }
}
