//! Waiting of a thread between two polls without completions, and its deadline. Reads the clock only occasionally, to
//! keep it out of the hot path.

use std::time::Duration;

use crds::v1alpha1::Polling;

use crate::measure::clock;
use crate::transport::{Transport, TransportError};

/// Polls between two readings of the clock: well under a millisecond of polls without completions.
const CLOCK_CHECK_INTERVAL: u32 = 1024;
/// Longest sleep of `Wait`, which bounds the cost of a wake-up that the library loses.
const MAX_SLEEP: Duration = Duration::from_millis(10);

/// Polling mode and deadline of a thread.
#[derive(Debug)]
pub struct Waiting {
    polling: Polling,
    deadline: u64,
    limit: Duration,
    polls: u32,
}

impl Waiting {
    /// Waits by `polling`, with a deadline `limit` from now.
    pub fn new(polling: Polling, limit: Duration) -> Self {
        let nanos = u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX);
        Self {
            polling,
            deadline: clock::now().saturating_add(nanos),
            limit,
            polls: 0,
        }
    }

    /// Time from the start of the case to its deadline.
    pub fn limit(&self) -> Duration {
        self.limit
    }

    /// Whether the deadline has passed. Reads the clock at every call.
    pub fn deadline_has_passed(&self) -> bool {
        clock::now() >= self.deadline
    }

    /// Whether the deadline is known to have passed. Reads the clock once every `CLOCK_CHECK_INTERVAL` calls.
    #[inline]
    pub fn deadline_may_have_passed(&mut self) -> bool {
        self.polls = self.polls.wrapping_add(1);
        self.polls.is_multiple_of(CLOCK_CHECK_INTERVAL) && self.deadline_has_passed()
    }

    /// Waits after a poll without completions: spins, yields the CPU or, if `may_sleep`, sleeps. Returns whether the
    /// deadline is known to have passed.
    ///
    /// # Errors
    /// Fails if the library cannot wait.
    #[inline]
    pub fn pause<T: Transport>(
        &mut self,
        transport: &mut T,
        may_sleep: bool,
    ) -> Result<bool, TransportError> {
        match self.polling {
            // No pause instruction: on some CPUs it alone takes longer than a poll.
            Polling::Spin => {}
            Polling::Wait if may_sleep => {
                transport.wait(MAX_SLEEP)?;
                return Ok(self.deadline_has_passed());
            }
            Polling::Yield | Polling::Wait => std::thread::yield_now(),
        }
        Ok(self.deadline_may_have_passed())
    }
}
