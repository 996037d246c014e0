//! An arm's state at one worker: endpoints of its own for every measuring thread, and the memory they share with the
//! other arms of the process.
//!
//! [`ArmEndpoints::open`] opens as many transports as the largest number of threads of any scenario, each on its own
//! pinned thread, and times what that costs; [`ArmEndpoints::offer`] and [`ArmEndpoints::connect`] make two workers known to
//! each other. Then `scenario::run_case` measures over it. Memory that cannot be had fails the scenarios that need it
//! and no others.

mod buffers;
pub(crate) mod endpoint_thread;
pub mod layout;
mod offer;
mod open;
pub(crate) mod receives;
pub(crate) mod tokens;

use std::collections::BTreeSet;
use std::path::PathBuf;

use crds::assignment::{ArmAssignment, Assignment};
use crds::record::{CaseFailure, ColdRecord, FabricFacts, FailureReason};
use crds::v1alpha1::{MemoryKind, Polling};

pub use buffers::Buffers;
use endpoint_thread::{EndpointThread, ThreadPeer};
pub use offer::{ArmOffer, RegionOffer, ThreadOffer};

use crate::measure::clock;
use crate::measure::window::UsageCounters;
use crate::topology::{self, SystemRoots};
use crate::transport::{OpenConfig, Region, RemoteRegion, Transport, TransportError};

/// An arm's state at one worker.
pub struct ArmEndpoints<T: Transport> {
    pub(crate) threads: Vec<EndpointThread<T>>,
    pub(crate) kinds: Vec<(MemoryKind, layout::Layout)>,
    /// Why memory of a kind cannot be used, by index of the kind.
    pub(crate) refused: Vec<Option<CaseFailure>>,
    pub(crate) usage: UsageCounters,
    pub(crate) roots: SystemRoots,
    /// How a side waits where the scenario does not say.
    pub(crate) polling: Polling,
    /// Evidence lines that were given out, with their size.
    pub(crate) evidence: BTreeSet<(u64, String)>,
    facts: FabricFacts,
    cold: ColdRecord,
}

/// What an arm asks its library for at worker `rank`.
pub fn open_config(arm: &ArmAssignment, assignment: &Assignment, rank: u32) -> OpenConfig {
    let binding = assignment.bindings.get(rank as usize);
    let process = assignment.processes.get(arm.process as usize);
    let scenarios = &assignment.scenarios;
    OpenConfig {
        spec: assignment.transport.clone(),
        rails: binding.map(|binding| binding.rails.clone()).unwrap_or_default(),
        library: process
            .and_then(|process| process.library.clone())
            .map(PathBuf::from),
        inject_bytes: arm.inject_max_bytes,
        depth: layout::depth(assignment),
        sleeps: scenarios
            .iter()
            .any(|scenario| scenario.polling == Some(Polling::Wait)),
        device_memory: scenarios
            .iter()
            .any(|scenario| scenario.memory == MemoryKind::Cuda),
        peers: assignment.workers.saturating_sub(1) as usize,
    }
}

/// How a side waits whose scenario does not say: it spins where each measuring thread has a processor of its own, and
/// gives the processor up where threads share them.
pub fn default_polling(cpus: usize, assignment: &Assignment) -> Polling {
    if cpus >= layout::most_threads(assignment) as usize {
        Polling::Spin
    } else {
        Polling::Yield
    }
}

