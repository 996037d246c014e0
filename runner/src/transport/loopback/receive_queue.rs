//! Queue of receives that are posted on a rail and have not yet been matched with a message. Performs no I/O.

/// Posted receive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Receive {
    /// Index of the receive's memory in the region table.
    pub(super) region: usize,
    /// Offset in the memory, in bytes.
    pub(super) offset: u64,
    /// Capacity in bytes.
    pub(super) length: u64,
    /// Token of the receive.
    pub(super) token: u32,
    /// Length in bytes of the message that was matched with the receive.
    pub(super) message: u64,
}

/// Queue of receives with a fixed capacity.
#[derive(Debug)]
pub(super) struct ReceiveQueue {
    /// Circular buffer, whose length is a power of two.
    receives: Box<[Receive]>,
    first: u64,
    next: u64,
}

impl ReceiveQueue {
    pub(super) fn new(capacity: usize) -> Self {
        Self {
            receives: vec![Receive::default(); capacity].into_boxed_slice(),
            first: 0,
            next: 0,
        }
    }

    /// Adds a receive; returns false if the queue is full.
    #[inline]
    pub(super) fn push(&mut self, receive: Receive) -> bool {
        let has_room = self.next - self.first < self.receives.len() as u64;
        if has_room {
            let index = self.index(self.next);
            self.receives[index] = receive;
            self.next += 1;
        }
        has_room
    }

    /// Removes the oldest receive.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<Receive> {
        if self.first == self.next {
            return None;
        }
        let receive = self.receives[self.index(self.first)];
        self.first += 1;
        Some(receive)
    }

    /// Whether no receive is posted.
    pub(super) fn is_empty(&self) -> bool {
        self.first == self.next
    }

    fn index(&self, number: u64) -> usize {
        number as usize & (self.receives.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn returns_receives_in_order_up_to_its_capacity() {
        let mut receives = ReceiveQueue::new(2);
        let receive = |token| Receive {
            token,
            ..Receive::default()
        };
        for round in 0..3 {
            assert!(receives.push(receive(round)));
            assert!(receives.push(receive(round + 10)));
            assert!(!receives.push(receive(99)));
            assert_eq!(receives.pop().map(|receive| receive.token), Some(round));
            assert_eq!(receives.pop().map(|receive| receive.token), Some(round + 10));
            assert_eq!(receives.pop(), None);
        }
        assert!(receives.is_empty());
    }
}
