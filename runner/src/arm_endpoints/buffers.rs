//! The memory of an instrument process: one buffer per memory kind and thread, shared by all arms so that arms differ
//! only in how they post. Allocates memory, but never during a measured window.

use std::collections::BTreeMap;
use std::sync::Arc;

use crds::assignment::Assignment;
use crds::v1alpha1::MemoryKind;

use super::layout::Layout;
use crate::memory::{Memory, MemoryError};

/// A buffer, or the reason its allocation failed.
type Buffer = Result<Arc<Memory>, MemoryError>;

/// The memory of an instrument process.
#[derive(Debug)]
pub struct Buffers {
    layouts: Vec<(MemoryKind, Layout)>,
    /// By index of the kind and number of the thread.
    allocated: BTreeMap<(usize, usize), Buffer>,
}

impl Buffers {
    /// Prepares the layouts that the scenarios of `assignment` need. Allocates nothing yet.
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
            allocated: BTreeMap::new(),
        }
    }

    /// Memory kinds that the assignment uses, with their layouts; equal and in the same order at both sides of a pair.
    pub fn layouts(&self) -> &[(MemoryKind, Layout)] {
        &self.layouts
    }

    /// The memory of `kind` (an index into [`Buffers::layouts`]) for `thread`. The first call allocates it, and the
    /// calling thread touches its pages.
    ///
    /// # Errors
    /// If memory of this kind cannot be allocated.
    pub fn get(&mut self, kind: usize, thread: usize) -> Buffer {
        let (memory_kind, layout) = self.layouts[kind];
        let buffer = self.allocated.entry((kind, thread)).or_insert_with(|| {
            let bytes = usize::try_from(layout.total_bytes()).unwrap_or(usize::MAX);
            Memory::allocate(memory_kind, bytes)
        });
        buffer.clone()
    }
}
