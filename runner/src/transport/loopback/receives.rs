//! Receives that were posted on a rail and not yet met. Pure.

/// A posted receive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Receive {
    /// Place of its memory in the table of regions.
    pub(super) region: usize,
    /// Offset in the memory.
    pub(super) offset: u64,
    /// Bytes it can take.
    pub(super) length: u64,
    /// Its token.
    pub(super) token: u32,
    /// Bytes of the message that it met.
    pub(super) message: u64,
}

/// A queue of receives, of fixed size.
#[derive(Debug)]
pub(super) struct Receives {
    /// A power of two of them.
    receives: Box<[Receive]>,
    first: u64,
    next: u64,
}

impl Receives {
    pub(super) fn new(capacity: usize) -> Self {
        Self {
            receives: vec![Receive::default(); capacity].into_boxed_slice(),
            first: 0,
            next: 0,
        }
    }

    /// Adds a receive; false where there is no room.
    #[inline]
    pub(super) fn push(&mut self, receive: Receive) -> bool {
        let has_room = self.next - self.first < self.receives.len() as u64;
        if has_room {
            let at = self.place(self.next);
            self.receives[at] = receive;
            self.next += 1;
        }
        has_room
    }

    /// Takes the oldest receive.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<Receive> {
        if self.first == self.next {
            return None;
        }
        let receive = self.receives[self.place(self.first)];
        self.first += 1;
        Some(receive)
    }

    /// Whether none is posted.
    pub(super) fn is_empty(&self) -> bool {
        self.first == self.next
    }

    fn place(&self, number: u64) -> usize {
        number as usize & (self.receives.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn receives_are_met_in_order_and_their_number_is_bounded() {
        let mut receives = Receives::new(2);
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
