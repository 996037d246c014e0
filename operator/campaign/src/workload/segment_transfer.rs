//! Validation of transfers between segments, which are executed as transfers.

use crds::assignment::Workload;
use crds::v1alpha1::{MIN_VRAM_THREADS, MemoryKind, SegmentTransfer};

use super::{Context, GivenWorkload};

impl GivenWorkload for SegmentTransfer {
    fn workload(&self, context: &mut Context<'_>) -> Workload {
        check_vram(self, context);
        let measured = context.measured(None, Some(self.duration));
        SegmentTransfer::workload(self, measured)
    }
}

/// Checks that a segment with GPU memory also has host memory and threads for both, on both sides.
fn check_vram(given: &SegmentTransfer, context: &mut Context<'_>) {
    if !given.use_vram {
        return;
    }
    let memory = context.scenario.memory;
    let target = context.scenario.target_memory.unwrap_or(memory);
    let is_host = matches!(memory, MemoryKind::Heap | MemoryKind::SharedMemory);
    if !is_host || target != memory || given.threads < MIN_VRAM_THREADS {
        context.add(
            "useVram",
            "a segment with DRAM and VRAM needs at least 2 threads, and `memory: Heap` or `SharedMemory` \
             on both sides. Set `threads` or `memory`, remove `targetMemory`, or use `memory: Cuda` \
             without `useVram` for a segment that has only GPU memory",
        );
    }
}
