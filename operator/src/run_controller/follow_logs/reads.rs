//! Decides when a log is opened again and when it has been read to its end. Performs no I/O.

use std::time::Duration;

/// Delay before a log is opened for the second time. It doubles each time that the log is opened again.
const INITIAL_DELAY: Duration = Duration::from_millis(200);
/// Maximum delay before a log is opened again.
const MAX_DELAY: Duration = Duration::from_secs(10);
/// Number of reads of a terminated container's log without its end after which the log is considered lost or truncated.
/// With the delays between them, they take two minutes. An API server that is being upgraded returns within this time.
const MAX_READS: u32 = 16;
/// Number of consecutive reads of a terminated container's log that must end at the same byte. An API server that shuts
/// down, or a proxy in front of it, ends a response early without an error, so a single read does not show where the
/// log ends. With the delays between them, these reads take 3 s.
const EQUAL_READS: u32 = 5;

/// The reads of one log.
#[derive(Debug, Default)]
pub(super) struct Reads {
    /// Number of times that the log was opened since its container terminated or, while it is running, since the log
    /// was first opened.
    reads: u32,
    /// Length in bytes of the longest read.
    longest: u64,
    /// Number of consecutive reads of this length after the container had terminated.
    equal: u32,
}

impl Reads {
    /// Records that the container has terminated.
    pub(super) fn container_terminated(&mut self) {
        self.reads = 0;
        self.equal = 0;
    }

    /// Records a read of a terminated container's log that returned `length` bytes without an error and without an end
    /// record. Returns whether it reached the end of the log.
    pub(super) fn record_length(&mut self, length: u64) -> bool {
        self.equal = match length == self.longest {
            true => self.equal + 1,
            // A shorter read has certainly ended early.
            false => u32::from(length > self.longest),
        };
        self.longest = self.longest.max(length);
        self.equal >= EQUAL_READS || self.is_last()
    }

    /// Records a read of a running container's log that returned `length` bytes.
    pub(super) fn record_running(&mut self, length: u64) {
        self.longest = self.longest.max(length);
    }

    /// Records that a read of a terminated container's log failed. Returns whether the log is considered lost.
    pub(super) fn record_failure(&mut self) -> bool {
        self.equal = 0;
        self.is_last()
    }

    /// Returns the delay before the log is opened again.
    pub(super) fn next_delay(&mut self) -> Duration {
        let delay = INITIAL_DELAY.saturating_mul(2_u32.saturating_pow(self.reads));
        self.reads += 1;
        delay.min(MAX_DELAY)
    }

    /// Whether no further read follows the current one.
    fn is_last(&self) -> bool {
        self.reads + 1 >= MAX_READS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consecutive_reads_of_the_longest_length_reach_the_end() {
        let mut reads = Reads::default();
        let mut ends = |lengths: &[u64]| {
            lengths
                .iter()
                .map(|one| reads.record_length(*one))
                .collect::<Vec<_>>()
        };
        assert_eq!(ends(&[0, 0, 7, 7, 7, 7, 5]), [false; 7]);
        assert_eq!(ends(&[7, 7, 7, 7, 7]), [false, false, false, false, true]);
    }

    #[test]
    fn failures_and_reads_shorter_than_those_of_the_running_container_do_not_count() {
        let mut reads = Reads::default();
        reads.record_running(9);
        reads.container_terminated();
        assert!((0..EQUAL_READS + 1).all(|_| !reads.record_length(7)));
        for _ in 0..EQUAL_READS {
            assert!(!reads.record_length(9));
            assert!(!reads.record_failure());
        }
    }

    #[test]
    fn reads_without_the_end_take_two_minutes() {
        for record in [Reads::record_failure, |reads: &mut Reads| {
            reads.record_length(u64::from(reads.reads))
        }] {
            let mut reads = Reads::default();
            let mut waited = Duration::ZERO;
            while !record(&mut reads) {
                waited += reads.next_delay();
            }
            assert!(
                (Duration::from_secs(90)..Duration::from_secs(150)).contains(&waited),
                "{waited:?}"
            );
        }
    }
}
