//! libfabric: one reliable-datagram endpoint a rail, each on a fabric, domain, address table and completion queue of
//! its own. The library is opened at run time, so the same program measures whichever one an image has.
//!
//! | file | does |
//! |---|---|
//! | [`rules`] | what each provider needs and forbids; pure |
//! | [`device`] | library, offers, which offer each rail takes |
//! | [`endpoint`] | opens the rails, and says what they are |
//! | [`memory`] | registration on every rail |
//! | [`ops`] | posts and completions |
//! | [`ffi`] | the only place that calls the library |

mod device;
mod endpoint;
mod error;
mod ffi;
mod memory;
mod ops;
mod rules;
#[cfg(test)]
mod tests;

pub use memory::LibfabricRegion;
pub use rules::environment::required as required_environment;

use super::{
    Completion, EndpointAddresses, OpenConfig, Peer, Post, PostError, Rail, Transport, TransportError,
};
use crate::memory::Memory;
use crds::record::FabricFacts;
use std::sync::Arc;
use std::time::Duration;

/// One arm's endpoints over libfabric at one worker.
pub struct Libfabric {
    rails: Vec<ffi::Rail>,
    provider: crds::v1alpha1::LibfabricProvider,
    addresses: EndpointAddresses,
    facts: FabricFacts,
    /// Rail that the next poll begins with, so that a busy rail does not starve the others.
    next: Rail,
    /// A failed completion that was read behind good ones: the good ones are handed over first.
    failure: Option<TransportError>,
}

impl Transport for Libfabric {
    type Region = LibfabricRegion;

    fn open(config: &OpenConfig) -> Result<Self, TransportError> {
        endpoint::open(config)
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
        endpoint::connect(self, peer)
    }

    fn register(&mut self, memory: Arc<Memory>) -> Result<LibfabricRegion, TransportError> {
        memory::register(&mut self.rails, memory)
    }

    #[inline]
    fn post(&mut self, post: &Post<'_, LibfabricRegion>) -> Result<(), PostError> {
        ops::post(self, post)
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
        ops::post_receive(self, rail, region, offset, length, token)
    }

    #[inline]
    fn poll(&mut self, completions: &mut [Completion]) -> Result<usize, TransportError> {
        ops::poll(self, completions)
    }

    fn wait(&mut self, timeout: Duration) -> Result<(), TransportError> {
        ffi::sleep_on(&mut self.rails, timeout).map_err(|e| error::refused("wait", e.to_string()))
    }
}
