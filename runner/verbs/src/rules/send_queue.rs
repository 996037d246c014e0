//! The requests in one send queue, in the order in which they are posted and complete. Determines which requests are
//! signaled. Performs no I/O.
//!
//! The completion of a request also completes all earlier requests in the queue. Unsignaled requests occupy the queue
//! until a later signaled request completes, so at least one request in every quarter of the queue is signaled.

use crds::v1alpha1::VerbsSignaling;

/// Position of a request in its queue, starting at 0.
pub(crate) type Sequence = u64;

/// Send queue of one queue pair.
#[derive(Debug)]
pub(crate) struct SendQueue {
    signaling: VerbsSignaling,
    /// Tokens of the requests in flight, by sequence modulo the depth; `None` for an injected request, whose completion is
    /// not reported.
    tokens: Box<[Option<u32>]>,
    posted: Sequence,
    /// Number of requests whose completion is known.
    completed: Sequence,
    /// Number of requests whose completion has been reported.
    reported: Sequence,
    /// Number of requests after the last signaled request.
    unsignaled: usize,
    /// Whether one of the requests after the last signaled request has a token.
    has_unsignaled_token: bool,
}

impl SendQueue {
    /// Creates an empty queue for `depth` requests.
    pub(crate) fn new(depth: usize, signaling: VerbsSignaling) -> Self {
        Self {
            signaling,
            tokens: vec![None; depth.max(1)].into(),
            posted: 0,
            completed: 0,
            reported: 0,
            unsignaled: 0,
            has_unsignaled_token: false,
        }
    }

    /// Number of the next request.
    #[inline]
    pub(crate) fn next(&self) -> Sequence {
        self.posted
    }

