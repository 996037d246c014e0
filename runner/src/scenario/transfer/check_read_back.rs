//! Checks writes and the reads that follow them, burst by burst: the target checks the written data, and the initiator
//! checks the data that it reads back from the same memory.

use crds::assignment::Extent;
use crds::record::CaseFailure;

use super::poster::run_transfers;
use super::read_back;
use crate::immediate::Signal;
use crate::scenario::case::{Case, Role};
use crate::scenario::check::{check_landing, fill_source, poison_landing, verify_landing};
use crate::scenario::engine::Engine;
use crate::transport::Transport;

/// Checks `total` writes and the same number of reads. Returns the number of transfers that arrived at this side.
pub(super) fn check<T: Transport>(
    engine: &mut Engine<'_, T>,
    case: &Case<'_>,
    total: u64,
) -> Result<u64, CaseFailure> {
    let window = u64::from(engine.geometry.window);
    let mut first = 0;
    // Number of signals of each kind that have been exchanged.
    let mut signals = 0;
    while first < total {
        let slots = first..total.min(first + window);
        signals += 2;
        match case.role {
            Role::Initiator => initiator(engine, case, slots.clone(), signals)?,
            Role::Target => target(engine, slots.clone(), signals)?,
        }
        first = slots.end;
    }
    Ok(total)
}

fn initiator<T: Transport>(
    engine: &mut Engine<'_, T>,
    case: &Case<'_>,
    numbers: std::ops::Range<u64>,
    signals: u64,
) -> Result<(), CaseFailure> {
    let count = (numbers.end - numbers.start) as u32;
    for (slot, number) in numbers.clone().enumerate() {
        fill_source(engine, case, slot, number)?;
    }
    engine.serve_until("waiting for the peer to prepare its memory", |engine| {
        engine.inbox.prepared >= signals - 1
    })?;
    engine.outgoing.realign(0);
    run_transfers(engine, Extent::Iterations(count), 0)?;
    engine.signal(Signal::Posted)?;
    engine.serve_until("waiting for the peer to check its memory", |engine| {
        engine.inbox.prepared >= signals
    })?;
    read_back::read(engine, count, None)?;
    engine.signal(Signal::Posted)?;
    for (slot, number) in numbers.enumerate() {
        check_landing(engine, slot, number)?;
    }
    Ok(())
}

/// Checks the written data on the target. The memory is poisoned only after the initiator has read it back.
fn target<T: Transport>(
    engine: &mut Engine<'_, T>,
    numbers: std::ops::Range<u64>,
    signals: u64,
) -> Result<(), CaseFailure> {
    engine.signal(Signal::Prepared)?;
    engine.serve_until("waiting for the peer's writes", |engine| {
        engine.inbox.posted >= signals - 1
    })?;
    for (slot, number) in numbers.enumerate() {
        verify_landing(engine, slot, number)?;
    }
    engine.signal(Signal::Prepared)?;
    engine.serve_until("waiting for the peer's reads", |engine| {
        engine.inbox.posted >= signals
    })?;
    poison_landing(engine)
}
