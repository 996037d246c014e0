//! Synchronizes the threads of one side within a case. Uses only atomics, so that threads can continue to serve their
//! peers while they wait.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use crds::record::FailureReason;

/// Progress of one side's threads through the steps of a case.
#[derive(Debug)]
pub struct Gate {
    threads: u32,
    warm: AtomicU32,
    active: AtomicU32,
    measured: AtomicU32,
    done: AtomicU32,
    window: AtomicBool,
    end: AtomicBool,
    failure: OnceLock<FailureReason>,
}

impl Gate {
    /// Creates a gate for `threads` threads.
    pub fn new(threads: u32) -> Self {
        Self {
            threads,
            warm: AtomicU32::new(0),
            active: AtomicU32::new(0),
            measured: AtomicU32::new(0),
            done: AtomicU32::new(0),
            window: AtomicBool::new(false),
            end: AtomicBool::new(false),
            failure: OnceLock::new(),
        }
    }

    /// Records that the warm-up of the calling thread has drained.
    pub fn mark_warm(&self) {
        self.warm.fetch_add(1, Ordering::AcqRel);
    }

    /// Whether the warm-up of all threads has drained.
    pub fn all_warm(&self) -> bool {
        self.warm.load(Ordering::Acquire) == self.threads
    }

    /// Opens the measured window for all threads.
    pub fn open_window(&self) {
        self.window.store(true, Ordering::Release);
    }

    /// Whether the measured window is open.
    #[inline]
    pub fn window_is_open(&self) -> bool {
        self.window.load(Ordering::Acquire)
    }

    /// Records that transfers of the calling thread have completed, and that it continues to post.
    pub fn mark_active(&self) {
        self.active.fetch_add(1, Ordering::AcqRel);
    }

    /// Whether transfers of all threads have completed.
    #[inline]
    pub fn all_active(&self) -> bool {
        self.active.load(Ordering::Acquire) == self.threads
    }

    /// Records that the window of the calling thread has closed, and that it continues to post.
    pub fn mark_measured(&self) {
        self.measured.fetch_add(1, Ordering::AcqRel);
    }

    /// Whether the windows of all threads have closed.
    #[inline]
    pub fn all_measured(&self) -> bool {
        self.measured.load(Ordering::Acquire) == self.threads
    }

    /// Records that the calling thread has posted and drained all its operations.
    pub fn mark_done(&self) {
        self.done.fetch_add(1, Ordering::AcqRel);
    }

    /// Whether all threads have posted and drained all their operations.
    pub fn all_done(&self) -> bool {
        self.done.load(Ordering::Acquire) == self.threads
    }

    /// Ends the case for all threads.
    pub fn end(&self) {
        self.end.store(true, Ordering::Release);
    }

    /// Whether the case has ended.
    #[inline]
    pub fn has_ended(&self) -> bool {
        self.end.load(Ordering::Acquire)
    }

    /// Records that the calling thread is abandoning the case for `reason`. Returns the reason of the first thread that
    /// abandoned it.
    pub fn fail(&self, reason: FailureReason) -> FailureReason {
        *self.failure.get_or_init(|| reason)
    }

    /// Whether any thread has abandoned the case.
    #[inline]
    pub fn has_failed(&self) -> bool {
        self.failure.get().is_some()
    }
}
