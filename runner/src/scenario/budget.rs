//! Operations or time that remain in a warm-up or a window.

use crds::assignment::Extent;

/// Operations or time that remain in a warm-up or a window.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    /// Number of operations that may still be started.
    left: u64,
    /// Time after which no operation may be started, in nanoseconds, as returned by `clock::now`.
    end: u64,
}

impl Budget {
    /// Creates the budget for `extent`, starting at `now`. A case has the extent [`Extent::FillWindow`] only if no
    /// pilot has determined its number of operations. Its budget is then the minimum number of operations.
    pub(super) fn new(extent: Extent, now: u64) -> Self {
        match extent {
            Extent::Iterations(count)
            | Extent::FillWindow {
                min_iterations: count,
                ..
            } => Self {
                left: u64::from(count),
                end: u64::MAX,
            },
            Extent::DurationNanos(nanos) => Self {
                left: u64::MAX,
                end: now.saturating_add(nanos),
            },
        }
    }

    /// Number of operations that may be started at time `now`, at most `wanted`.
    #[inline]
    pub(super) fn available(&self, wanted: u32, now: u64) -> u32 {
        if now >= self.end {
            return 0;
        }
        u64::from(wanted).min(self.left) as u32
    }

    /// Subtracts `count` started operations from the budget.
    #[inline]
    pub(super) fn spend(&mut self, count: u32) {
        self.left -= u64::from(count);
    }
}
