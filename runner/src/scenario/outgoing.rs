//! Tracks the transfers in flight: free slots, outstanding chunks and credits, and completion times. Performs no I/O.
//!
//! A transfer occupies a slot and the slot's memory until the transfer is complete:
//!
//! - A `Write` or `Read` is complete when the completions of all its chunks have been read.
//! - For `Send` and `WriteImmediate`, a credit from the target must also have confirmed the arrival of the transfer.
//!
//! An injected chunk has no completion. It is considered complete immediately, because a credit or an echo confirms its
//! arrival.

use std::collections::VecDeque;

use crate::immediate::VALUE_MASK;
use crate::measure::recorder::Recorder;

/// Transfers in flight on one thread in one case.
#[derive(Debug)]
pub struct Outgoing {
    slots: Box<[Slot]>,
    free: VecDeque<u32>,
    /// Slots of the transfers that no credit has confirmed yet, oldest first. Always empty if transfers need no credit.
    uncredited: VecDeque<u32>,
    credit: bool,
    posted: u64,
    completed: u64,
    last_completion: u64,
    latest: u64,
    /// Number of completed transfers at which the time is kept, and this time.
    awaited: u64,
    awaited_completion: u64,
    recorder: Option<Recorder>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    pending: u32,
    credited: bool,
    posted_at: u64,
}

/// The slot assigned to a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AssignedSlot {
    /// Index of the slot.
    pub slot: u32,
    /// Index of the transfer, counted from the start of the case.
    pub number: u64,
}

