//! Tracks the chunks that arrive from the peer, detects duplicates and decides when a credit is due. Performs no I/O.
//!
//! A fabric may deliver messages out of order, so a transfer counts as arrived only when all its chunks have arrived. A
//! credit contains the number of transfers that have arrived without a gap. A credit is due every half window, so that
//! the result includes neither the cost of a message per transfer nor an idle round trip per window. When the peer has
//! posted its last transfer, it requests a credit, which is due as soon as all transfers have arrived. If the peer
//! posts in bursts of more than half a window, credits are due more often, because they would otherwise not free enough
//! slots for the next burst. In an open loop, a credit is due for every transfer.

use crate::immediate::VALUE_MASK;

/// Error returned for an invalid arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrivalError {
    /// The chunk has already arrived.
    Duplicate,
    /// The transfer has no such chunk or is outside the peer's window.
    OutOfRange,
}

/// Arrivals on one thread in one case.
#[derive(Debug)]
pub struct Incoming {
    /// Ring of bit masks of the arrived chunks, one per transfer, starting with transfer `arrived`.
    chunks: Box<[u64]>,
    /// Number of transfers that have arrived without a gap.
    arrived: u64,
    /// Bit mask of all chunks of a transfer.
    complete: u64,
    /// Number of transfers that must arrive after a credit before the next one is due.
    credit_every: u64,
    /// Number of transfers that the last credit confirmed.
    credited: u64,
    /// Total number of arrived transfers at which the credit that the peer requested becomes due.
    requested: u64,
}

impl Incoming {
    /// Creates a tracker for transfers of `chunks` chunks (1 to 64).
    ///
    /// The peer has at most `window` transfers in flight and posts at most `batch` of them together. If `credits` is
    /// false, credits are due only on request.
    pub fn new(chunks: u64, window: u32, batch: u32, credits: bool) -> Self {
        let interval = (window / 2).min((window + 1).saturating_sub(batch)).max(1);
        Self {
            chunks: vec![0; (window as usize * 2).next_power_of_two()].into(),
            arrived: 0,
            complete: u64::MAX >> (64 - chunks.clamp(1, 64)),
            credit_every: if credits { u64::from(interval) } else { u64::MAX },
            credited: 0,
            requested: 0,
        }
    }

    /// Makes a credit due for every transfer, so that the time at which a credit arrives shows when its transfer
    /// arrived.
    pub fn with_credit_for_each_transfer(self) -> Self {
        let credit_every = self.credit_every.min(1);
        Self { credit_every, ..self }
    }

    /// Records the arrival of a chunk of transfer `transfer` (modulo 2^15). Returns the index of the transfer, counted
    /// from the start of the case.
    ///
    /// # Errors
    /// Returns an error if the chunk has already arrived or cannot belong to this case.
    #[inline]
    pub fn record_chunk(&mut self, chunk: u32, transfer: u64) -> Result<u64, ArrivalError> {
        let ahead = transfer.wrapping_sub(self.arrived) & VALUE_MASK;
        let bit = 1u64 << (chunk & 63);
        if bit & self.complete == 0 {
            return Err(ArrivalError::OutOfRange);
        }
        if ahead >= self.chunks.len() as u64 {
            let behind = ahead > VALUE_MASK / 2;
            return Err(if behind {
                ArrivalError::Duplicate
            } else {
                ArrivalError::OutOfRange
            });
        }
        let number = self.arrived + ahead;
        let ring = self.chunks.len() as u64 - 1;
        let seen = &mut self.chunks[(number & ring) as usize];
        if *seen & bit != 0 {
            return Err(ArrivalError::Duplicate);
        }
        *seen |= bit;
        while self.chunks[(self.arrived & ring) as usize] == self.complete {
            self.chunks[(self.arrived & ring) as usize] = 0;
            self.arrived += 1;
        }
        Ok(number)
    }

    /// Number of transfers that have arrived without a gap.
    #[inline]
    pub fn arrived(&self) -> u64 {
        self.arrived
    }

    /// Whether some but not all chunks of the oldest missing transfer have arrived.
    #[inline]
    pub fn is_partial(&self) -> bool {
        let ring = self.chunks.len() as u64 - 1;
        self.chunks[(self.arrived & ring) as usize] != 0
    }

    /// Records the peer's request for a credit as soon as `count` (modulo 2^15) transfers have arrived.
    pub fn request_credit(&mut self, count: u64) {
        let ahead = count.wrapping_sub(self.arrived) & VALUE_MASK;
        if ahead <= self.chunks.len() as u64 {
            self.requested = self.arrived + ahead;
        }
    }

    /// Whether a credit is due.
    #[inline]
    pub fn owes_credit(&self) -> bool {
        let uncredited = self.arrived - self.credited;
        uncredited >= self.credit_every
            || (uncredited > 0 && self.arrived >= self.requested && self.requested > self.credited)
    }

