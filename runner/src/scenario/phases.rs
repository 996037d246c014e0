//! Phases of this worker's flows, which are measured concurrently with other workers' flows. The measuring threads and
//! the thread that communicates with the coordinator share this state; a measuring thread accesses only atomics, except
//! when it enters a phase.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};

use rustix::event::{EventfdFlags, eventfd};

use crate::rendezvous::message::{FlowCommand, FlowPhase};

/// The flows may post.
const START: u8 = 1;
/// The flows' windows may open.
const MEASURE: u8 = 2;
/// The flows must not post any more transfers.
const FINISH: u8 = 3;

/// Phases of this worker's flows in one case.
#[derive(Debug)]
pub struct Phases {
    /// Number of threads that post.
    posters: u32,
    /// Number of threads, including those that do not post.
    threads: u32,
    command: AtomicU8,
    ready: AtomicU32,
    active: AtomicU32,
    measured: AtomicU32,
    ended: AtomicU32,
    failed: AtomicBool,
    /// Becomes readable when a thread enters a phase.
    wake: OwnedFd,
}

impl Phases {
    /// Creates the phases for `threads` threads. The first `posters` threads post; the others do not.
    ///
    /// # Errors
    /// Returns an error if the system cannot create an event file descriptor.
    pub fn new(posters: u32, threads: u32) -> io::Result<Self> {
        Ok(Self {
            posters,
            threads,
            command: AtomicU8::new(0),
            ready: AtomicU32::new(0),
            active: AtomicU32::new(0),
            measured: AtomicU32::new(0),
            ended: AtomicU32::new(0),
            failed: AtomicBool::new(false),
            wake: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
        })
    }

    /// Records that the calling thread is ready to post.
    pub fn mark_ready(&self) {
        self.ready.fetch_add(1, Ordering::AcqRel);
        self.wake();
    }

    /// Records that transfers of the calling thread have completed, and that it continues to post.
    pub fn mark_active(&self) {
        self.active.fetch_add(1, Ordering::AcqRel);
        self.wake();
    }

    /// Records that the window of the calling thread has closed, and that it continues to post.
    pub fn mark_measured(&self) {
        self.measured.fetch_add(1, Ordering::AcqRel);
        self.wake();
    }

    /// Records that the calling thread has ended, and whether it failed.
    pub fn mark_ended(&self, failed: bool) {
        if failed {
            self.failed.store(true, Ordering::Release);
        }
        self.ended.fetch_add(1, Ordering::AcqRel);
        self.wake();
    }

    /// Whether the threads may post.
    #[inline]
    pub fn may_start(&self) -> bool {
        self.command.load(Ordering::Acquire) >= START
    }

    /// Whether the windows may open.
    #[inline]
    pub fn may_measure(&self) -> bool {
        self.command.load(Ordering::Acquire) >= MEASURE
    }

    /// Whether the threads must not post any more transfers.
    #[inline]
    pub fn must_finish(&self) -> bool {
        self.command.load(Ordering::Acquire) >= FINISH
    }

