//! Synchronizes the threads of one side within a case. Uses only atomics, so that threads can continue to serve their
//! peers while they wait.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// Progress of the threads of one side through the steps of a case.
#[derive(Debug)]
pub struct Gate {
    threads: u32,
    warm: AtomicU32,
    done: AtomicU32,
    window: AtomicBool,
    end: AtomicBool,
    failed: AtomicBool,
}

impl Gate {
    /// Creates a gate for `threads` threads.
    pub fn new(threads: u32) -> Self {
        Self {
            threads,
            warm: AtomicU32::new(0),
            done: AtomicU32::new(0),
            window: AtomicBool::new(false),
            end: AtomicBool::new(false),
            failed: AtomicBool::new(false),
        }
    }

    /// Records that the warm-up of the calling thread has drained.
    pub fn arrive_warm(&self) {
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

    /// Records that the calling thread has posted and drained all its operations.
    pub fn arrive_done(&self) {
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
    pub fn ended(&self) -> bool {
        self.end.load(Ordering::Acquire)
    }

    /// Records that the calling thread abandons the case.
    pub fn fail(&self) {
        self.failed.store(true, Ordering::Release);
    }

    /// Whether any thread has abandoned the case.
    #[inline]
    pub fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Acquire)
    }
}
