//! The rails of an arm: a transport for every library that has one driver per rail. Does not allocate, lock or log in
//! posts and polls.

mod driver;
pub mod turns;

use std::sync::Arc;
use std::time::Duration;

use crds::record::{FabricFacts, ProtocolUse};
use crds::v1alpha1::{MemoryKind, TransferOperation};

pub use self::driver::{
    Abilities, Allocate, Armed, CheckOperation, CloseAndCount, Flush, OpenedRails, Prepare, PrepareRequests,
    RailDriver,
};
use self::turns::RailTurns;
use super::descriptors::{MAX_DESCRIPTORS, wait_until_readable};
use super::failures::{check_depth, check_peer_rails, check_region_rails, on_rail, refused};
use super::{
    Capabilities, Completion, EndpointAddresses, OpenConfig, Peer, Post, PostError, PreparationStats, Rail,
    Region, RemoteKey, RemoteRegion, Transport, TransportError,
};
use crate::memory::Memory;

/// Endpoints of one arm on one worker: one driver per rail.
pub struct RailSet<D: RailDriver> {
    rails: Vec<D>,
    shared: D::Shared,
    addresses: EndpointAddresses,
    facts: FabricFacts,
    /// Number of connected peers.
    peers: usize,
    uses_wait: bool,
    /// Whether the spec makes the library allocate the memory.
    allocates: bool,
    completes_writes_locally: bool,
    counts_protocols: bool,
    turns: RailTurns,
}

/// Memory that is registered on every rail.
pub struct RegisteredMemory<D: RailDriver> {
    memory: Arc<Memory>,
    rails: Vec<D::Region>,
    method: &'static str,
}

impl<D: RailDriver> Region for RegisteredMemory<D> {
    fn remote(&self) -> RemoteRegion {
        RemoteRegion {
            rails: self.rails.iter().map(D::key).collect(),
            length: self.memory.length() as u64,
        }
    }

    fn memory(&self) -> &Arc<Memory> {
        &self.memory
    }

    fn registration_method(&self) -> &'static str {
        self.method
    }
}

impl<D: RailDriver> Transport for RailSet<D> {
    type Region = RegisteredMemory<D>;

    fn load(config: &OpenConfig) -> Result<(), TransportError> {
        D::load(config)
    }

    fn open(config: &OpenConfig) -> Result<Self, TransportError> {
        check_depth(config)?;
        let OpenedRails {
            rails,
            shared,
            addresses,
            facts,
        } = D::open(config)?;
        Ok(Self {
            rails,
            shared,
            addresses,
            facts,
            peers: 0,
            uses_wait: config.uses_wait,
            allocates: config.spec.allocates_memory(),
            completes_writes_locally: config.spec.completes_writes_locally(),
            counts_protocols: config.counts_protocols,
            turns: RailTurns::default(),
        })
    }

