//! The memory of an instrument process: one buffer per layout and thread. All arms share the buffers, so that the arms
//! differ only in how they post. This module allocates memory, but never during a measured window.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crds::assignment::{Assignment, ScenarioAssignment};
use crds::v1alpha1::{Devices, MemoryKind};

use super::layout::{self, Layout};
use crate::memory::{Memory, MemoryError, gpu_count};
use crate::transport::{Region, Transport, TransportError};

/// Result of allocating a buffer.
type Buffer = Result<Arc<Memory>, MemoryError>;

/// The memory of an instrument process.
#[derive(Debug)]
pub struct Buffers {
    layouts: Vec<(MemoryKind, Layout)>,
    /// For each thread of a flow, the kinds that it does not use. Such memory is not allocated.
    unused: Vec<BTreeSet<usize>>,
    devices: Devices,
    threads: usize,
    /// Allocated buffers, by layout index and thread index.
    allocated: BTreeMap<(usize, usize), Buffer>,
}

impl Buffers {
    /// Computes the layouts that the scenarios of `assignment` need on worker `rank`. Does not allocate buffers.
    pub fn new(assignment: &Assignment, rank: u32) -> Self {
        let kinds = [
            MemoryKind::Heap,
            MemoryKind::HugePages,
            MemoryKind::SharedMemory,
            MemoryKind::Cuda,
        ];
        let layouts = kinds.into_iter().flat_map(|kind| {
            let of_kind = Layout::of_kind(assignment, kind).into_iter();
            of_kind.map(move |layout| (kind, layout))
        });
        let layouts: Vec<(MemoryKind, Layout)> = layouts.collect();
        let unused_by = |thread: u32| {
            let numbered = layouts.iter().enumerate();
            let unused = numbered.filter(|(_, (kind, _))| {
                let mut scenarios = assignment.scenarios.iter();
                !scenarios.any(|scenario| scenario.uses_on_thread(*kind, thread))
            });
            unused.map(|(index, _)| index).collect()
        };
        Self {
            unused: (0..layout::max_threads(assignment)).map(unused_by).collect(),
            layouts,
            devices: devices(assignment),
            threads: layout::thread_count(assignment, rank) as usize,
            allocated: BTreeMap::new(),
        }
    }

    /// Layouts of the memory kinds that the assignment uses. A kind has several layouts if some scenarios need much more
    /// memory than others. Both sides of a pair have the same layouts in the same order.
    pub fn layouts(&self) -> &[(MemoryKind, Layout)] {
        &self.layouts
    }

    /// Number of threads that use the buffers.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Whether a scenario uses memory of `kind`, an index into [`Buffers::layouts`], on `thread`.
    pub(super) fn is_used(&self, kind: usize, thread: usize) -> bool {
        let in_flow = thread.checked_rem(self.unused.len());
        in_flow.is_none_or(|thread| !self.unused[thread].contains(&kind))
    }

    /// Size in bytes of the buffers of `kind`, an index into [`Buffers::layouts`].
    fn bytes(&self, kind: usize) -> usize {
        usize::try_from(self.layouts[kind].1.total_bytes()).unwrap_or(usize::MAX)
    }

    /// Makes the library of `transport` allocate memory of `kind`, an index into [`Buffers::layouts`], on the calling
    /// thread. Such memory belongs to one transport, so arms do not share it.
    ///
    /// # Errors
    /// Returns an error if the library cannot allocate memory, or the memory is not on the required NUMA node: the node
    /// in the assignment's `devices` if it is set, otherwise `node`.
    pub(super) fn allocate_with<T: Transport>(
        &self,
        transport: &mut T,
        kind: usize,
        node: Option<u32>,
    ) -> Result<T::Region, TransportError> {
        let region = transport.allocate(self.bytes(kind))?;
        check_node(region.memory(), &self.devices, node)?;
        Ok(region)
    }

    /// PCI address of the GPU whose memory `thread` uses; `None` if it uses no GPU memory, or the memory cannot be
    /// allocated. Allocates the memory if necessary. Any thread may do so, because the location of GPU memory does not
    /// depend on the calling thread.
    pub fn gpu_pci_address(&mut self, thread: usize) -> Option<String> {
        let kind = self
            .layouts
            .iter()
            .position(|(kind, _)| *kind == MemoryKind::Cuda)
            .filter(|kind| self.is_used(*kind, thread))?;
        let memory = self.get(kind, thread, None).ok()?;
        memory.pci().map(str::to_owned)
    }

