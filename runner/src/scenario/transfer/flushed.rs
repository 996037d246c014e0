//! Transfers one at a time, each followed by a flush of the endpoint if the library supports flushes.
//!
//! A sample begins before the transfer is posted. It ends when the flush has completed and the transfer is complete by
//! the same criterion as other transfers. The duration of the flush is measured from the transfer's local completion.
//! This completion means only that the application may reuse the memory.

use crds::record::CaseFailure;

use crate::measure::clock;
use crate::measure::recorder::Recorder;
use crate::scenario::budget::Budget;
use crate::scenario::engine::Engine;
use crate::transport::Transport;

/// Recorders for the measured transfers.
#[derive(Debug)]
pub(super) struct Recorders<'a> {
    /// Durations of transfers.
    pub transfers: &'a mut Recorder,
    /// Durations of flushes. Stays empty if the library does not support flushes.
    pub flushes: &'a mut Recorder,
}

/// Runs as many transfers as `budget` allows. The first one starts at `start`. Returns the end time of the last one.
pub(super) fn run<T: Transport>(
    engine: &mut Engine<'_, T>,
    mut budget: Budget,
    mut start: u64,
    mut recorders: Option<Recorders<'_>>,
) -> Result<u64, CaseFailure> {
    while budget.available(1, start) > 0 {
        budget.spend(1);
        engine.post_transfer(start)?;
        engine.serve_until("waiting for the local completion of a transfer", |engine| {
            engine.outgoing.is_sent()
        })?;
        let sent = clock::now();
        if engine.flush()? {
            engine.serve_until("waiting for a flush", |engine| !engine.is_flushing())?;
            if let Some(recorders) = &mut recorders {
                recorders.flushes.record(clock::now() - sent);
            }
        }
        engine.serve_until("waiting for a transfer's credit", |engine| {
            engine.outgoing.in_flight() == 0
        })?;
        let end = clock::now();
        if let Some(recorders) = &mut recorders {
            recorders.transfers.record(end - start);
        }
        start = end;
    }
    Ok(start)
}
