//! Workloads of the Starway benchmark scenarios.

pub(crate) mod spec;

use super::{Extent, PingPongWorkload, TransferMode, TransferWorkload, Workload};
use crate::v1alpha1::{
    Direction, LargeArray, Load, PingPongOperation, PingpongFlag, SmallMessages, StreamingDuplex,
    TransferOperation,
};

/// A workload whose measured extent is a number of operations.
pub trait CountedWorkload {
    /// Number of measured operations per thread.
    fn iterations(&self) -> u32;

    /// Returns the workload with the measured extent `measured`.
    fn workload(&self, measured: Extent) -> Workload;
}

impl CountedWorkload for LargeArray {
    fn iterations(&self) -> u32 {
        self.iterations
    }

    fn workload(&self, measured: Extent) -> Workload {
        Workload::Transfer(TransferWorkload {
            mode: TransferMode::Flushed,
            warmup: Extent::Iterations(self.warmup),
            ..TransferWorkload::new(TransferOperation::Send, 1, measured)
        })
    }
}

impl CountedWorkload for SmallMessages {
    fn iterations(&self) -> u32 {
        self.batches.saturating_mul(self.concurrency)
    }

    fn workload(&self, measured: Extent) -> Workload {
        Workload::Transfer(TransferWorkload {
            batch: if self.load.is_some() { 1 } else { self.concurrency },
            open_loop: self.load.map(Load::lowest),
            warmup: Extent::Iterations(self.warmup_batches.saturating_mul(self.concurrency)),
            ..TransferWorkload::new(TransferOperation::Send, self.concurrency, measured)
        })
    }
}

impl CountedWorkload for PingpongFlag {
    fn iterations(&self) -> u32 {
        self.iterations
    }

    fn workload(&self, measured: Extent) -> Workload {
        Workload::PingPong(PingPongWorkload {
            operation: PingPongOperation::Send,
            measured,
            warmup: Extent::Iterations(self.warmup),
        })
    }
}

impl CountedWorkload for StreamingDuplex {
    fn iterations(&self) -> u32 {
        self.iterations
    }

    fn workload(&self, measured: Extent) -> Workload {
        Workload::Transfer(TransferWorkload {
            direction: Direction::Bidirectional,
            mode: TransferMode::WithPings,
            warmup: Extent::Iterations(self.warmup),
            ..TransferWorkload::new(TransferOperation::Send, self.window, measured)
        })
    }
}