    /// Records that a credit with the count [`Incoming::arrived`] was sent.
    #[inline]
    pub fn record_credit_sent(&mut self) {
        self.credited = self.arrived;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn counts_a_transfer_after_all_its_chunks_have_arrived() {
        let mut incoming = Incoming::new(3, 4, 1, true);
        assert_eq!(incoming.record_chunk(2, 0), Ok(0));
        assert_eq!(incoming.record_chunk(0, 0), Ok(0));
        assert_eq!(incoming.record_chunk(0, 1), Ok(1));
        assert_eq!((incoming.arrived(), incoming.is_partial()), (0, true));
        assert_eq!(incoming.record_chunk(1, 0), Ok(0));
        assert_eq!((incoming.arrived(), incoming.is_partial()), (1, true));
        assert_eq!(incoming.record_chunk(1, 1), Ok(1));
        assert_eq!(incoming.record_chunk(2, 1), Ok(1));
        assert_eq!((incoming.arrived(), incoming.is_partial()), (2, false));
    }

    #[test]
    fn detects_duplicates_before_and_after_the_transfer_is_complete() {
        let mut incoming = Incoming::new(2, 4, 1, true);
        incoming.record_chunk(0, 0).unwrap();
        assert_eq!(incoming.record_chunk(0, 0), Err(ArrivalError::Duplicate));
        incoming.record_chunk(1, 0).unwrap();
        assert_eq!(incoming.record_chunk(1, 0), Err(ArrivalError::Duplicate));
    }

    #[test]
    fn rejects_chunks_and_transfers_out_of_range() {
        let mut incoming = Incoming::new(2, 4, 1, true);
        assert_eq!(incoming.record_chunk(2, 0), Err(ArrivalError::OutOfRange));
        assert_eq!(incoming.record_chunk(0, 100), Err(ArrivalError::OutOfRange));
    }

    #[test]
    fn credit_is_due_every_half_window_and_on_request() {
        let mut incoming = Incoming::new(1, 8, 1, true);
        let owed: Vec<u64> = (0..10)
            .filter(|transfer| {
                incoming.record_chunk(0, *transfer).unwrap();
                let owes = incoming.owes_credit();
                if owes {
                    incoming.record_credit_sent();
                }
                owes
            })
            .collect();
        assert_eq!(owed, [3, 7]);
        incoming.request_credit(10);
        assert!(incoming.owes_credit());
        incoming.record_credit_sent();
        assert!(!incoming.owes_credit());
    }

    #[test]
    fn credit_can_be_due_for_each_transfer() {
        let mut incoming = Incoming::new(1, 8, 1, true).with_credit_for_each_transfer();
        for transfer in 0..3 {
            incoming.record_chunk(0, transfer).unwrap();
            assert!(incoming.owes_credit());
            incoming.record_credit_sent();
        }
    }

    #[test]
    fn request_that_overtakes_the_last_transfer_is_not_lost() {
        let mut incoming = Incoming::new(1, 8, 1, true);
        incoming.request_credit(2);
        incoming.record_chunk(0, 0).unwrap();
        assert!(!incoming.owes_credit());
        incoming.record_chunk(0, 1).unwrap();
        assert!(incoming.owes_credit());
    }

    #[test]
    fn credits_for_a_full_window_free_slots_for_a_burst() {
        for (window, batch) in [(16, 16), (16, 9), (9, 4), (2, 1), (1, 1)] {
            let mut incoming = Incoming::new(1, window, batch, true);
            let mut credited = 0;
            for transfer in 0..u64::from(window) {
                incoming.record_chunk(0, transfer).unwrap();
                if incoming.owes_credit() {
                    incoming.record_credit_sent();
                    credited = incoming.arrived();
                }
            }
            assert!(credited >= u64::from(batch), "{window} {batch}: {credited}");
        }
    }

    #[test]
    fn credit_is_due_for_each_transfer_in_a_window_of_one() {
        let mut incoming = Incoming::new(1, 1, 1, true);
        incoming.record_chunk(0, 0).unwrap();
        assert!(incoming.owes_credit());
    }

    proptest! {
        #[test]
        fn accepts_any_order_within_the_window(
            chunks in 1u64..=64,
            window in 1u32..64,
            keys in prop::collection::vec(any::<u32>(), 200),
        ) {
            // The chunks are shuffled within consecutive windows, and the transfer numbers wrap around.
            let start = VALUE_MASK - 10;
            let mut incoming = Incoming::new(chunks, window, 1, true);
            incoming.arrived = start;
            incoming.credited = start;
            let transfers = 40u64;
            let mut all: Vec<(u64, u32, u32)> = (0..transfers)
                .flat_map(|transfer| (0..chunks as u32).map(move |chunk| (transfer, chunk)))
                .enumerate()
                .map(|(index, (transfer, chunk))| (transfer, chunk, keys[index % keys.len()]))
                .collect();
            all.sort_by_key(|(transfer, _, key)| (transfer / u64::from(window), *key));
            for (transfer, chunk, _) in all {
                let number = start + transfer;
                prop_assert_eq!(incoming.record_chunk(chunk, number & VALUE_MASK), Ok(number));
            }
            prop_assert_eq!(incoming.arrived(), start + transfers);
        }
    }
}
