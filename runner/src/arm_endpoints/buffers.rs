//! The memory of an instrument process: one buffer per memory kind and thread. All arms share the buffers, so that the
//! arms differ only in how they post. Allocates memory, but never during a measured window.

use std::collections::BTreeMap;
use std::sync::Arc;

use crds::assignment::Assignment;
use crds::v1alpha1::{Devices, MemoryKind};

use super::layout::Layout;
use crate::memory::{Memory, MemoryError};

/// Result of allocating a buffer.
type Buffer = Result<Arc<Memory>, MemoryError>;

/// The memory of an instrument process.
#[derive(Debug)]
pub struct Buffers {
    layouts: Vec<(MemoryKind, Layout)>,
    devices: Devices,
    /// Allocated buffers, by the indexes of the memory kind and the thread.
    allocated: BTreeMap<(usize, usize), Buffer>,
}

impl Buffers {
    /// Computes the layouts that the scenarios of `assignment` need. Does not allocate buffers.
    pub fn new(assignment: &Assignment) -> Self {
        let kinds = [
            MemoryKind::Heap,
            MemoryKind::HugePages,
            MemoryKind::SharedMemory,
            MemoryKind::Cuda,
        ];
        let layouts = kinds.map(|kind| Layout::new(assignment, kind).map(|layout| (kind, layout)));
        Self {
            layouts: layouts.into_iter().flatten().collect(),
            devices: assignment.devices.clone(),
            allocated: BTreeMap::new(),
        }
    }

    /// Memory kinds that the assignment uses, with their layouts. Both sides of a pair have the same layouts in the
    /// same order.
    pub fn layouts(&self) -> &[(MemoryKind, Layout)] {
        &self.layouts
    }

    /// PCI address of the GPU whose memory `thread` uses; `None` without GPU memory, or if it cannot be allocated.
    /// Allocates the GPU memory of the thread, whose location does not depend on the calling thread.
    pub fn gpu(&mut self, thread: usize) -> Option<String> {
        let kind = self
            .layouts
            .iter()
            .position(|(kind, _)| *kind == MemoryKind::Cuda)?;
        let memory = self.get(kind, thread).ok()?;
        memory.pci().map(str::to_owned)
    }

    /// Returns the memory of `kind`, an index into [`Buffers::layouts`], for `thread`. The first call allocates the
    /// memory and touches its pages on the calling thread.
    ///
    /// # Errors
    /// If memory of this kind cannot be allocated.
    pub fn get(&mut self, kind: usize, thread: usize) -> Buffer {
        let (memory_kind, layout) = self.layouts[kind];
        let buffer = self.allocated.entry((kind, thread)).or_insert_with(|| {
            let bytes = usize::try_from(layout.total_bytes()).unwrap_or(usize::MAX);
            match memory_kind {
                MemoryKind::Cuda => Memory::allocate_on_gpu(self.devices.gpu(thread), bytes),
                MemoryKind::Heap | MemoryKind::HugePages | MemoryKind::SharedMemory => {
                    Memory::allocate(memory_kind, bytes)
                }
            }
        });
        buffer.clone()
    }
}
