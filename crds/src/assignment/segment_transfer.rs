//! Workload of the Transfer Engine Benchmark scenario.

use super::{Extent, TransferWorkload, Workload};
use crate::v1alpha1::{Direction, SegmentTransfer, SegmentWorkload, TransferBuffers, TransferOperation};

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
            operation,
            // The window is one batch, so the next batch starts when the previous one is complete.
            window: self.batch,
            batch: self.batch,
            threads: self.threads,
            direction: Direction::Unidirectional,
            buffers: TransferBuffers::Separate,
            open_loop: None,
            flush: false,
            ping: false,
            read_back,
            segments: true,
            measured,
            warmup: Extent::Iterations(self.warmup_batches.saturating_mul(requests_per_batch)),
        })
    }
}
