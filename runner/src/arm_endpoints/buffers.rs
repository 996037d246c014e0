//! The memory of an instrument process: one piece of each kind for each thread, shared by all arms, so that arms
//! differ in nothing but their posting. Allocates; only before measured windows.

use std::collections::BTreeMap;
use std::sync::Arc;

use crds::assignment::Assignment;
use crds::v1alpha1::MemoryKind;

use super::layout::Layout;
use crate::memory::{Memory, MemoryError};

/// A piece of memory, or why there is none.
type Piece = Result<Arc<Memory>, MemoryError>;

/// Memory of an instrument process.
#[derive(Debug)]
pub struct Buffers {
    layouts: Vec<(MemoryKind, Layout)>,
    /// By index of the kind and number of the thread.
    pieces: BTreeMap<(usize, usize), Piece>,
}

impl Buffers {
    /// Memory that the scenarios of `assignment` need; nothing is allocated yet.
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
            pieces: BTreeMap::new(),
        }
    }

    /// Kinds of memory that are needed, and their layout; both sides of a pair have the same, in the same order.
    pub fn layouts(&self) -> &[(MemoryKind, Layout)] {
        &self.layouts
    }

    /// Memory of kind `kind` (an index of [`Buffers::layouts`]) for `thread`; allocated, and its pages touched by the
    /// calling thread, at the first call.
    ///
    /// # Errors
    /// When memory of this kind cannot be had.
    pub fn get(&mut self, kind: usize, thread: usize) -> Piece {
        let (memory_kind, layout) = self.layouts[kind];
        let piece = self.pieces.entry((kind, thread)).or_insert_with(|| {
            let bytes = usize::try_from(layout.total_bytes()).unwrap_or(usize::MAX);
            Memory::allocate(memory_kind, bytes)
        });
        piece.clone()
    }
}
