//! The NIXL transport: one agent with one backend per rail. The library is opened at run time, so one binary can measure
//! the library of any container image.
//!
//! | module | purpose |
//! |---|---|
//! | `rules` | requirements and restrictions of NIXL; performs no I/O |
//! | `discovery` | opens the library and selects the device of each rail |
//! | `open` | opens the agents and collects facts about them |
//! | `peer` | connects peers and imports regions |
//! | `memory` | registers memory with every agent |
//! | `posting` | posts operations and receives |
//! | `completion` | polls the agents |
//! | `close` | reports the transfer steps |
//! | `error` | converts failures to transport errors |
//! | `ffi` | all calls to the library |
//!
//! Reads and writes are transfer requests. A write with immediate data is a request with a notification, which the
//! agent sends after the data. NIXL has no messages with a payload, so the scenarios' control messages are sent as
//! notifications. Longer messages are rejected.
//!
//! NIXL's interface does not expose the UCX backend's UCX instance, so it is unknown which lanes its endpoints have and
//! whether it emulates operations.

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

pub use memory::NixlRegion;

use super::turns::RailTurns;
use super::{
    Completion, EndpointAddresses, OpenConfig, Peer, Post, PostError, PreparationStats, Rail, RemoteKey,
    RemoteRegion, Transport, TransportError,
};
use crate::memory::Memory;
use crds::record::{FabricFacts, ProtocolUse};
use std::sync::Arc;
use std::time::Duration;

/// Agents of one arm on one worker.
pub struct Nixl {
    rails: Vec<ffi::Rail>,
    spec: crds::v1alpha1::Nixl,
    addresses: EndpointAddresses,
    facts: FabricFacts,
    turns: RailTurns,
}

impl Transport for Nixl {
    type Region = NixlRegion;

    /// The backends themselves decide when to ring a doorbell; NIXL's API has no equivalent of FI_MORE.
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

    fn register(&mut self, memory: Arc<Memory>) -> Result<NixlRegion, TransportError> {
        memory::register(self, memory)
    }

    #[inline]
    fn post(&mut self, post: &Post<'_, NixlRegion>) -> Result<(), PostError> {
        posting::post(self, post)
    }

    fn prepare(&mut self, post: &Post<'_, NixlRegion>, at_once: u32) -> Result<(), TransportError> {
        posting::prepare(self, post, at_once)
    }

    fn preparation_stats(&self) -> Option<PreparationStats> {
        Some(posting::preparation_stats(self))
    }

    #[inline]
    fn post_receive(
        &mut self,
        rail: Rail,
        region: &NixlRegion,
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

    fn wait(&mut self, _timeout: Duration) -> Result<(), TransportError> {
        let message = "NIXL has no call that waits for a completion: set polling to Spin or Yield".to_owned();
        Err(error::refused("wait", message))
    }

    fn close(self) -> Vec<ProtocolUse> {
        close::protocols(&self)
    }
}
