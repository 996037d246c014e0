//! Completions that were read from a completion queue in one call.

use rdma_sys::ibv_wc;

/// Maximum number of completions that are read in one call.
pub(super) const BATCH: usize = 16;

/// The most recently read completions.
pub(super) struct Batch {
    pub completions: [ibv_wc; BATCH],
    /// Number of completions (0 or 1) that were read before the thread slept and that no poll has handled yet.
    pub waiting: usize,
    /// Whether the last poll had no space for some completed sends.
    pub unreported: bool,
}

impl Default for Batch {
    fn default() -> Self {
        Self {
            // SAFETY: all fields are integers and unions of integers, for which zero is valid.
            completions: unsafe { std::mem::zeroed() },
            waiting: 0,
            unreported: false,
        }
    }
}
