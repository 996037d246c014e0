//! The endpoints and memory of one arm on one worker. Each measuring thread has its own endpoints, whereas all arms of
//! the process share the memory.
//!
//! For each flow of the worker, [`ArmEndpoints::open`] opens one transport for each thread of the scenario with the
//! most threads. Each transport is opened on a pinned thread: the main thread if it also measures (see
//! [`layout::uses_main_thread`]), otherwise a new thread. The setup costs are recorded. Two workers exchange addresses
//! with [`ArmEndpoints::offer`] and [`ArmEndpoints::connect`] before `scenario::run_case` runs cases. If one kind of
//! memory cannot be allocated or registered, only the scenarios that use that kind fail.

mod buffers;
mod cpus;
pub(crate) mod endpoint_thread;
mod facts;
pub mod layout;
mod offer;
mod open;
mod position;
pub(crate) mod receives;
pub(crate) mod tokens;

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::PathBuf;

use crds::assignment::{ArmAssignment, Assignment};
use crds::record::{CaseFailure, ColdRecord, FabricFacts, FailureReason, ProtocolUse};
use crds::v1alpha1::{MemoryKind, Polling};

pub use buffers::Buffers;
use endpoint_thread::{EndpointThread, ThreadPeer};
pub use offer::{ArmOffer, RegionOffer, ThreadOffer};
use open::Binding;

use crate::measure::clock;
use crate::measure::window::UsageCounters;
use crate::topology::{Location, SystemRoots};
use crate::transport::{OpenConfig, PreparationStats, Region, RemoteRegion, Transport, TransportError};

/// The endpoints and memory of one arm on one worker.
pub struct ArmEndpoints<T: Transport> {
    /// Endpoint threads: those of the first flow, then those of the second flow, and so on.
    pub(crate) threads: Vec<EndpointThread<T>>,
    /// Number of threads of each flow.
    pub(crate) threads_per_flow: usize,
    /// Whether the calling thread measures, instead of new threads.
    pub(crate) uses_main_thread: bool,
    /// Memory kinds and layouts, smaller layouts of a kind first.
    pub(crate) layouts: Vec<(MemoryKind, layout::Layout)>,
    /// For each element of `layouts`, the failure that makes the memory unusable; `None` if it is usable.
    pub(crate) memory_failures: Vec<Option<CaseFailure>>,
    /// Failure of scenarios with [`Polling::Wait`]; `None` if the library can wait, or no scenario waits.
    pub(crate) wait_failure: Option<CaseFailure>,
    pub(crate) usage: UsageCounters,
    pub(crate) roots: SystemRoots,
    /// Polling mode for scenarios that do not set one.
    pub(crate) polling: Polling,
    /// Evidence lines that have been reported, with their message sizes.
    pub(crate) evidence: BTreeSet<(u64, String)>,
    facts: FabricFacts,
    /// Number of rail groups. Threads are assigned to the groups round-robin.
    pub(crate) groups: usize,
    cold: ColdRecord,
}

/// Creates the configuration for opening the transport of `arm` on worker `rank`.
pub fn open_config(arm: &ArmAssignment, assignment: &Assignment, rank: u32) -> OpenConfig {
    let binding = assignment.bindings.get(rank as usize);
    let process = assignment.processes.get(arm.process as usize);
    let scenarios = &assignment.scenarios;
    let spec = process.map_or(&assignment.transport, |process| assignment.transport_of(process));
    // Bindings name NICs, which not all transports use.
    let binding = binding.filter(|_| spec.uses_nics());
    OpenConfig {
        spec: spec.clone(),
        rails: binding.map(|binding| binding.rails.clone()).unwrap_or_default(),
        library: process
            .and_then(|process| process.library.clone())
            .map(PathBuf::from),
        inject_bytes: arm.inject_max_bytes,
        depth: layout::depth(assignment),
        uses_wait: scenarios
            .iter()
            .any(|scenario| scenario.polling == Some(Polling::Wait)),
        device_memory: scenarios.iter().any(|scenario| scenario.uses(MemoryKind::Cuda)),
        location: assignment.devices.numa_node.map(Location::NumaNode),
        rank,
        // Each flow of the many-to-many pattern has its own endpoints.
        peers: match assignment.many_to_many {
            Some(_) => 1,
            None => assignment.workers.saturating_sub(1) as usize,
        },
        counts_protocols: false,
    }
}

/// Configuration with which measuring thread `number` opens its transport. Rail sources in the assignment's bindings
/// take precedence over the NICs in the assignment's `devices`.
fn thread_config(config: &OpenConfig, assignment: &Assignment, number: usize) -> OpenConfig {
    let mut config = config.clone();
    if config.rails.is_empty() {
        let nics = assignment.devices.nics(number, config.spec.rails());
        config.rails = nics.to_vec();
    }
    config
}

