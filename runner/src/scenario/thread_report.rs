//! What one thread measured in a case.

use crds::record::{CommandReport, FootprintReport, OpenLoopReport, PostingCounters, SideReport};

use super::observed::ThreadObservations;
use super::parameter_serving::WorkerMeasurement;
use crate::measure::recorder::Recorder;

/// Measurement of one thread during the window.
#[derive(Debug)]
pub struct ThreadMeasurement {
    /// Number of completed round trips or transfers.
    pub operations: u64,
    /// Time of the first post, in nanoseconds, as returned by `clock::now`.
    pub first_post: u64,
    /// Time at which the last operation completed, in nanoseconds, as returned by `clock::now`.
    pub last_completion: u64,
    /// Latency samples.
    pub recorder: Recorder,
    /// Start times of the operations in an open loop; `None` in a closed loop.
    pub open_loop: Option<OpenLoopReport>,
    /// Measurement of a worker in parameter serving; `None` for other threads.
    pub serving: Option<Box<WorkerMeasurement>>,
    /// Values that are measured only for calls; `None` for other workloads.
    pub calls: Option<CallMeasurement>,
    /// Memory of the host and the consumers of a tensor; `None` for other workloads.
    pub footprint: Option<FootprintReport>,
    /// Values that a command reported; `None` for other workloads.
    pub command: Option<CommandReport>,
    /// Window in which all flows, or both directions of a bidirectional transfer, are active, and to which the latency
    /// samples belong; `None` if the case has no such window.
    pub window: Option<ThreadWindow>,
    /// Other observations of this thread. `recorder` does not contain the latencies of reads that follow writes.
    pub observed: ThreadObservations,
}

impl ThreadMeasurement {
    /// Creates the measurement of `operations` operations, without the values that are measured only for some
    /// workloads.
    pub fn new(operations: u64, first_post: u64, last_completion: u64, recorder: Recorder) -> Self {
        Self {
            operations,
            first_post,
            last_completion,
            recorder,
            open_loop: None,
            serving: None,
            calls: None,
            footprint: None,
            command: None,
            window: None,
            observed: ThreadObservations::default(),
        }
    }
}

/// Values that are measured only for calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallMeasurement {
    /// CPU time of the extension during the calls, in nanoseconds; 0 if there is no extension.
    pub extension_cpu_nanos: u64,
    /// Memory of host and extension after the warm-up, in bytes; `None` if it is unknown.
    pub memory_before_bytes: Option<u64>,
    /// Memory of host and extension after the window, in bytes; `None` if it is unknown.
    pub memory_after_bytes: Option<u64>,
}

/// Report of one thread in a measured case.
#[derive(Debug)]
pub struct ThreadReport {
    /// Measurement and posting counters; `None` if this side does not post.
    pub measurement: Option<(ThreadMeasurement, PostingCounters)>,
    /// Whether the thread ran on a CPU other than the one that it is pinned to.
    pub migrated: bool,
    /// Resource usage of the process. Only thread 0 reports it.
    pub side: Option<SideReport>,
}

/// Window of one thread in which all flows, or both directions, are active.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadWindow {
    /// Time of the completion at which the window opened, in nanoseconds, as returned by `clock::now`.
    pub opened: u64,
    /// Time of the completion at which the window closed, in nanoseconds, as returned by `clock::now`.
    pub closed: u64,
    /// Number of transfers that completed in the window.
    pub operations: u64,
}

impl ThreadWindow {
    /// Length of the window in nanoseconds.
    pub fn length_nanos(&self) -> u64 {
        self.closed.saturating_sub(self.opened)
    }
}