    /// Whether the queue is full. Requests whose completion has not been reported yet occupy space, because their
    /// tokens are still needed.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.posted - self.reported >= self.tokens.len() as u64
    }

    /// Whether the next request must be signaled. `rings` is true for the last request of a call.
    #[inline]
    pub(crate) fn must_signal(&self, has_token: bool, rings: bool) -> bool {
        let is_due = match self.signaling {
            VerbsSignaling::EveryPost => has_token,
            VerbsSignaling::EveryDoorbell => rings && (has_token || self.has_unsignaled_token),
        };
        is_due || (self.unsignaled + 1) * 4 >= self.tokens.len()
    }

    /// Whether an unsignaled request that has a token is waiting for the completion of a later request.
    #[inline]
    pub(crate) fn has_unsignaled_token(&self) -> bool {
        self.has_unsignaled_token
    }

    /// Records the next request.
    #[inline]
    pub(crate) fn push(&mut self, token: Option<u32>, signaled: bool) {
        let slot = self.slot(self.posted);
        self.tokens[slot] = token;
        self.posted += 1;
        if signaled {
            self.record_signal();
        } else {
            self.unsignaled += 1;
            self.has_unsignaled_token |= token.is_some();
        }
    }

    /// Records that the last request has been changed to be signaled.
    #[inline]
    pub(crate) fn record_signal(&mut self) {
        self.unsignaled = 0;
        self.has_unsignaled_token = false;
    }

    /// Removes the last `count` requests, which the driver did not accept. The removed requests may include signaled
    /// ones, so the next request is signaled.
    pub(crate) fn withdraw(&mut self, count: u64) {
        self.posted -= count.min(self.posted - self.completed);
        self.unsignaled = self.tokens.len();
    }

    /// Records the completion of request `sequence` and all earlier requests.
    #[inline]
    pub(crate) fn complete(&mut self, sequence: Sequence) {
        self.completed = self.completed.max((sequence + 1).min(self.posted));
    }

    /// Token of the next completed request that has a token; `None` if all completions have been reported.
    #[inline]
    pub(crate) fn next_completed(&mut self) -> Option<u32> {
        while self.reported < self.completed {
            let slot = self.slot(self.reported);
            self.reported += 1;
            if let Some(token) = self.tokens[slot].take() {
                return Some(token);
            }
        }
        None
    }

    #[inline]
    fn slot(&self, sequence: Sequence) -> usize {
        (sequence % self.tokens.len() as u64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reported_tokens(queue: &mut SendQueue) -> Vec<u32> {
        std::iter::from_fn(|| queue.next_completed()).collect()
    }

    /// Posts a request as the transport does, and returns whether it is signaled.
    fn post(queue: &mut SendQueue, token: Option<u32>, rings: bool) -> bool {
        let signaled = queue.must_signal(token.is_some(), rings);
        queue.push(token, signaled);
        signaled
    }

    #[test]
    fn a_completion_completes_all_earlier_requests_in_order() {
        let mut queue = SendQueue::new(32, VerbsSignaling::EveryPost);
        for token in [5, 3, 9] {
            assert!(post(&mut queue, Some(token), true));
        }
        queue.complete(1);
        assert_eq!(reported_tokens(&mut queue), [5, 3]);
        queue.complete(2);
        assert_eq!(reported_tokens(&mut queue), [9]);
        // A repeated or unknown completion reports nothing.
        queue.complete(2);
        queue.complete(700);
        assert!(reported_tokens(&mut queue).is_empty());
        assert!(!queue.is_full());
    }

    #[test]
    fn injected_requests_have_neither_a_signal_nor_a_reported_completion() {
        let mut queue = SendQueue::new(32, VerbsSignaling::EveryPost);
        assert!(!post(&mut queue, None, true));
        assert!(post(&mut queue, Some(1), true));
        queue.complete(1);
        assert_eq!(reported_tokens(&mut queue), [1]);
    }

    #[test]
    fn injected_requests_alone_never_fill_the_queue_without_a_signal() {
        for depth in [1, 2, 3, 8, 128] {
            let mut queue = SendQueue::new(depth, VerbsSignaling::EveryPost);
            let mut signaled = Vec::new();
            for _ in 0..10 * depth {
                if queue.is_full() {
                    let last = signaled.pop().expect("a signaled request is in flight");
                    queue.complete(last);
                    assert!(reported_tokens(&mut queue).is_empty());
                    signaled.clear();
                    assert!(!queue.is_full());
                }
                let sequence = queue.next();
                if post(&mut queue, None, true) {
                    signaled.push(sequence);
                }
            }
        }
    }

    #[test]
    fn one_signaled_request_per_doorbell_completes_the_whole_batch() {
        let mut queue = SendQueue::new(64, VerbsSignaling::EveryDoorbell);
        let signaled: Vec<bool> = (0..4)
            .map(|token| post(&mut queue, Some(token), token == 3))
            .collect();
        assert_eq!(signaled, [false, false, false, true]);
        queue.complete(3);
        assert_eq!(reported_tokens(&mut queue), [0, 1, 2, 3]);
    }

    #[test]
    fn an_injected_request_that_rings_for_ordinary_requests_is_signaled() {
        let mut queue = SendQueue::new(64, VerbsSignaling::EveryDoorbell);
        assert!(!post(&mut queue, Some(1), false));
        assert!(queue.has_unsignaled_token());
        assert!(post(&mut queue, None, true));
        assert!(!queue.has_unsignaled_token());
        queue.complete(1);
        assert_eq!(reported_tokens(&mut queue), [1]);
    }

    #[test]
    fn completed_requests_occupy_space_until_they_are_reported() {
        let mut queue = SendQueue::new(2, VerbsSignaling::EveryPost);
        post(&mut queue, Some(0), true);
        post(&mut queue, Some(1), true);
        queue.complete(1);
        assert!(queue.is_full());
        assert_eq!(queue.next_completed(), Some(0));
        assert!(!queue.is_full());
    }

    #[test]
    fn withdrawn_requests_leave_the_queue() {
        let mut queue = SendQueue::new(8, VerbsSignaling::EveryPost);
        post(&mut queue, Some(0), true);
        post(&mut queue, Some(1), true);
        queue.withdraw(1);
        assert_eq!(queue.next(), 1);
        assert!(queue.must_signal(false, false));
        queue.complete(5);
        assert_eq!(reported_tokens(&mut queue), [0]);
    }
}
