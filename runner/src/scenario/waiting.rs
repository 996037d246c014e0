//! Waits between two polls without completions, and checks the case's deadline. A thread that spins reads the clock only
//! occasionally, to keep it out of the hot path.

use std::time::Duration;

use crds::v1alpha1::Polling;

use crate::measure::clock;
use crate::measure::deadline::Deadline;
use crate::transport::{Transport, TransportError};

/// Number of polls between two clock readings of a thread that spins. This many polls take well under a millisecond if there
/// are no completions.
const CLOCK_CHECK_INTERVAL: u32 = 1024;
/// Number of polls between two clock readings of a thread that yields the CPU. On a loaded machine, other processes run for
/// up to tens of milliseconds each time, and a deadline that is noticed late makes the worker kill its instrument.
const YIELDS_PER_CLOCK_CHECK: u32 = 16;
/// Maximum sleep time in `Wait` polling mode. It bounds the delay if the library loses a wake-up.
const MAX_SLEEP: Duration = Duration::from_millis(10);
/// Sleep time in `Yield` polling mode while a thread waits until a specific time.
const YIELD_SLEEP: Duration = Duration::from_micros(100);

/// Waits between polls, according to a thread's polling mode and deadline.
#[derive(Debug)]
pub struct IdleWaiter {
    polling: Polling,
    /// Whether a thread that would spin yields the CPU instead.
    yields: bool,
    deadline: Deadline,
    /// Number of calls of [`IdleWaiter::deadline_is_known_to_have_passed`].
    polls: u32,
    /// Number of times that the thread yielded the CPU. It is counted separately, because a thread may alternate between
    /// both, and the sum might then never be a multiple of the interval when it yields.
    cpu_yields: u32,
}

impl IdleWaiter {
    /// Creates the waiter for `polling`, with a deadline that is `limit` from now.
    pub fn new(polling: Polling, limit: Duration) -> Self {
        Self {
            polling,
            yields: false,
            deadline: Deadline::after(limit),
            polls: 0,
            cpu_yields: 0,
        }
    }

    /// Makes a thread that would spin yield the CPU instead, or ends this. Nothing may be timed while threads yield.
    pub fn set_yields(&mut self, yields: bool) {
        self.yields = yields;
    }

    /// Deadline of the case.
    pub fn deadline(&self) -> Deadline {
        self.deadline
    }

    /// Whether the deadline has passed. Every call reads the clock.
    pub fn deadline_has_passed(&self) -> bool {
        self.deadline.has_passed()
    }

    /// Whether the deadline is known to have passed. Only one in `CLOCK_CHECK_INTERVAL` calls reads the clock.
    #[inline]
    pub fn deadline_is_known_to_have_passed(&mut self) -> bool {
        self.polls = self.polls.wrapping_add(1);
        self.polls.is_multiple_of(CLOCK_CHECK_INTERVAL) && self.deadline_has_passed()
    }

    /// Waits after a poll without completions: spins, yields the CPU or, if `may_sleep`, sleeps. Returns whether the
    /// deadline is known to have passed.
    ///
    /// # Errors
    /// Returns an error if the library cannot wait.
    #[inline]
    pub fn pause<T: Transport>(
        &mut self,
        transport: &mut T,
        may_sleep: bool,
    ) -> Result<bool, TransportError> {
        match self.polling {
            // No pause instruction is used, because on some CPUs it takes longer than a poll.
            Polling::Spin if !self.yields => {}
            Polling::Wait if may_sleep => {
                transport.wait(MAX_SLEEP)?;
                return Ok(self.deadline_has_passed());
            }
            Polling::Spin | Polling::Yield | Polling::Wait => return Ok(self.yield_cpu()),
        }
        Ok(self.deadline_is_known_to_have_passed())
    }

    /// Yields the CPU. Returns whether the deadline is known to have passed.
    #[inline]
    fn yield_cpu(&mut self) -> bool {
        std::thread::yield_now();
        self.cpu_yields = self.cpu_yields.wrapping_add(1);
        self.cpu_yields.is_multiple_of(YIELDS_PER_CLOCK_CHECK) && self.deadline_has_passed()
    }

    /// Pauses briefly after a poll that returned no completions, but not past the time `due`. Like
    /// [`IdleWaiter::pause`], but a thread that yields sleeps for a short interval.
    ///
    /// # Errors
    /// Returns an error if the library cannot wait.
    pub fn pause_until<T: Transport>(&mut self, transport: &mut T, due: u64) -> Result<bool, TransportError> {
        let left = Duration::from_nanos(due.saturating_sub(clock::now()));
        match self.polling {
            Polling::Spin => return Ok(self.deadline_is_known_to_have_passed()),
            _ if left.is_zero() => std::thread::yield_now(),
            Polling::Wait => transport.wait(left.min(MAX_SLEEP))?,
            Polling::Yield => std::thread::sleep(left.min(YIELD_SLEEP)),
        }
        Ok(self.deadline_has_passed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On a loaded machine, every yield can take tens of milliseconds.
    #[test]
    fn a_thread_that_yields_notices_the_deadline_after_a_few_yields() {
        let mut waiter = IdleWaiter::new(Polling::Yield, Duration::ZERO);
        assert!((0..20).any(|_| waiter.yield_cpu()));
        let mut waiter = IdleWaiter::new(Polling::Yield, Duration::from_secs(3600));
        assert!(!(0..20).any(|_| waiter.yield_cpu()));
    }

    #[test]
    fn a_thread_that_yields_notices_the_deadline_although_it_also_polls() {
        for polls_first in [false, true] {
            let mut waiter = IdleWaiter::new(Polling::Yield, Duration::ZERO);
            if polls_first {
                waiter.deadline_is_known_to_have_passed();
            }
            assert!((0..20).any(|_| {
                let noticed = waiter.yield_cpu();
                waiter.deadline_is_known_to_have_passed();
                noticed
            }));
        }
    }
}
