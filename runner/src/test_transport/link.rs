//! A link that delays local completions.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A link that two sides share unequally while both of them have payload to transmit. If only one side has payload to
/// transmit, it gets the whole link.
#[derive(Debug)]
pub struct SharedLink {
    /// Shares of the two sides.
    pub shares: [u64; 2],
    /// Time that the link needs for a payload post.
    pub cost: Duration,
    free_at: Instant,
    is_waiting: [bool; 2],
    served: [u64; 2],
}

impl SharedLink {
    /// Creates an idle link.
    pub fn new(shares: [u64; 2], cost: Duration) -> Arc<Mutex<Self>> {
        Arc::new(Mutex::new(Self {
            shares,
            cost,
            free_at: Instant::now(),
            is_waiting: [false; 2],
            served: [0; 2],
        }))
    }

    /// Whether a post of `side`, which has `queued` posts, is transmitted now.
    pub(super) fn transmit(&mut self, side: usize, queued: usize) -> bool {
        let (other, now) = (1 - side, Instant::now());
        self.is_waiting[side] = queued > 0;
        if !self.is_waiting[other] {
            // A side that was idle does not get a larger share later.
            self.served = [0; 2];
        }
        let is_next = !self.is_waiting[other]
            || self.served[side] * self.shares[other] <= self.served[other] * self.shares[side];
        if queued == 0 || !is_next || now < self.free_at {
            return false;
        }
        self.served[side] += 1;
        self.is_waiting[side] = queued > 1;
        self.free_at = now + self.cost;
        true
    }
}