    /// Whether all threads have ended.
    pub fn all_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire) == self.threads
    }

    /// Applies a command from the coordinator. [`FlowCommand::Abandon`] has no effect here: it must be applied to the
    /// flows' gates.
    pub fn apply(&self, command: FlowCommand) {
        let value = match command {
            FlowCommand::Start => START,
            FlowCommand::Measure => MEASURE,
            FlowCommand::Finish => FINISH,
            FlowCommand::Abandon => return,
        };
        self.command.fetch_max(value, Ordering::AcqRel);
    }

    /// Latest phase that all posting threads have reached, or [`FlowPhase::Failed`] if any thread has failed; `None` if
    /// not all posting threads are ready.
    pub fn reached_phase(&self) -> Option<FlowPhase> {
        let all_posters = |arrived: &AtomicU32| arrived.load(Ordering::Acquire) == self.posters;
        if self.failed.load(Ordering::Acquire) {
            Some(FlowPhase::Failed)
        } else if self.may_measure() && all_posters(&self.measured) {
            Some(FlowPhase::Measured)
        } else if self.may_start() && all_posters(&self.active) {
            Some(FlowPhase::Active)
        } else {
            all_posters(&self.ready).then_some(FlowPhase::Ready)
        }
    }

    /// File descriptor that is readable after a thread has entered a phase.
    pub fn wake_fd(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }

    /// Makes [`Phases::wake_fd`] unreadable until a thread enters another phase.
    pub fn clear_wake(&self) {
        // The read fails if no thread has entered a phase.
        let _ = rustix::io::read(&self.wake, &mut [0_u8; 8]);
    }

    fn wake(&self) {
        // The write fails only if the counter would overflow. The descriptor is then already readable.
        let _ = rustix::io::write(&self.wake, &1_u64.to_ne_bytes());
    }
}

/// Guard that records the end of a thread, even when the thread panics.
pub struct ThreadEndGuard<'a> {
    phases: Option<&'a Phases>,
    failed: bool,
}

impl<'a> ThreadEndGuard<'a> {
    /// Creates the guard of a thread that fails unless [`ThreadEndGuard::set_failed`] is called.
    pub fn new(phases: Option<&'a Phases>) -> Self {
        Self { phases, failed: true }
    }

    /// Sets whether the thread failed.
    pub fn set_failed(&mut self, failed: bool) {
        self.failed = failed;
    }
}

impl Drop for ThreadEndGuard<'_> {
    fn drop(&mut self) {
        if let Some(phases) = self.phases {
            phases.mark_ended(self.failed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_is_reached_when_the_last_thread_enters_it() {
        let phases = Phases::new(2, 2).unwrap();
        assert_eq!(phases.reached_phase(), None);
        phases.mark_ready();
        assert_eq!(phases.reached_phase(), None);
        phases.mark_ready();
        assert_eq!(phases.reached_phase(), Some(FlowPhase::Ready));
        assert!(!phases.may_start());
        phases.apply(FlowCommand::Start);
        phases.mark_active();
        assert_eq!(phases.reached_phase(), Some(FlowPhase::Ready));
        phases.mark_active();
        assert_eq!(phases.reached_phase(), Some(FlowPhase::Active));
        assert!(!phases.may_measure());
        phases.apply(FlowCommand::Measure);
        phases.mark_measured();
        assert_eq!(phases.reached_phase(), Some(FlowPhase::Active));
        phases.mark_measured();
        assert_eq!(phases.reached_phase(), Some(FlowPhase::Measured));
        assert!(!phases.must_finish());
        phases.apply(FlowCommand::Finish);
        assert!(phases.must_finish() && !phases.all_ended());
        phases.mark_ended(false);
        phases.mark_ended(true);
        assert!(phases.all_ended());
        assert_eq!(phases.reached_phase(), Some(FlowPhase::Failed));
    }

    #[test]
    fn a_worker_that_only_receives_reaches_every_phase_with_its_command() {
        let phases = Phases::new(0, 3).unwrap();
        assert_eq!(phases.reached_phase(), Some(FlowPhase::Ready));
        phases.apply(FlowCommand::Start);
        assert_eq!(phases.reached_phase(), Some(FlowPhase::Active));
        phases.apply(FlowCommand::Measure);
        assert_eq!(phases.reached_phase(), Some(FlowPhase::Measured));
    }

    #[test]
    fn every_phase_wakes_the_waiting_thread() {
        let phases = Phases::new(1, 1).unwrap();
        let readable =
            || crate::frame::wait_until_readable(&phases.wake_fd(), std::time::Instant::now()).unwrap();
        assert!(!readable());
        phases.mark_active();
        assert!(readable());
        phases.clear_wake();
        assert!(!readable());
    }
}