/// Polling mode of worker `rank` for scenarios that do not set one: spin if there is a CPU for each measuring thread,
/// otherwise yield.
pub fn default_polling(cpus: usize, assignment: &Assignment, rank: u32) -> Polling {
    if cpus >= layout::thread_count(assignment, rank) as usize {
        Polling::Spin
    } else {
        Polling::Yield
    }
}

impl<T: Transport> ArmEndpoints<T> {
    /// Opens the endpoints of `arm`, and allocates and registers the memory of every scenario.
    ///
    /// Each thread is pinned to the least used of `cpus`, preferably one near the GPU whose memory the thread uses or,
    /// for host memory, near the named NICs of its rails. Threads are not pinned if `cpus` is empty. `polling` applies
    /// to scenarios that do not set a polling mode. If the assignment distributes the threads over the NUMA nodes, each
    /// thread that uses host memory is pinned to a CPU of its node, and its memory must be on this node. `buffers` is
    /// shared by all arms of the process.
    ///
    /// # Errors
    /// Returns an error if the transport cannot be opened with `config`, a thread cannot be pinned, several GPUs would
    /// share an RDMA device, or the location of a device relative to the memory does not meet the alignment that the
    /// assignment requires. A failure to allocate or register memory is not returned: only the scenarios that use the
    /// memory fail.
    pub fn open(
        arm: &ArmAssignment,
        assignment: &Assignment,
        config: &OpenConfig,
        polling: Polling,
        cpus: &[u32],
        buffers: &mut Buffers,
    ) -> Result<Self, TransportError> {
        Self::open_below(
            SystemRoots::default(),
            arm,
            assignment,
            config,
            polling,
            cpus,
            buffers,
        )
    }

    /// Like [`ArmEndpoints::open`], but reads the topology of devices and CPUs from the file systems at `roots`.
    pub(crate) fn open_below(
        roots: SystemRoots,
        arm: &ArmAssignment,
        assignment: &Assignment,
        config: &OpenConfig,
        polling: Polling,
        cpus: &[u32],
        buffers: &mut Buffers,
    ) -> Result<Self, TransportError> {
        let thread_count = buffers.threads();
        let threads_per_flow = layout::max_threads(assignment) as usize;
        let uses_main_thread = layout::uses_main_thread(assignment);
        let mut threads: Vec<EndpointThread<T>> = Vec::with_capacity(thread_count);
        let mut memory_failures = vec![None; buffers.layouts().len()];
        let mut wait_failure = None;
        let mut cold = ColdRecord {
            arm: arm.name.clone(),
            ..ColdRecord::default()
        };
        let mut memory: Vec<open::KindFacts> = Vec::new();
        let mut groups: Vec<(open::PreferredLocation, FabricFacts)> = Vec::new();
        let nodes = match assignment.spreads_threads() {
            true => cpus::by_node(cpus, &roots),
            false => Vec::new(),
        };
        let mut thread_numa_nodes = Vec::new();
        for number in 0..thread_count {
            let config = thread_config(config, assignment, number);
            let gpu = buffers.gpu_pci_address(number);
            let node = nodes.get(number % nodes.len().max(1)).filter(|_| gpu.is_none());
            let allowed = node.map_or(cpus, |node| &node.cpus);
            let cpus = cpus::nearest_first(allowed, gpu.as_deref(), &config.rails, &roots);
            let node = node.map(|node| node.node);
            thread_numa_nodes.extend(node);
            let cpu = cpus::least_used(&cpus, threads.iter().filter_map(|thread| thread.cpu));
            let group = assignment.devices.group(number);
            let near = groups.get(group).map(|(near, _)| near.clone()).or_else(|| {
                // The threads of a segment with two kinds of memory share the NICs near the GPU of their group.
                let mut of_group =
                    (number..thread_count).filter(|other| assignment.devices.group(*other) == group);
                of_group
                    .find_map(|other| buffers.gpu_pci_address(other))
                    .map(open::PreferredLocation::of_gpu)
            });
            let binding = Binding { cpu, node };
            let mut opened =
                open::endpoint_thread::<T>(uses_main_thread, number, &config, near, binding, buffers)?;
            opened.thread.number %= threads_per_flow;
            let locations = open::locations(&opened.memory);
            if number == 0 {
                cold.thread_start_nanos = opened.thread_start_nanos;
            }
            memory.extend(opened.memory);
            cold.open_nanos += opened.open_nanos;
            cold.registration_nanos += opened.registration_nanos;
            cold.registered_bytes += opened.registered_bytes;
            wait_failure = wait_failure.or(opened.wait_failure);
            for (failure, thread_failure) in memory_failures.iter_mut().zip(opened.memory_failures) {
                *failure = failure.take().or(thread_failure);
            }
            let reported = opened.thread.transport.facts();
            let rails = position::complete(&reported.rails, &locations, assignment.align, &roots)?;
            match groups.get_mut(group) {
                Some((_, facts)) => position::keep_worst(&mut facts.rails, rails),
                None => {
                    let facts = FabricFacts {
                        rails,
                        ..reported.clone()
                    };
                    groups.push((opened.near, facts));
                }
            }
            threads.push(opened.thread);
        }
        let mut groups = groups.into_iter().map(|(_, facts)| facts);
        let mut facts = groups.next().unwrap_or_default();
        groups.for_each(|group| facts::add_group(&mut facts, group));
        if let Some(message) = position::shared_device(&facts.rails, &assignment.devices, &roots) {
            return Err(TransportError {
                reason: FailureReason::NoDevice,
                operation: "spec.devices.gpus",
                message,
            });
        }
        let pinned: Vec<u32> = threads.iter().filter_map(|thread| thread.cpu).collect();
        let scenarios = assignment.scenarios.iter();
        facts.polling = scenarios
            .map(|scenario| (scenario.name.clone(), scenario.polling.unwrap_or(polling)))
            .collect();
        facts.memory = assignment
            .scenarios
            .iter()
            .flat_map(|scenario| scenario.distinct_memory_kinds().map(move |kind| (scenario, kind)))
            .filter_map(|(scenario, kind)| {
                let area_bytes = scenario.area_bytes(assignment.transport.rails().into());
                let layout = layout::position(buffers.layouts(), kind, area_bytes)?;
                let is_usable = memory_failures.get(layout).is_some_and(Option::is_none);
                let of_threads = memory
                    .iter()
                    .filter(|facts| is_usable && facts.layout() == layout);
                open::memory_facts(of_threads, &scenario.name)
            })
            .collect();
        let usage = UsageCounters::find(&roots, &pinned);
        facts.pinned_cpus = pinned;
        facts.thread_numa_nodes = thread_numa_nodes;
        Ok(Self {
            threads,
            threads_per_flow,
            uses_main_thread,
            layouts: buffers.layouts().to_vec(),
            memory_failures,
            wait_failure,
            usage,
            roots,
            polling,
            evidence: BTreeSet::new(),
            facts,
            groups: assignment.devices.groups() as usize,
            cold,
        })
    }

