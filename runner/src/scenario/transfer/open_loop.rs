//! Posts transfers at their intended start times, whether or not earlier transfers have completed.
//!
//! A transfer is posted at the first poll after its intended start at which a slot of the window is free. Its sample
//! begins at the intended start: a stall of the fabric therefore appears in the samples of all transfers that should
//! have started during it. A closed loop would instead start fewer transfers, and report only the ones that were in
//! flight (coordinated omission).

use crds::record::{CaseFailure, OpenLoopReport};

use crate::measure::clock;
use crate::scenario::budget::Budget;
use crate::scenario::engine::Engine;
use crate::scenario::schedule::Schedule;
use crate::transport::Transport;

/// Posts as many transfers as `budget` allows; the first intended start is `first`. Returns when all transfers are
/// complete.
pub(super) fn run<T: Transport>(
    engine: &mut Engine<'_, T>,
    mut budget: Budget,
    first: u64,
    mut schedule: Schedule,
) -> Result<OpenLoopReport, CaseFailure> {
    let mut report = OpenLoopReport::default();
    let mut draining = false;
    // Whether the next transfer is due but no slot is free.
    let mut late = false;
    loop {
        let now = clock::now();
        while !draining {
            let due = first + schedule.next();
            if budget.available(1, due) == 0 {
                draining = true;
                if engine.geometry.needs_credit() && engine.outgoing.in_flight() > 0 {
                    engine.request_credit()?;
                }
                break;
            }
            if due > now {
                break;
            }
            if engine.outgoing.free() == 0 {
                late = true;
                break;
            }
            engine.post_transfer(due)?;
            budget.spend(1);
            report.intended_nanos = due - first;
            report.late += u64::from(std::mem::take(&mut late));
            schedule.advance();
        }
        if draining && engine.outgoing.in_flight() == 0 {
            return Ok(report);
        }
        if !engine.poll()? {
            // A sleeping thread would miss the next intended start.
            engine.idle_awake("waiting for transfers to complete")?;
        }
    }
}
