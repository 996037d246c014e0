//! The transfers in flight: which slots are free, what each still waits for, when it was complete. Pure.
//!
//! A transfer takes a slot, with its memory, until it is complete:
//!
//! - when the completion of each of its chunks was read (`Write`, `Read`);
//! - and, where the target must have seen it (`Send`, `WriteImmediate`), when the target's credit covers it;
//! - an injected chunk has no completion: it counts as done at once, for a credit or an echo follows.

use std::collections::VecDeque;

use super::immediate::VALUE_MASK;
use crate::measure::recorder::Recorder;

/// Transfers in flight of one thread in one case.
#[derive(Debug)]
pub struct Outgoing {
    slots: Box<[Slot]>,
    free: VecDeque<u32>,
    /// Slots of transfers that no credit covers yet, oldest first; stays empty where none is waited for.
    uncredited: VecDeque<u32>,
    credit: bool,
    posted: u64,
    completed: u64,
    last_completion: u64,
    latest: u64,
    recorder: Option<Recorder>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    pending: u32,
    credited: bool,
    posted_at: u64,
}

/// A transfer that was given a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opened {
    /// Its slot.
    pub slot: u32,
    /// Its number since the case began.
    pub number: u64,
}

impl Outgoing {
    /// Room for `window` transfers in flight; `credit` where the target's credit is waited for. All memory is
    /// allocated here.
    pub fn new(window: u32, credit: bool) -> Self {
        let uncredited = if credit { window as usize } else { 0 };
        Self {
            slots: vec![Slot::default(); window as usize].into(),
            free: (0..window).collect(),
            uncredited: VecDeque::with_capacity(uncredited),
            credit,
            posted: 0,
            completed: 0,
            last_completion: 0,
            latest: 0,
            recorder: None,
        }
    }

    /// Records the latency of transfers from now on, or no longer.
    pub fn set_recorder(&mut self, recorder: Option<Recorder>) -> Option<Recorder> {
        std::mem::replace(&mut self.recorder, recorder)
    }

    /// Slots that are free.
    #[inline]
    pub fn free(&self) -> usize {
        self.free.len()
    }

    /// Transfers in flight.
    #[inline]
    pub fn in_flight(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Transfers given a slot since the case began.
    #[inline]
    pub fn posted(&self) -> u64 {
        self.posted
    }

    /// Transfers completed since the case began.
    #[inline]
    pub fn completed(&self) -> u64 {
        self.completed
    }

    /// The latest time a transfer was posted or complete: nearly now, without a look at the clock.
    #[inline]
    pub fn latest(&self) -> u64 {
        self.latest
    }

    /// When the last transfer was complete.
    pub fn last_completion(&self) -> u64 {
        self.last_completion
    }

    /// Makes the next transfers take slots from `first` on, in order. Only while nothing is in flight.
    pub fn realign(&mut self, first: u32) {
        if self.in_flight() == 0 {
            let window = self.slots.len() as u32;
            self.free.clear();
            self.free.extend((0..window).map(|step| (first + step) % window));
        }
    }

    /// Gives a transfer of `chunks` chunks, posted at `now`, a slot; `None` when all are taken.
    #[inline]
    pub fn open(&mut self, chunks: u32, now: u64) -> Option<Opened> {
        let slot = self.free.pop_front()?;
        self.slots[slot as usize] = Slot {
            pending: chunks,
            credited: !self.credit,
            posted_at: now,
        };
        if self.credit {
            self.uncredited.push_back(slot);
        }
        self.latest = now;
        let number = self.posted;
        self.posted += 1;
        Some(Opened { slot, number })
    }

    /// A chunk of the transfer in `slot` needs nothing more on this side.
    #[inline]
    pub fn chunk_done(&mut self, slot: u32, now: u64) {
        let state = &mut self.slots[slot as usize];
        state.pending = state.pending.saturating_sub(1);
        self.complete_if_done(slot, now);
    }

    /// The target has seen the first `count` (modulo 2^15) transfers.
    pub fn credit(&mut self, count: u64, now: u64) {
        let oldest = self.posted - self.uncredited.len() as u64;
        let more = count.wrapping_sub(oldest) & VALUE_MASK;
        // More than are in flight is a credit that a later one has overtaken.
        if more > self.uncredited.len() as u64 {
            return;
        }
        for _ in 0..more {
            let Some(slot) = self.uncredited.pop_front() else {
                return;
            };
            self.slots[slot as usize].credited = true;
            self.complete_if_done(slot, now);
        }
    }

    #[inline]
    fn complete_if_done(&mut self, slot: u32, now: u64) {
        let state = self.slots[slot as usize];
        if state.pending == 0 && state.credited {
            self.free.push_back(slot);
            self.completed += 1;
            self.last_completion = now;
            self.latest = now;
            if let Some(recorder) = &mut self.recorder {
                recorder.record(now.saturating_sub(state.posted_at));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crds::assignment::Extent;

    use super::*;

    #[test]
    fn a_transfer_is_complete_when_all_its_chunks_are() {
        let mut outgoing = Outgoing::new(2, false);
        outgoing.set_recorder(Some(Recorder::new(Extent::Iterations(10))));
        let opened = outgoing.open(2, 100).unwrap();
        outgoing.chunk_done(opened.slot, 150);
        assert_eq!((outgoing.in_flight(), outgoing.completed()), (1, 0));
        outgoing.chunk_done(opened.slot, 170);
        assert_eq!((outgoing.in_flight(), outgoing.completed()), (0, 1));
        let latency = Recorder::finish(outgoing.set_recorder(None));
        assert_eq!((latency.min_nanos, latency.max_nanos), (70, 70));
    }

    #[test]
    fn a_full_window_has_no_slot() {
        let mut outgoing = Outgoing::new(1, false);
        outgoing.open(1, 0).unwrap();
        assert_eq!(outgoing.open(1, 0), None);
    }

    #[test]
    fn a_credited_transfer_waits_for_both_in_either_order() {
        let mut outgoing = Outgoing::new(4, true);
        let first = outgoing.open(1, 0).unwrap();
        let second = outgoing.open(1, 0).unwrap();
        outgoing.chunk_done(first.slot, 5);
        assert_eq!(outgoing.completed(), 0);
        outgoing.credit(2, 9);
        assert_eq!(outgoing.completed(), 1);
        outgoing.chunk_done(second.slot, 12);
        assert_eq!((outgoing.completed(), outgoing.last_completion()), (2, 12));
    }

    #[test]
    fn credits_that_were_overtaken_change_nothing() {
        let mut outgoing = Outgoing::new(4, true);
        for _ in 0..3 {
            let opened = outgoing.open(1, 0).unwrap();
            outgoing.chunk_done(opened.slot, 0);
        }
        outgoing.credit(3, 1);
        assert_eq!(outgoing.completed(), 3);
        outgoing.open(1, 0).unwrap();
        outgoing.credit(2, 2);
        outgoing.credit(100, 2);
        assert_eq!(outgoing.completed(), 3);
    }

    #[test]
    fn slots_can_be_put_in_order_while_nothing_is_in_flight() {
        let mut outgoing = Outgoing::new(3, false);
        outgoing.realign(2);
        let slots: Vec<u32> = (0..3).map(|_| outgoing.open(1, 0).unwrap().slot).collect();
        assert_eq!(slots, [2, 0, 1]);
        outgoing.realign(0);
        outgoing.chunk_done(1, 0);
        assert_eq!(outgoing.open(1, 0).unwrap().slot, 1);
    }
}