impl Outgoing {
    /// Creates slots for `window` transfers in flight, and allocates all memory.
    ///
    /// `credit` specifies whether a transfer needs a credit from the target to complete.
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
            awaited: u64::MAX,
            awaited_completion: 0,
            recorder: None,
        }
    }

    /// Replaces the recorder of transfer latencies and returns the previous one; `None` stops recording.
    pub fn set_recorder(&mut self, recorder: Option<Recorder>) -> Option<Recorder> {
        std::mem::replace(&mut self.recorder, recorder)
    }

    /// Number of free slots.
    #[inline]
    pub fn free(&self) -> usize {
        self.free.len()
    }

    /// Number of transfers in flight.
    #[inline]
    pub fn in_flight(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Whether all chunks of the transfers in flight are complete on this side, so that only credits are missing.
    #[inline]
    pub fn is_sent(&self) -> bool {
        self.slots.iter().all(|slot| slot.pending == 0)
    }

    /// Number of transfers posted since the start of the case.
    #[inline]
    pub fn posted(&self) -> u64 {
        self.posted
    }

    /// Number of transfers completed since the start of the case.
    #[inline]
    pub fn completed(&self) -> u64 {
        self.completed
    }

    /// Latest time at which a transfer was posted or completed. This approximates the current time without reading the
    /// clock.
    #[inline]
    pub fn latest(&self) -> u64 {
        self.latest
    }

    /// Time at which the last transfer completed.
    pub fn last_completion(&self) -> u64 {
        self.last_completion
    }

    /// Keeps the time at which the transfer number `completed`, counted from the start of the case, completes.
    pub fn await_completion(&mut self, completed: u64) {
        self.awaited = completed;
    }

    /// Time at which the awaited transfer completed. Call this only after it has completed.
    pub fn awaited_completion(&self) -> u64 {
        self.awaited_completion
    }

    /// Makes the next transfers use the slots in order, starting with slot `first`. Has no effect while transfers are
    /// in flight.
    pub fn realign(&mut self, first: u32) {
        if self.in_flight() == 0 {
            let window = self.slots.len() as u32;
            self.free.clear();
            self.free.extend((0..window).map(|step| (first + step) % window));
        }
    }

    /// Assigns a slot to a transfer of `chunks` chunks posted at `now`; returns `None` if no slot is free.
    #[inline]
    pub fn assign_slot(&mut self, chunks: u32, now: u64) -> Option<AssignedSlot> {
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
        Some(AssignedSlot { slot, number })
    }

    /// Records that a chunk of the transfer in `slot` is complete on this side.
    #[inline]
    pub fn chunk_done(&mut self, slot: u32, now: u64) {
        let state = &mut self.slots[slot as usize];
        state.pending = state.pending.saturating_sub(1);
        self.complete_if_done(slot, now);
    }

    /// Records a credit from the target for the first `count` (modulo 2^15) transfers.
    pub fn record_credit(&mut self, count: u64, now: u64) {
        let oldest = self.posted - self.uncredited.len() as u64;
        let newly_credited = count.wrapping_sub(oldest) & VALUE_MASK;
        // A difference larger than the number in flight means that a later credit has overtaken this one.
        if newly_credited > self.uncredited.len() as u64 {
            return;
        }
        for _ in 0..newly_credited {
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
            if self.completed == self.awaited {
                self.awaited_completion = now;
            }
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
    fn completes_a_transfer_after_all_its_chunks_are_complete() {
        let mut outgoing = Outgoing::new(2, false);
        outgoing.set_recorder(Some(Recorder::new(Extent::Iterations(10))));
        let assigned = outgoing.assign_slot(2, 100).unwrap();
        outgoing.chunk_done(assigned.slot, 150);
        assert_eq!((outgoing.in_flight(), outgoing.completed()), (1, 0));
        outgoing.chunk_done(assigned.slot, 170);
        assert_eq!((outgoing.in_flight(), outgoing.completed()), (0, 1));
        let latency = Recorder::finish(outgoing.set_recorder(None));
        assert_eq!((latency.min_nanos, latency.max_nanos), (70, 70));
    }

    #[test]
    fn keeps_the_time_of_the_awaited_transfer() {
        let mut outgoing = Outgoing::new(4, false);
        outgoing.await_completion(2);
        for now in [10, 20, 30] {
            let assigned = outgoing.assign_slot(1, 0).unwrap();
            outgoing.chunk_done(assigned.slot, now);
        }
        assert_eq!(
            (outgoing.awaited_completion(), outgoing.last_completion()),
            (20, 30)
        );
    }

    #[test]
    fn a_full_window_has_no_free_slot() {
        let mut outgoing = Outgoing::new(1, false);
        outgoing.assign_slot(1, 0).unwrap();
        assert_eq!(outgoing.assign_slot(1, 0), None);
    }

    #[test]
    fn completes_when_chunks_and_credit_arrive_in_either_order() {
        let mut outgoing = Outgoing::new(4, true);
        let first = outgoing.assign_slot(1, 0).unwrap();
        let second = outgoing.assign_slot(1, 0).unwrap();
        outgoing.chunk_done(first.slot, 5);
        assert_eq!(outgoing.completed(), 0);
        outgoing.record_credit(2, 9);
        assert_eq!(outgoing.completed(), 1);
        outgoing.chunk_done(second.slot, 12);
        assert_eq!((outgoing.completed(), outgoing.last_completion()), (2, 12));
    }

    #[test]
    fn ignores_credits_overtaken_by_later_credits() {
        let mut outgoing = Outgoing::new(4, true);
        for _ in 0..3 {
            let assigned = outgoing.assign_slot(1, 0).unwrap();
            outgoing.chunk_done(assigned.slot, 0);
        }
        outgoing.record_credit(3, 1);
        assert_eq!(outgoing.completed(), 3);
        outgoing.assign_slot(1, 0).unwrap();
        outgoing.record_credit(2, 2);
        outgoing.record_credit(100, 2);
        assert_eq!(outgoing.completed(), 3);
    }

    #[test]
    fn realigns_slots_only_while_nothing_is_in_flight() {
        let mut outgoing = Outgoing::new(3, false);
        outgoing.realign(2);
        let slots: Vec<u32> = (0..3).map(|_| outgoing.assign_slot(1, 0).unwrap().slot).collect();
        assert_eq!(slots, [2, 0, 1]);
        outgoing.realign(0);
        outgoing.chunk_done(1, 0);
        assert_eq!(outgoing.assign_slot(1, 0).unwrap().slot, 1);
    }
}
