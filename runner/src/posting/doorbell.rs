//! When a post carries FI_MORE, so that one doorbell serves several posts. Pure.
//!
//! What holds at every moment:
//!
//! - the last post of a burst on each rail never carries it: the burst planner marks that post;
//! - so nothing is unrung when a window is full, a warm-up or an iteration ends, or a side sleeps: each of these comes
//!   after the end of a burst, and inside a burst there is polling but no sleep;
//! - one thread owns an endpoint, for otherwise nobody knows which post is the last;
//! - reads never carry it: the read path of the fabric `efa` passes no flags on, so it would be ignored in silence, and
//!   NIXL took it back for reads because they lost 15 to 20 percent;
//! - at most `max_batch` posts share a doorbell; a provider may ring earlier, so posts without FI_MORE are doorbells
//!   only as far as the application asks for them.
//!
//! A post that was answered with EAGAIN is made again without FI_MORE: the posts before it must not stay unrung.

use crds::v1alpha1::TransferOperation;

use crate::transport::Rail;

/// Doorbell state of the rails of one arm.
#[derive(Clone, Debug)]
pub struct Doorbell {
    max_batch: u32,
    unrung: Box<[u32]>,
}

impl Doorbell {
    /// State of `rails` rails on which at most `max_batch` posts share a doorbell; `None`: every post rings.
    pub fn new(max_batch: Option<u32>, rails: usize) -> Self {
        Self {
            max_batch: max_batch.unwrap_or(1),
            unrung: vec![0; rails].into(),
        }
    }

    /// Whether the next post on `rail` carries FI_MORE.
    #[inline]
    pub fn more(&self, rail: Rail, last_on_rail: bool) -> bool {
        !last_on_rail && self.unrung[rail] + 1 < self.max_batch
    }

    /// A post on `rail` was accepted.
    #[inline]
    pub fn posted(&mut self, rail: Rail, more: bool) {
        self.unrung[rail] = if more { self.unrung[rail] + 1 } else { 0 };
    }

    /// Posts on `rail` that wait for a doorbell.
    pub fn unrung(&self, rail: Rail) -> u32 {
        self.unrung[rail]
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
    fn without_batching_every_post_rings() {
        let doorbell = Doorbell::new(None, 2);
        assert!(!doorbell.more(0, false));
        assert!(!doorbell.more(1, true));
    }

    #[test]
    fn a_doorbell_serves_at_most_max_batch_posts() {
        let mut doorbell = Doorbell::new(Some(4), 1);
        let flags: Vec<bool> = (0..10)
            .map(|index| {
                let more = doorbell.more(0, index == 9);
                doorbell.posted(0, more);
                more
            })
            .collect();
        assert_eq!(
            flags,
            [true, true, true, false, true, true, true, false, true, false]
        );
        assert_eq!(doorbell.unrung(0), 0);
    }

    #[test]
    fn rails_are_rung_apart() {
        let mut doorbell = Doorbell::new(Some(2), 2);
        doorbell.posted(0, true);
        assert!(!doorbell.more(0, false));
        assert!(doorbell.more(1, false));
    }
}
