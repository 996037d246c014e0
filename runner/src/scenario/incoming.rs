//! What has arrived from the peer: chunks counted by their immediates, duplicates found, credits owed. Pure.
//!
//! A fabric may deliver out of order, so a transfer has arrived when each of its chunks has, and the count that the
//! peer is told is that of the transfers that arrived without a gap. The peer is told every half window, so that
//! neither a message for every transfer nor a round trip of silence for every window is in the result, and at once
//! when it has asked to be (at the end of its posting). A peer that posts in bursts of more than half a window is
//! told more often, or it would wait for room for a burst that no credit makes.

use super::immediate::VALUE_MASK;

/// An arrival that cannot be right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrivalError {
    /// The chunk arrived before.
    Duplicate,
    /// The transfer has no such chunk, or is further ahead than the peer's window allows.
    OutOfRange,
}

/// Arrivals of one thread in one case.
#[derive(Debug)]
pub struct Incoming {
    /// Chunks that have arrived, a bit each, of the transfers from `arrived` on; a ring.
    chunks: Box<[u64]>,
    /// Transfers that arrived without a gap.
    arrived: u64,
    /// All chunks of a transfer.
    complete: u64,
    /// Arrived transfers after which a credit is owed.
    credit_every: u64,
    /// Count that the peer was told last.
    credited: u64,
    /// Count at which the peer wants to be told at once.
    drain: u64,
}

impl Incoming {
    /// Nothing has arrived yet of transfers of `chunks` chunks (1 to 64), of which the peer keeps at most `window` in
    /// flight and posts at most `batch` together. The peer is never told by itself where `credits` is false.
    pub fn new(chunks: u64, window: u32, batch: u32, credits: bool) -> Self {
        let untold = (window / 2).min((window + 1).saturating_sub(batch)).max(1);
        Self {
            chunks: vec![0; (window as usize * 2).next_power_of_two()].into(),
            arrived: 0,
            complete: u64::MAX >> (64 - chunks.clamp(1, 64)),
            credit_every: if credits { u64::from(untold) } else { u64::MAX },
            credited: 0,
            drain: 0,
        }
    }

    /// A chunk of transfer `transfer` (modulo 2^15) arrived. Returns the number of the transfer since the case began.
    ///
    /// # Errors
    /// When it arrived before, or cannot be a chunk of this case.
    #[inline]
    pub fn chunk(&mut self, chunk: u32, transfer: u64) -> Result<u64, ArrivalError> {
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

    /// Transfers that arrived without a gap.
    #[inline]
    pub fn arrived(&self) -> u64 {
        self.arrived
    }

    /// The peer wants to be told as soon as `count` (modulo 2^15) transfers have arrived.
    pub fn ask_drain(&mut self, count: u64) {
        let ahead = count.wrapping_sub(self.arrived) & VALUE_MASK;
        if ahead <= self.chunks.len() as u64 {
            self.drain = self.arrived + ahead;
        }
    }

    /// Whether the peer is to be told.
    #[inline]
    pub fn owes_credit(&self) -> bool {
        let untold = self.arrived - self.credited;
        untold >= self.credit_every
            || (untold > 0 && self.arrived >= self.drain && self.drain > self.credited)
    }

    /// The peer was told [`Incoming::arrived`].
    #[inline]
    pub fn credit_sent(&mut self) {
        self.credited = self.arrived;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_transfer_has_arrived_when_all_its_chunks_have() {
        let mut incoming = Incoming::new(3, 4, 1, true);
        assert_eq!(incoming.chunk(2, 0), Ok(0));
        assert_eq!(incoming.chunk(0, 0), Ok(0));
        assert_eq!(incoming.chunk(0, 1), Ok(1));
        assert_eq!(incoming.arrived(), 0);
        assert_eq!(incoming.chunk(1, 0), Ok(0));
        assert_eq!(incoming.arrived(), 1);
    }

    #[test]
    fn duplicates_are_found_before_and_after_the_transfer_is_complete() {
        let mut incoming = Incoming::new(2, 4, 1, true);
        incoming.chunk(0, 0).unwrap();
        assert_eq!(incoming.chunk(0, 0), Err(ArrivalError::Duplicate));
        incoming.chunk(1, 0).unwrap();
        assert_eq!(incoming.chunk(1, 0), Err(ArrivalError::Duplicate));
    }

    #[test]
    fn what_cannot_be_of_this_case_is_refused() {
        let mut incoming = Incoming::new(2, 4, 1, true);
        assert_eq!(incoming.chunk(2, 0), Err(ArrivalError::OutOfRange));
        assert_eq!(incoming.chunk(0, 100), Err(ArrivalError::OutOfRange));
    }

    #[test]
    fn a_credit_is_owed_every_half_window_and_at_the_end() {
        let mut incoming = Incoming::new(1, 8, 1, true);
        let owed: Vec<u64> = (0..10)
            .filter(|transfer| {
                incoming.chunk(0, *transfer).unwrap();
                let owes = incoming.owes_credit();
                if owes {
                    incoming.credit_sent();
                }
                owes
            })
            .collect();
        assert_eq!(owed, [3, 7]);
        incoming.ask_drain(10);
        assert!(incoming.owes_credit());
        incoming.credit_sent();
        assert!(!incoming.owes_credit());
    }

    #[test]
    fn a_request_that_overtakes_the_last_transfer_is_kept() {
        let mut incoming = Incoming::new(1, 8, 1, true);
        incoming.ask_drain(2);
        incoming.chunk(0, 0).unwrap();
        assert!(!incoming.owes_credit());
        incoming.chunk(0, 1).unwrap();
        assert!(incoming.owes_credit());
    }

    #[test]
    fn a_burst_always_finds_room_after_the_credits_for_all_that_arrived() {
        for (window, batch) in [(16, 16), (16, 9), (9, 4), (2, 1), (1, 1)] {
            let mut incoming = Incoming::new(1, window, batch, true);
            let mut told = 0;
            for transfer in 0..u64::from(window) {
                incoming.chunk(0, transfer).unwrap();
                if incoming.owes_credit() {
                    incoming.credit_sent();
                    told = incoming.arrived();
                }
            }
            assert!(told >= u64::from(batch), "{window} {batch}: {told}");
        }
    }

    #[test]
    fn a_window_of_one_owes_a_credit_for_each() {
        let mut incoming = Incoming::new(1, 1, 1, true);
        incoming.chunk(0, 0).unwrap();
        assert!(incoming.owes_credit());
    }

    proptest! {
        #[test]
        fn any_order_within_the_window_arrives(
            chunks in 1u64..=64,
            window in 1u32..64,
            keys in prop::collection::vec(any::<u32>(), 200),
        ) {
            // Chunks in an order that is shuffled within consecutive windows, across the wrap of the numbers.
            let start = VALUE_MASK - 10;
            let mut incoming = Incoming::new(chunks, window, 1, true);
            incoming.arrived = start;
            incoming.credited = start;
            let transfers = 40u64;
            let mut all: Vec<(u64, u32, u32)> = (0..transfers)
                .flat_map(|transfer| (0..chunks as u32).map(move |chunk| (transfer, chunk)))
                .enumerate()
                .map(|(place, (transfer, chunk))| (transfer, chunk, keys[place % keys.len()]))
                .collect();
            all.sort_by_key(|(transfer, _, key)| (transfer / u64::from(window), *key));
            for (transfer, chunk, _) in all {
                let number = start + transfer;
                prop_assert_eq!(incoming.chunk(chunk, number & VALUE_MASK), Ok(number));
            }
            prop_assert_eq!(incoming.arrived(), start + transfers);
        }
    }
}
