//! Deadline of a case on one side.

use std::time::Duration;

use crds::record::{CaseFailure, FailureReason};

use super::clock;

/// Number of bytes that are allocated, filled or checked between two checks of a deadline. This takes well under a second.
const PART_BYTES: usize = 64 << 20;

/// Deadline of a case on one side.
#[derive(Clone, Copy, Debug)]
pub struct Deadline {
    /// Time of the monotonic clock, in nanoseconds.
    at: u64,
    limit: Duration,
}

impl Deadline {
    /// Deadline `limit` from now.
    pub fn after(limit: Duration) -> Self {
        let nanos = u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX);
        Self {
            at: clock::now().saturating_add(nanos),
            limit,
        }
    }

    /// Duration from the start of the case to its deadline.
    pub fn limit(&self) -> Duration {
        self.limit
    }

    /// Duration from now to the deadline; 0 if it has passed.
    pub fn remaining(&self) -> Duration {
        Duration::from_nanos(self.at.saturating_sub(clock::now()))
    }

    /// Whether the deadline has passed.
    pub fn has_passed(&self) -> bool {
        clock::now() >= self.at
    }

    /// Executes `work` for consecutive parts of `length` bytes, each given as its offset and its length, as long as the
    /// deadline has not passed.
    ///
    /// # Errors
    /// Returns `DeadlineExceeded`, with `activity`, if the deadline passes first, and the errors of `work`.
    pub fn in_parts(
        &self,
        activity: &str,
        length: usize,
        mut work: impl FnMut(usize, usize) -> Result<(), CaseFailure>,
    ) -> Result<(), CaseFailure> {
        for offset in (0..length).step_by(PART_BYTES) {
            if self.has_passed() {
                return Err(CaseFailure {
                    reason: FailureReason::DeadlineExceeded,
                    message: format!(
                        "the case exceeded its deadline of {:?} while {activity}, after {offset} of {length} bytes",
                        self.limit
                    ),
                });
            }
            work(offset, PART_BYTES.min(length - offset))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cover_the_length_once() {
        let length = 2 * PART_BYTES + 5;
        let mut end = 0;
        let deadline = Deadline::after(Duration::from_secs(3600));
        let covered = deadline.in_parts("testing", length, |offset, count| {
            assert_eq!(offset, end);
            end += count;
            Ok(())
        });
        assert_eq!((covered.is_ok(), end), (true, length));
    }

    #[test]
    fn work_ends_at_the_deadline() {
        let deadline = Deadline::after(Duration::ZERO);
        assert!(deadline.has_passed() && deadline.remaining().is_zero());
        let failure = deadline
            .in_parts("filling the payload", 7, |_, _| panic!("after the deadline"))
            .unwrap_err();
        assert_eq!(failure.reason, FailureReason::DeadlineExceeded);
        assert_eq!(
            failure.message,
            "the case exceeded its deadline of 0ns while filling the payload, after 0 of 7 bytes"
        );
    }
}
