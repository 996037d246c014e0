//! Allocates and registers the memory of one measuring thread.

use std::sync::Arc;

use crds::record::CaseFailure;
use crds::v1alpha1::TransportSpec;

use super::buffers::Buffers;
use super::kind_facts::KindFacts;
use crate::memory::{Memory, MemoryError};
use crate::topology::Location;
use crate::transport::{Region, Transport, TransportError};

/// The memory of one layout before its registration.
enum Planned {
    /// The thread does not use it.
    Unused,
    /// The library allocates it, after the transport has been opened.
    ByLibrary,
    Allocated(Result<Arc<Memory>, MemoryError>),
}

/// The memory of one thread, in the order of [`Buffers::layouts`].
pub(super) struct ThreadMemory {
    planned: Vec<Planned>,
    /// NUMA node on which host memory must be; `None` if it may be on any node.
    node: Option<u32>,
}

/// Registered memory, or the failure to allocate or register it, in the order of [`Buffers::layouts`]. `None` if the
/// thread does not use the memory.
pub(super) struct RegisteredMemory<R>(Vec<Option<Result<R, CaseFailure>>>);

/// What is recorded about the memory of one thread.
pub(super) struct MemoryReport {
    /// Facts about the registered memory.
    pub(super) facts: Vec<KindFacts>,
    /// For each element of [`Buffers::layouts`], the failure that makes it unusable; `None` if it is usable or unused.
    pub(super) failures: Vec<Option<CaseFailure>>,
    pub(super) registration_nanos: u64,
    pub(super) registered_bytes: u64,
}

impl ThreadMemory {
    /// Allocates the memory of thread `number` that does not come from the library of `transport`.
    pub(super) fn allocate(
        buffers: &mut Buffers,
        transport: &TransportSpec,
        number: usize,
        node: Option<u32>,
    ) -> Self {
        let kinds = 0..buffers.layouts().len();
        let planned = kinds.map(|kind| match buffers.is_used(kind, number) {
            false => Planned::Unused,
            true if transport.allocates_memory() => Planned::ByLibrary,
            true => Planned::Allocated(buffers.get(kind, number, node)),
        });
        Self {
            planned: planned.collect(),
            node,
        }
    }

    /// Location whose nearest NICs are chosen: the GPU memory's location if there is any GPU memory, otherwise the host
    /// memory's location.
    ///
    /// The NUMA node of host memory is used only if the thread is `pinned`. Otherwise, the node may differ between
    /// processes, so arms and rounds might use different devices.
    pub(super) fn location(&self, pinned: bool) -> Option<Location> {
        let mut memory = self.planned.iter().filter_map(|planned| match planned {
            Planned::Allocated(Ok(memory)) => Some(memory),
            _ => None,
        });
        if let Some(gpu) = memory.clone().find_map(|memory| memory.pci()) {
            return Some(Location::Gpu(gpu.to_owned()));
        }
        // Determining the node requires reading the process's memory map, so this is done only if the node is used.
        let node = pinned.then(|| memory.find_map(|memory| memory.numa_node()));
        node.flatten().map(Location::NumaNode)
    }

    /// Registers the memory. The library of `transport` allocates what it must allocate.
    pub(super) fn register<T: Transport>(
        self,
        transport: &mut T,
        buffers: &Buffers,
    ) -> RegisteredMemory<T::Region> {
        let numbered = self.planned.into_iter().enumerate();
        let registered = numbered.map(|(kind, planned)| match planned {
            Planned::Unused => None,
            Planned::ByLibrary => {
                let region = buffers.allocate_with(transport, kind, self.node);
                Some(region.map_err(case_failure))
            }
            Planned::Allocated(Ok(memory)) => Some(transport.register(memory).map_err(case_failure)),
            Planned::Allocated(Err(error)) => Some(Err(CaseFailure {
                reason: error.reason(),
                message: error.to_string(),
            })),
        });
        RegisteredMemory(registered.collect())
    }
}

impl<R: Region> RegisteredMemory<R> {
    /// The regions in the order of [`Buffers::layouts`], and what is recorded about them. The time and the bytes include
    /// the registration of `control_bytes` of memory for control messages.
    pub(super) fn into_regions(
        self,
        registration_nanos: u64,
        control_bytes: u64,
    ) -> (Vec<Option<R>>, MemoryReport) {
        let mut report = MemoryReport {
            facts: Vec::new(),
            failures: Vec::new(),
            registration_nanos,
            registered_bytes: control_bytes,
        };
        let mut regions = Vec::with_capacity(self.0.len());
        for (layout, registered) in self.0.into_iter().enumerate() {
            let (region, failure) = match registered {
                None => (None, None),
                Some(Ok(region)) => (Some(region), None),
                Some(Err(failure)) => (None, Some(failure)),
            };
            if let Some(region) = &region {
                report.registered_bytes += region.memory().length() as u64;
                report.facts.push(KindFacts::new(layout, region));
            }
            regions.push(region);
            report.failures.push(failure);
        }
        (regions, report)
    }
}

pub(super) fn case_failure(error: TransportError) -> CaseFailure {
    CaseFailure {
        reason: error.reason,
        message: error.to_string(),
    }
}
