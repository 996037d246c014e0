//! The endpoints and memory of one arm on one worker. Each measuring thread has its own endpoints, whereas all arms of
//! the process share the memory.
//!
//! For each flow of the worker, [`ArmEndpoints::open`] opens one transport for each thread of the scenario with the
//! most threads. Each transport is opened on a pinned thread: the main thread if it also measures (see
//! [`layout::uses_main_thread`]), otherwise a new thread. The setup costs are recorded. Two workers exchange addresses
//! with [`ArmEndpoints::offer`] and [`ArmEndpoints::connect`] before `scenario::run_case` runs cases. If one kind of
//! memory cannot be allocated or registered, only the scenarios that use that kind fail.

mod buffers;
mod configuration;
mod connect;
mod cpus;
pub(crate) mod endpoint_thread;
mod facts;
mod kind_facts;
pub mod layout;
mod offer;
mod open;
mod open_thread;
mod position;
pub(crate) mod receives;
mod thread_memory;
pub(crate) mod tokens;

use std::collections::BTreeSet;

use crds::record::{CaseFailure, ColdRecord, FabricFacts, ProtocolUse};
use crds::v1alpha1::{MemoryKind, Polling};

pub use buffers::Buffers;
pub use configuration::{default_polling, open_config};
use endpoint_thread::EndpointThread;
pub use offer::{ArmOffer, RegionOffer, ThreadOffer};

use crate::measure::window::UsageCounters;
use crate::topology::SystemRoots;
use crate::transport::{PreparationStats, Region, Transport};

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

impl<T: Transport> ArmEndpoints<T> {
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