    /// Returns the addresses and memory keys that a peer needs to reach this worker.
    pub fn offer(&self) -> ArmOffer {
        let threads = self.threads.iter().map(|thread| {
            let with_kind = self.layouts.iter().zip(&thread.data).enumerate();
            let regions = with_kind.filter_map(|(layout, ((kind, _), region))| {
                let region = region.as_ref()?.remote();
                Some(RegionOffer {
                    kind: *kind,
                    layout,
                    region,
                })
            });
            ThreadOffer {
                addresses: thread.transport.addresses().clone(),
                regions: regions.collect(),
            }
        });
        ArmOffer {
            host: String::new(),
            threads: threads.collect(),
        }
    }

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

    /// Closes the endpoints. Returns the protocols that the library used on all threads, if it counts them.
    pub fn close(self) -> Vec<ProtocolUse> {
        let mut protocols = Vec::new();
        for thread in self.threads {
            for protocol in thread.close() {
                protocol.add_to(&mut protocols);
            }
        }
        protocols
    }

    /// Facts reported by the library, the memory and polling mode of each scenario, and the pinned CPUs.
    pub fn facts(&self) -> &FabricFacts {
        &self.facts
    }

    /// Makes all cases read the byte counters of `interface`, instead of the rail counters, from the file systems at
    /// `roots`.
    #[cfg(test)]
    pub(crate) fn read_counters_of(&mut self, interface: &str, roots: SystemRoots) {
        for rail in &mut self.facts.rails {
            rail.interface = Some(interface.to_owned());
        }
        self.roots = roots;
    }

    /// Setup costs of this arm. The caller sets `round` and `rank`.
    pub fn cold(&self) -> ColdRecord {
        let preparations = self
            .threads
            .iter()
            .filter_map(|thread| thread.transport.preparation_stats());
        let preparation = preparations.reduce(PreparationStats::and);
        ColdRecord {
            first_post_nanos: self.threads.first().and_then(|thread| thread.first_post.nanos()),
            prepared_requests: preparation.map(|preparation| preparation.requests),
            preparation_nanos: preparation.map(|preparation| preparation.nanos),
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
