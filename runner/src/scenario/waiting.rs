//! What a thread does between two polls that found nothing, and when it gives up. Reads the clock only now and then,
//! so that the hot path stays free of it.

use std::time::Duration;

use crds::v1alpha1::Polling;

use crate::measure::clock;
use crate::transport::{Transport, TransportError};

/// Polls between two looks at the clock: well under a millisecond of polls that found nothing.
const LOOK_EVERY: u32 = 1024;
/// Longest sleep of `Wait`: a wake-up that the library lost costs this much and no more.
const LONGEST_SLEEP: Duration = Duration::from_millis(10);

/// How a thread waits, and until when.
#[derive(Debug)]
pub struct Waiting {
    polling: Polling,
    deadline: u64,
    limit: Duration,
    polls: u32,
}

impl Waiting {
    /// Waits as `polling` says, for at most `limit` from now on.
    pub fn new(polling: Polling, limit: Duration) -> Self {
        let nanos = u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX);
        Self {
            polling,
            deadline: clock::now().saturating_add(nanos),
            limit,
            polls: 0,
        }
    }

    /// The time a case may take.
    pub fn limit(&self) -> Duration {
        self.limit
    }

    /// Whether the time is up. Looks at the clock at every call.
    pub fn is_over(&self) -> bool {
        clock::now() >= self.deadline
    }

    /// Whether the time is up, as far as it is known: looks at the clock once in so many calls.
    #[inline]
    pub fn may_be_over(&mut self) -> bool {
        self.polls = self.polls.wrapping_add(1);
        self.polls.is_multiple_of(LOOK_EVERY) && self.is_over()
    }

    /// After a poll that found nothing: spins, gives the processor up, or sleeps where `may_sleep`. Returns whether
    /// the time may be up.
    ///
    /// # Errors
    /// When the library cannot wait.
    #[inline]
    pub fn pause<T: Transport>(
        &mut self,
        transport: &mut T,
        may_sleep: bool,
    ) -> Result<bool, TransportError> {
        match self.polling {
            // Not even a pause instruction, which alone takes longer than a poll of some processors.
            Polling::Spin => {}
            Polling::Wait if may_sleep => {
                transport.wait(LONGEST_SLEEP)?;
                return Ok(self.is_over());
            }
            Polling::Yield | Polling::Wait => std::thread::yield_now(),
        }
        Ok(self.may_be_over())
    }
}
