//! Waits between two polls without completions, and checks the case's deadline. The clock is read only occasionally, to
//! keep it out of the hot path.

use std::time::Duration;

use crds::v1alpha1::Polling;

use crate::measure::clock;
use crate::transport::{Transport, TransportError};

/// Number of polls between two clock readings. This many polls take well under a millisecond if there are no
/// completions.
const CLOCK_CHECK_INTERVAL: u32 = 1024;
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
    deadline: u64,
    limit: Duration,
    polls: u32,
}

impl IdleWaiter {
    /// Creates the waiter for `polling`, with a deadline that is `limit` from now.
    pub fn new(polling: Polling, limit: Duration) -> Self {
        let nanos = u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX);
        Self {
            polling,
            yields: false,
            deadline: clock::now().saturating_add(nanos),
            limit,
            polls: 0,
        }
    }

    /// Makes a thread that would spin yield the CPU instead, or ends this. Nothing may be timed while threads yield.
    pub fn set_yields(&mut self, yields: bool) {
        self.yields = yields;
    }

    /// Duration from the start of the case to its deadline.
    pub fn limit(&self) -> Duration {
        self.limit
    }

    /// Duration from now to the deadline; 0 if it has passed.
    pub fn remaining(&self) -> Duration {
        Duration::from_nanos(self.deadline.saturating_sub(clock::now()))
    }

    /// Whether the deadline has passed. Every call reads the clock.
    pub fn deadline_has_passed(&self) -> bool {
        clock::now() >= self.deadline
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
            Polling::Spin | Polling::Yield | Polling::Wait => std::thread::yield_now(),
        }
        Ok(self.deadline_is_known_to_have_passed())
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
