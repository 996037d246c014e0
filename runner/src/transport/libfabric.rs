//! The libfabric transport: one reliable-datagram endpoint per rail, each with its own fabric, domain, address vector
//! and completion queue. The library is opened at run time, so one binary can measure the library of any container
//! image.
//!
//! | module | purpose |
//! |---|---|
//! | `rules` | requirements and restrictions of each provider; performs no I/O |
//! | `discovery` | opens the library and selects the device of each rail |
//! | `open` | opens the rails and collects facts about the endpoints |
//! | `peer` | connects peers |
//! | `memory` | registers memory on every rail |
//! | `posting` | posts operations and receives |
//! | `completion` | polls the completion queues |
//! | `error` | converts failures to transport errors |
//! | `ffi` | all calls to the library |

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

pub use memory::LibfabricRegion;
pub use rules::environment::required_variables as required_environment;

use super::turns::RailTurns;
use super::{
    Completion, EndpointAddresses, OpenConfig, Peer, Post, PostError, Rail, Transport, TransportError,
};
use crate::memory::Memory;
use crds::record::FabricFacts;
use std::sync::Arc;
use std::time::Duration;

/// libfabric endpoints of one arm on one worker.
pub struct Libfabric {
    rails: Vec<ffi::Rail>,
    provider: crds::v1alpha1::LibfabricProvider,
    addresses: EndpointAddresses,
    facts: FabricFacts,
    turns: RailTurns,
}

impl Transport for Libfabric {
    type Region = LibfabricRegion;

    fn load(config: &OpenConfig) -> Result<(), TransportError> {
        // The first fi_getinfo initializes the providers; later calls reuse them.
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

    fn register(&mut self, memory: Arc<Memory>) -> Result<LibfabricRegion, TransportError> {
        memory::register(&mut self.rails, memory)
    }

    #[inline]
    fn post(&mut self, post: &Post<'_, LibfabricRegion>) -> Result<(), PostError> {
        posting::post(self, post)
    }

    #[inline]
    fn post_receive(
        &mut self,
        rail: Rail,
        region: &LibfabricRegion,
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
        ffi::wait_for_completions(&mut self.rails, timeout).map_err(|e| error::refused("wait", e.to_string()))
    }
}
