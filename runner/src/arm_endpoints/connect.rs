//! Connects the endpoints of an arm to those of another worker.

use std::ops::Range;

use crds::record::FailureReason;
use crds::v1alpha1::MemoryKind;

use super::endpoint_thread::ThreadPeer;
use super::offer::{ArmOffer, ThreadOffer};
use super::{ArmEndpoints, facts, layout};
use crate::measure::clock;
use crate::transport::{RemoteRegion, Transport, TransportError};

impl<T: Transport> ArmEndpoints<T> {
    /// Connects the endpoints to the endpoints of worker `rank`, which has as many threads as this worker.
    ///
    /// # Errors
    /// Returns an error if `offer` does not match the local layout, or the library rejects an address.
    pub fn connect(&mut self, rank: u32, offer: &ArmOffer) -> Result<(), TransportError> {
        if offer.threads.len() != self.threads.len() {
            let (remote, local) = (offer.threads.len(), self.threads.len());
            return Err(offer_mismatch(format!(
                "rank {rank} offers endpoints for {remote} threads, but this worker has {local}; use the same assignment \
                 and runner version for all workers"
            )));
        }
        self.connect_threads(rank, 0..self.threads.len(), &offer.threads)
    }

    /// Connects the endpoints of the flow whose index is `own` on this worker to those of worker `rank`, where the
    /// index of the flow is `partner`.
    ///
    /// # Errors
    /// Returns an error if one of the workers has no such flow, `offer` does not match the local layout, or the library
    /// rejects an address.
    pub fn connect_flow(
        &mut self,
        rank: u32,
        offer: &ArmOffer,
        own: usize,
        partner: usize,
    ) -> Result<(), TransportError> {
        let threads = |flow: usize| flow * self.threads_per_flow..(flow + 1) * self.threads_per_flow;
        let (own, partner) = (threads(own), threads(partner));
        match offer.threads.get(partner.clone()) {
            Some(offered) if own.end <= self.threads.len() => self.connect_threads(rank, own, offered),
            _ => {
                let (remote, local) = (offer.threads.len(), self.threads.len());
                Err(offer_mismatch(format!(
                    "rank {rank} offers endpoints for {remote} threads, and this worker has {local}, but their flow needs \
                     threads {partner:?} and {own:?}; use the same assignment and runner version for all workers"
                )))
            }
        }
    }

    fn connect_threads(
        &mut self,
        rank: u32,
        own: Range<usize>,
        offered: &[ThreadOffer],
    ) -> Result<(), TransportError> {
        let start = clock::now();
        for (thread, offered) in self.threads[own.clone()].iter_mut().zip(offered) {
            let rails = thread.transport.rails();
            let mut offered_regions = Vec::with_capacity(self.layouts.len());
            for (index, (kind, layout)) in self.layouts.iter().enumerate() {
                let mut regions = offered.regions.iter();
                let region = regions.find(|region| (region.kind, region.layout) == (*kind, index));
                let region = region.map(|region| &region.region);
                check_region(rank, *kind, *layout, rails, region)?;
                offered_regions.push(region);
            }
            let peer = thread.transport.connect(&offered.addresses)?;
            let mut regions = Vec::with_capacity(offered_regions.len());
            for region in offered_regions {
                let imported = region.map(|region| thread.transport.import(peer, region));
                regions.push(imported.transpose()?);
            }
            thread.peers.retain(|known| known.rank != rank);
            thread.peers.push(ThreadPeer { rank, peer, regions });
        }
        for (group, thread) in self.threads[own].iter().take(self.groups).enumerate() {
            facts::update_connected(&mut self.facts, group, thread.transport.facts());
        }
        let connected = self.threads.iter().filter(|thread| !thread.peers.is_empty());
        facts::set_emulation(&mut self.facts, connected.map(|thread| thread.transport.facts()));
        self.cold.address_insertion_nanos += clock::now().saturating_sub(start);
        Ok(())
    }
}

fn check_region(
    rank: u32,
    kind: MemoryKind,
    layout: layout::Layout,
    rails: usize,
    region: Option<&RemoteRegion>,
) -> Result<(), TransportError> {
    let matches_layout =
        region.is_none_or(|region| region.rails.len() == rails && region.length >= layout.total_bytes());
    if matches_layout {
        return Ok(());
    }
    Err(offer_mismatch(format!(
        "rank {rank} offers less than {} bytes of {kind:?} memory, or does not offer it on {rails} rails; use the same \
         assignment and runner version for all workers",
        layout.total_bytes()
    )))
}

fn offer_mismatch(message: String) -> TransportError {
    TransportError {
        reason: FailureReason::InvalidAssignment,
        operation: "connect",
        message,
    }
}