impl<T: Transport> ArmEndpoints<T> {
    /// Opens an arm's endpoints, gets the memory of every scenario and registers it. Threads are pinned to `cpus` in
    /// turn; to none where it is empty. `polling` is how a side waits where a scenario does not say. `buffers` is the
    /// process's, shared by its arms.
    ///
    /// # Errors
    /// When the transport cannot be opened as `config` says, or a thread cannot be pinned. Memory that cannot be had
    /// or registered is no error here: it fails the scenarios that need it.
    pub fn open(
        arm: &ArmAssignment,
        assignment: &Assignment,
        config: &OpenConfig,
        polling: Polling,
        cpus: &[u32],
        buffers: &mut Buffers,
    ) -> Result<Self, TransportError> {
        let thread_count = layout::most_threads(assignment) as usize;
        let mut threads = Vec::with_capacity(thread_count);
        let mut refused = vec![None; buffers.layouts().len()];
        let mut cold = ColdRecord {
            arm: arm.name.clone(),
            ..ColdRecord::default()
        };
        let mut memory = Vec::new();
        for number in 0..thread_count {
            let cpu = cpus.get(number % cpus.len().max(1)).copied();
            let opened = open::endpoint_thread::<T>(number, config, cpu, buffers)?;
            if number == 0 {
                cold.thread_start_nanos = opened.thread_start_nanos;
                memory = opened.memory;
            }
            cold.open_nanos += opened.open_nanos;
            cold.registration_nanos += opened.registration_nanos;
            cold.registered_bytes += opened.registered_bytes;
            for (refused, thread_refused) in refused.iter_mut().zip(opened.refused) {
                *refused = refused.take().or(thread_refused);
            }
            threads.push(opened.thread);
        }
        let roots = SystemRoots::default();
        let pinned: Vec<u32> = threads.iter().filter_map(|thread| thread.cpu).collect();
        let mut facts = threads
            .first()
            .map(|thread| thread.transport.facts().clone())
            .unwrap_or_default();
        topology::complete(&mut facts, &roots);
        let scenarios = assignment.scenarios.iter();
        facts.polling = scenarios
            .map(|scenario| (scenario.name.clone(), scenario.polling.unwrap_or(polling)))
            .collect();
        facts.memory = assignment
            .scenarios
            .iter()
            .filter_map(|scenario| {
                let of_kind = memory.iter().find(|facts| facts.kind() == scenario.memory)?;
                Some(of_kind.of_scenario(&scenario.name))
            })
            .collect();
        let usage = UsageCounters::find(&roots, &pinned);
        facts.pinned_cpus = pinned;
        Ok(Self {
            threads,
            kinds: buffers.layouts().to_vec(),
            refused,
            usage,
            roots,
            polling,
            evidence: BTreeSet::new(),
            facts,
            cold,
        })
    }

    /// How a peer reaches this side.
    pub fn offer(&self) -> ArmOffer {
        let threads = self.threads.iter().map(|thread| {
            let with_kind = self.kinds.iter().zip(&thread.data);
            let regions = with_kind.filter_map(|((kind, _), region)| {
                let region = region.as_ref()?.remote();
                Some(RegionOffer { kind: *kind, region })
            });
            ThreadOffer {
                addresses: thread.transport.addresses().clone(),
                regions: regions.collect(),
            }
        });
        ArmOffer {
            threads: threads.collect(),
        }
    }

    /// Makes the worker with this rank known.
    ///
    /// # Errors
    /// When its offer does not fit this side's, or the library refuses an address.
    pub fn connect(&mut self, rank: u32, offer: &ArmOffer) -> Result<(), TransportError> {
        if offer.threads.len() != self.threads.len() {
            let (theirs, ours) = (offer.threads.len(), self.threads.len());
            return Err(mismatch(format!(
                "rank {rank} offers endpoints of {theirs} threads, this side has {ours}"
            )));
        }
        let begun = clock::now();
        for (thread, offered) in self.threads.iter_mut().zip(&offer.threads) {
            let rails = thread.transport.rails();
            let mut regions = Vec::with_capacity(self.kinds.len());
            for (kind, layout) in &self.kinds {
                let region = offered.regions.iter().find(|region| region.kind == *kind);
                let region = region.map(|region| region.region.clone());
                check_region(rank, *kind, *layout, rails, region.as_ref())?;
                regions.push(region);
            }
            let peer = thread.transport.connect(&offered.addresses)?;
            thread.peers.retain(|known| known.rank != rank);
            thread.peers.push(ThreadPeer { rank, peer, regions });
        }
        self.cold.address_insertion_nanos += clock::now().saturating_sub(begun);
        Ok(())
    }

    /// What the library returned, with the memory of each scenario, how this side waits and where it is pinned.
    pub fn facts(&self) -> &FabricFacts {
        &self.facts
    }

    /// What this arm cost before its first measured operation. `round` and `rank` are for the caller to fill.
    pub fn cold(&self) -> ColdRecord {
        ColdRecord {
            first_post_nanos: self.threads.first().and_then(|thread| thread.first_post.nanos()),
            ..self.cold.clone()
        }
    }
}

fn check_region(
    rank: u32,
    kind: MemoryKind,
    layout: layout::Layout,
    rails: usize,
    region: Option<&RemoteRegion>,
) -> Result<(), TransportError> {
    let fits =
        region.is_none_or(|region| region.rails.len() == rails && region.length >= layout.total_bytes());
    if fits {
        return Ok(());
    }
    Err(mismatch(format!(
        "rank {rank} offers {kind:?} memory that is not {} bytes on {rails} rails: its assignment or runner is another",
        layout.total_bytes()
    )))
}

fn mismatch(message: String) -> TransportError {
    TransportError {
        reason: FailureReason::InvalidAssignment,
        operation: "connect",
        message,
    }
}
