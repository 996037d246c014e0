//! Workload of the Transfer Engine Benchmark scenario.

pub(crate) mod spec;

use super::{Extent, TransferMode, TransferWorkload, Workload};
use crate::v1alpha1::{MemoryKind, SegmentTransfer, SegmentWorkload, TransferOperation};

impl SegmentTransfer {
    /// Returns the workload with the measured extent `measured`.
    pub fn workload(&self, measured: Extent) -> Workload {
        let (operation, read_back) = match self.workload {
            SegmentWorkload::Read => (TransferOperation::Read, false),
            SegmentWorkload::Write => (TransferOperation::Write, false),
            SegmentWorkload::Mix => (TransferOperation::Write, true),
        };
        let requests_per_batch = if read_back { 2 * self.batch } else { self.batch };
        Workload::Transfer(TransferWorkload {
            // The window is one batch, so the next batch starts when the previous one is complete.
            batch: self.batch,
            threads: self.threads,
            mode: TransferMode::Segments {
                read_back,
                second_memory: self.use_vram.then_some(MemoryKind::Cuda),
            },
            warmup: Extent::Iterations(self.warmup_batches.saturating_mul(requests_per_batch)),
            ..TransferWorkload::new(operation, self.batch, measured)
        })
    }
}