    #[inline]
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            more: D::ABILITIES.more,
            call_names: D::ABILITIES.call_names,
            flush: D::ABILITIES.flush.is_some(),
            completes_writes_locally: self.completes_writes_locally,
        }
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
        check_peer_rails(D::CONNECT, peer, self.rails.len())?;
        for (number, (rail, name)) in self.rails.iter_mut().zip(&peer.rails).enumerate() {
            let connected = rail
                .connect(&mut self.shared, number, name, &mut self.facts)
                .map_err(|error| on_rail(number, error))?;
            if connected != self.peers {
                let message = "an earlier connection attempt failed, so the endpoints must be opened again";
                return Err(on_rail(number, refused(D::CONNECT, message.to_owned())));
            }
        }
        self.peers += 1;
        Ok(self.peers - 1)
    }

    fn import(&mut self, peer: Peer, region: &RemoteRegion) -> Result<Vec<RemoteKey>, TransportError> {
        check_region_rails("import", region, self.rails.len())?;
        let rails = self.rails.iter_mut().zip(&region.rails).enumerate();
        rails
            .map(|(number, (rail, key))| {
                rail.import(&self.shared, peer, key, region.length)
                    .map_err(|error| on_rail(number, error))
            })
            .collect()
    }

    fn check_operation(&self, peer: Peer, operation: TransferOperation) -> Result<(), TransportError> {
        match D::ABILITIES.check_operation {
            Some(check) => check(&self.shared, peer, operation),
            None => Ok(()),
        }
    }

    fn register(&mut self, memory: Arc<Memory>) -> Result<RegisteredMemory<D>, TransportError> {
        let rails = self.rails.iter_mut().enumerate();
        let registered = rails.map(|(number, rail)| {
            rail.register(&self.shared, &memory)
                .map_err(|error| on_rail(number, error))
        });
        Ok(RegisteredMemory {
            rails: registered.collect::<Result<_, _>>()?,
            method: D::registration_method(&memory),
            memory,
        })
    }

    fn allocate(&mut self, bytes: usize) -> Result<RegisteredMemory<D>, TransportError> {
        let Some(Allocate {
            call,
            method,
            allocate,
        }) = D::ABILITIES.allocate.filter(|_| self.allocates)
        else {
            return self.register(Memory::allocate(MemoryKind::Heap, bytes)?);
        };
        let [rail] = self.rails.as_mut_slice() else {
            let message = format!(
                "the library allocates memory for only one rail, but there are {} rails: set rails to 1, or remove \
                 allocation",
                self.rails.len()
            );
            return Err(refused(call, message));
        };
        let (memory, region) = allocate(rail, bytes).map_err(|error| on_rail(0, error))?;
        Ok(RegisteredMemory {
            memory,
            rails: vec![region],
            method,
        })
    }

    #[inline]
    fn post(&mut self, post: &Post<'_, RegisteredMemory<D>>) -> Result<(), PostError> {
        let (Some(rail), Some(region)) = (self.rails.get_mut(post.rail), post.region.rails.get(post.rail))
        else {
            return Err(PostError::Refused(libc::EINVAL));
        };
        rail.post(&self.shared, region, post)
    }

    fn prepare(&mut self, post: &Post<'_, RegisteredMemory<D>>, at_once: u32) -> Result<(), TransportError> {
        let Some(Prepare { prepare, .. }) = D::ABILITIES.prepare else {
            return Ok(());
        };
        let (Some(rail), Some(region)) = (self.rails.get_mut(post.rail), post.region.rails.get(post.rail))
        else {
            let message = format!("there is no rail {}; this is a bug in fabricbench", post.rail);
            return Err(refused("prepare", message));
        };
        prepare(rail, &self.shared, region, post, at_once).map_err(|error| on_rail(post.rail, error))
    }

    fn preparation_stats(&self) -> Option<PreparationStats> {
        let Prepare { stats, .. } = D::ABILITIES.prepare?;
        let rails = self.rails.iter().map(stats);
        Some(rails.fold(PreparationStats::default(), PreparationStats::and))
    }

    #[inline]
    fn post_receive(
        &mut self,
        rail: Rail,
        region: &RegisteredMemory<D>,
        offset: u64,
        length: u64,
        token: u32,
    ) -> Result<(), PostError> {
        let (Some(rail), Some(region)) = (self.rails.get_mut(rail), region.rails.get(rail)) else {
            return Err(PostError::Refused(libc::EINVAL));
        };
        rail.receive(&self.shared, region, offset, length, token)
    }

    /// Posts a flush on every rail, or on none.
    fn post_flush(&mut self, peer: Peer) -> Result<(), PostError> {
        let Some(Flush { has_room, post, .. }) = D::ABILITIES.flush else {
            return Err(PostError::Refused(libc::EOPNOTSUPP));
        };
        if !self.rails.iter().all(has_room) {
            return Err(PostError::Again);
        }
        self.rails.iter_mut().try_for_each(|rail| post(rail, peer))
    }

    #[inline]
    fn flushes_in_flight(&self) -> u32 {
        match D::ABILITIES.flush {
            Some(Flush { in_flight, .. }) => self.rails.iter().map(in_flight).sum(),
            None => 0,
        }
    }

    /// Polls each rail once, starting after the rail that the previous call polled last, until `completions` is full.
    #[inline]
    fn poll(&mut self, completions: &mut [Completion]) -> Result<usize, TransportError> {
        self.turns.poll(&mut self.rails, completions, |rail, found| {
            let (number, room) = (found.rail(), found.room());
            rail.poll(room, |kind| found.push(kind))
                .map_err(|error| on_rail(number, error))
        })
    }

    fn wait(&mut self, timeout: Duration) -> Result<(), TransportError> {
        if self.turns.has_failed() {
            return Ok(());
        }
        if !self.uses_wait {
            return Err(refused(
                "wait",
                "the transport was not opened for waiting".to_owned(),
            ));
        }
        let mut descriptors = [-1; MAX_DESCRIPTORS];
        for (number, (rail, descriptor)) in self.rails.iter_mut().zip(&mut descriptors).enumerate() {
            match rail.arm().map_err(|error| on_rail(number, error))? {
                Armed::Ready => return Ok(()),
                Armed::Sleep(armed) => *descriptor = armed,
            }
        }
        wait_until_readable(descriptors.into_iter().take(self.rails.len()), timeout)
            .map_err(|error| refused("wait", format!("ppoll: {error}")))
    }

    fn close(self) -> Vec<ProtocolUse> {
        match D::ABILITIES.close_and_count {
            Some(close) if self.counts_protocols => close(self.rails, &self.shared, &self.facts),
            _ => Vec::new(),
        }
    }
}
