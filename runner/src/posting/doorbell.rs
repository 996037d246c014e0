//! Decides which posts carry FI_MORE, so that several posts share one doorbell. Performs no I/O.
//!
//! Invariants:
//!
//! - the last post of a burst on each rail, which the burst planner marks, never carries FI_MORE;
//! - therefore, no post is left waiting for a doorbell when a window is full, a warm-up or an iteration ends, or a side
//!   sleeps: each of these events occurs only after the end of a burst, and a thread polls but never sleeps within a
//!   burst;
//! - exactly one thread owns each endpoint, because threads that shared an endpoint could not know which post is the
//!   last;
//! - reads never carry FI_MORE: the `efa` fabric's read path silently ignores flags, and NIXL removed FI_MORE from
//!   reads because it reduced their performance by 15% to 20%;
//! - at most `max_batch` posts share a doorbell; a provider may ring earlier, so the number of posts without FI_MORE is
//!   the number of doorbells that the application requests, not the number that the provider rings.
//!
//! A post that returned EAGAIN is retried without FI_MORE, because the preceding posts need a doorbell to make
//! progress.

use crds::v1alpha1::TransferOperation;

use crate::transport::Rail;

/// Doorbell state of one arm's rails.
#[derive(Clone, Debug)]
pub struct Doorbell {
    max_batch: u32,
    awaiting_doorbell: Box<[u32]>,
}

impl Doorbell {
    /// Creates the state for `rails` rails.
    ///
    /// At most `max_batch` posts share a doorbell; if `max_batch` is `None`, every post rings the doorbell.
    pub fn new(max_batch: Option<u32>, rails: usize) -> Self {
        Self {
            max_batch: max_batch.unwrap_or(1),
            awaiting_doorbell: vec![0; rails].into(),
        }
    }

    /// Whether the next post on `rail` carries FI_MORE.
    #[inline]
    pub fn carries_more(&self, rail: Rail, last_on_rail: bool) -> bool {
        !last_on_rail && self.awaiting_doorbell[rail] + 1 < self.max_batch
    }

    /// Records that a post on `rail` has been accepted.
    #[inline]
    pub fn record_post(&mut self, rail: Rail, more: bool) {
        self.awaiting_doorbell[rail] = if more { self.awaiting_doorbell[rail] + 1 } else { 0 };
    }

    /// Number of posts on `rail` that are waiting for a doorbell.
    pub fn awaiting_doorbell(&self, rail: Rail) -> u32 {
        self.awaiting_doorbell[rail]
    }
}

/// Whether posts of this operation may carry FI_MORE.
pub fn may_share_doorbell(operation: TransferOperation) -> bool {
    operation != TransferOperation::Read
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_post_rings_the_doorbell_without_batching() {
        let doorbell = Doorbell::new(None, 2);
        assert!(!doorbell.carries_more(0, false));
        assert!(!doorbell.carries_more(1, true));
    }

    #[test]
    fn at_most_max_batch_posts_share_a_doorbell() {
        let mut doorbell = Doorbell::new(Some(4), 1);
        let flags: Vec<bool> = (0..10)
            .map(|index| {
                let more = doorbell.carries_more(0, index == 9);
                doorbell.record_post(0, more);
                more
            })
            .collect();
        assert_eq!(
            flags,
            [true, true, true, false, true, true, true, false, true, false]
        );
        assert_eq!(doorbell.awaiting_doorbell(0), 0);
    }

    #[test]
    fn rails_have_separate_doorbells() {
        let mut doorbell = Doorbell::new(Some(2), 2);
        doorbell.record_post(0, true);
        assert!(!doorbell.carries_more(0, false));
        assert!(doorbell.carries_more(1, false));
    }
}