    /// Returns the memory of `kind`, an index into [`Buffers::layouts`], for `thread`. The first call allocates the
    /// memory and touches its pages on the calling thread.
    ///
    /// # Errors
    /// Returns an error if memory of this kind cannot be allocated or does not fit in the available memory, or host memory
    /// is not on the required NUMA node: the node in the assignment's `devices` if it is set, otherwise `node`.
    pub fn get(&mut self, kind: usize, thread: usize, node: Option<u32>) -> Buffer {
        let (memory_kind, _) = self.layouts[kind];
        let bytes = self.bytes(kind);
        let buffer = self
            .allocated
            .entry((kind, thread))
            .or_insert_with(|| match memory_kind {
                MemoryKind::Cuda => Memory::allocate_on_gpu(self.devices.gpu(thread), bytes),
                MemoryKind::Heap | MemoryKind::HugePages | MemoryKind::SharedMemory => {
                    let memory = Memory::allocate(memory_kind, bytes)?;
                    check_node(&memory, &self.devices, node).map(|()| memory)
                }
            });
        buffer.clone()
    }
}

/// The devices in `assignment`. If it names no GPUs, segments in GPU memory use all GPUs that the driver offers. If the
/// driver fails, they use GPU 0, whose allocation then fails with the cause.
fn devices(assignment: &Assignment) -> Devices {
    let mut devices = assignment.devices.clone();
    let mut scenarios = assignment.scenarios.iter();
    if devices.gpus.is_empty() && scenarios.any(ScenarioAssignment::has_segments_on_gpus) {
        devices.gpus = (0..gpu_count().unwrap_or(0)).collect();
    }
    devices
}

/// Checks that host memory is on the NUMA node in `devices` if it is set, and otherwise on `node`, the node of the
/// memory's thread.
///
/// # Errors
/// Returns an error if the kernel reports pages on another node.
fn check_node(memory: &Memory, devices: &Devices, node: Option<u32>) -> Result<(), MemoryError> {
    let requested = match (devices.numa_node, node) {
        (Some(node), _) => Some((node, "spec.devices.numaNode")),
        (None, Some(node)) => Some((node, "the node assigned to this thread of the segment")),
        (None, None) => return Ok(()),
    };
    match node_problem(memory.numa_nodes(), requested) {
        None => Ok(()),
        Some(message) => Err(MemoryError::Unavailable {
            kind: memory.kind(),
            bytes: memory.length(),
            message,
        }),
    }
}

/// Describes pages that are on a NUMA node other than `requested`, which consists of a node and the origin of the
/// request. `nodes` contains the nodes that hold the pages. An empty set means that the nodes are unknown, which is not
/// an error: the record then omits the position.
///
/// The allocating thread runs on a CPU of the requested node, but the kernel uses other nodes if that node has no free
/// memory. Huge pages can only be taken from nodes on which they have been reserved.
fn node_problem(nodes: &BTreeSet<u32>, requested: Option<(u32, &str)>) -> Option<String> {
    let (requested, by) = requested?;
    let others: Vec<String> = nodes
        .iter()
        .filter(|node| **node != requested)
        .map(u32::to_string)
        .collect();
    (!others.is_empty()).then(|| {
        format!(
            "the kernel placed pages on NUMA node {}, but {by} is {requested}: free memory or reserve huge \
             pages on node {requested}, or choose another NUMA node",
            others.join(" and ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_on_another_node_are_a_problem_only_if_a_node_is_requested() {
        let problem = |nodes: &[u32], requested: Option<u32>| {
            node_problem(
                &nodes.iter().copied().collect(),
                requested.map(|node| (node, "spec.devices.numaNode")),
            )
        };
        assert_eq!(problem(&[0, 1], None), None);
        assert_eq!(problem(&[1], Some(1)), None);
        assert_eq!(problem(&[], Some(1)), None);
        for nodes in [&[0][..], &[0, 1]] {
            let message = problem(nodes, Some(1)).unwrap();
            assert!(
                message.starts_with("the kernel placed pages on NUMA node 0, but spec.devices.numaNode is 1"),
                "{message}"
            );
        }
    }
}
