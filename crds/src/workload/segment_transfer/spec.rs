//! The Transfer Engine Benchmark scenario, with the names and defaults of the benchmark. The planner turns it into a
//! transfer.

use std::borrow::Cow;
use std::time;

use serde::{Deserialize, Serialize};

use crate::units::{Duration, Size};
use crate::v1alpha1::{RateFormat, RateUnit, SpecWorkload};

/// Minimum number of threads of a segment with DRAM and VRAM: one for each.
pub const MIN_VRAM_THREADS: u32 = 2;

/// Batches of reads or writes by several threads between the segments of two workers. A segment consists of memory on
/// every NUMA node, and each thread uses the CPUs and the memory of one node. A thread starts its next batch when all
/// requests of the previous one are complete.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct SegmentTransfer {
    /// Operations that the requests perform. Defaults to Read.
    pub workload: SegmentWorkload,
    /// Request sizes, such as 4Ki or 16Mi. Defaults to 64Ki.
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 64)))]
    pub sizes: Vec<Size>,
    /// Number of requests in a batch, all in flight together. Defaults to 16.
    #[cfg_attr(feature = "crd", schemars(range(min = 1, max = 256)))]
    pub batch: u32,
    /// Number of threads, each with its own endpoints and memory. Thread t uses NUMA node t modulo the number of nodes
    /// whose CPUs the worker may use. The threads of all scenarios of the run are bound in this way, because all
    /// scenarios share them. Defaults to 4.
    #[cfg_attr(feature = "crd", schemars(range(min = 1, max = 64)))]
    pub threads: u32,
    /// Whether the segment also has memory on GPUs: on all GPUs of the worker, or on those in spec.devices.gpus. The last
    /// half of the threads, rounded down, then uses GPU memory on both sides, and the others the scenario's memory, which
    /// must be Heap or SharedMemory. Requires at least 2 threads. Defaults to false.
    pub use_vram: bool,
    /// Duration of the measurement in each case. Must not be shorter than sampling.minWindow. Defaults to 10s.
    pub duration: Duration,
    /// Number of warm-up batches per thread before the measurement. The first one is timed separately. Defaults to 10.
    #[cfg_attr(feature = "crd", schemars(range(min = 1, max = 3000)))]
    pub warmup_batches: u32,
    /// Unit in which human-readable reports show the throughput of this scenario. The status, the metrics and the other
    /// report formats use bytes per second. Defaults to GB (10^9 bytes per second).
    pub report_unit: RateUnit,
    /// Number of decimal places of the throughput in reportUnit. Defaults to 2.
    #[cfg_attr(feature = "crd", schemars(range(max = 9)))]
    pub report_precision: u32,
}

/// Operations that the requests in a batch perform.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
pub enum SegmentWorkload {
    /// Reads from the target's segment.
    #[default]
    Read,
    /// Writes to the target's segment.
    Write,
    /// A batch of writes, then a batch of reads of the same target memory, and so on.
    Mix,
}

impl Default for SegmentTransfer {
    fn default() -> Self {
        Self {
            workload: SegmentWorkload::Read,
            sizes: vec![Size(64 << 10)],
            batch: 16,
            threads: 4,
            use_vram: false,
            duration: Duration(time::Duration::from_secs(10)),
            warmup_batches: 10,
            report_unit: RateUnit::GB,
            report_precision: 2,
        }
    }
}

impl SegmentTransfer {
    /// Format of the throughput in reports.
    pub fn format(&self) -> RateFormat {
        RateFormat {
            unit: self.report_unit,
            precision: self.report_precision,
        }
    }
}

impl SpecWorkload for SegmentTransfer {
    fn sizes(&self) -> Cow<'_, [Size]> {
        Cow::Borrowed(&self.sizes)
    }

    fn rate_format(&self) -> Option<RateFormat> {
        Some(self.format())
    }
}
