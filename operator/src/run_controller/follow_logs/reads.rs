//! Decides when a log is opened again and when it has been read to its end. Performs no I/O.

use std::time::Duration;

/// Delay before a log is opened for the second time. It doubles each time that the log is opened again.
const INITIAL_DELAY: Duration = Duration::from_millis(200);
/// Maximum delay before a log is opened again.
const MAX_DELAY: Duration = Duration::from_secs(10);
/// Number of failed reads of a terminated container's log after which the log is considered lost. With the delays
/// between them, they take two minutes. An API server that is being upgraded returns within this time.
const MAX_FAILURES: u32 = 16;
/// Number of consecutive reads of a terminated container's log that must end at the same byte. An API server that shuts
/// down, or a proxy in front of it, ends a response early without an error, so a single read does not show where the
/// log ends.
const EQUAL_READS: u32 = 3;

/// The reads of one log since its container terminated or, while it is running, since the log was first opened.
#[derive(Debug, Default)]
pub(super) struct Reads {
    retries: u32,
    failures: u32,
    /// Length of the last read without an error, in bytes.
    length: u64,
    /// Number of consecutive reads of this length.
    equal: u32,
}

impl Reads {
    /// Records a read without an error, which returned `length` bytes. Returns whether it reached the end of the log.
    pub(super) fn is_end(&mut self, length: u64) -> bool {
        self.equal = match length == self.length {
            true => self.equal + 1,
            false => 1,
        };
        self.length = length;
        self.equal >= EQUAL_READS
    }

    /// Records a read that failed. Returns whether the log is considered lost.
    pub(super) fn is_lost(&mut self) -> bool {
        self.failures += 1;
        self.failures >= MAX_FAILURES
    }

    /// Returns the delay before the log is opened again.
    pub(super) fn next_delay(&mut self) -> Duration {
        let delay = INITIAL_DELAY.saturating_mul(2_u32.saturating_pow(self.retries));
        self.retries += 1;
        delay.min(MAX_DELAY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_reads_of_the_same_length_reach_the_end() {
        let mut reads = Reads::default();
        let ends = [0, 0, 7, 7, 5, 7, 7, 7].map(|length| reads.is_end(length));
        assert_eq!(ends, [false, false, false, false, false, false, false, true]);
    }

    #[test]
    fn failures_take_two_minutes() {
        let mut reads = Reads::default();
        let mut waited = Duration::ZERO;
        while !reads.is_lost() {
            waited += reads.next_delay();
        }
        assert!(
            (Duration::from_secs(90)..Duration::from_secs(150)).contains(&waited),
            "{waited:?}"
        );
    }
}
