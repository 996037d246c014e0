//! Bursts of writes, each followed by a burst of reads from the same memory.
//!
//! A burst starts when all transfers of the previous one are complete. The reads use the same slots and rails as the
//! writes, so both transfer the same bytes on every rail, in opposite directions.

use crds::record::CaseFailure;

use crate::measure::recorder::Recorder;
use crate::scenario::budget::Budget;
use crate::scenario::engine::Engine;
use crate::transport::Transport;

/// Recorders for the measured transfers.
#[derive(Debug)]
pub(super) struct Recorders {
    /// Latencies of writes.
    pub writes: Recorder,
    /// Latencies of reads.
    pub reads: Recorder,
}

/// Runs as many bursts as `budget` allows. Every burst of writes is followed by its burst of reads. Returns `recorders`
/// with the latencies of the transfers.
pub(super) fn run<T: Transport>(
    engine: &mut Engine<'_, T>,
    mut budget: Budget,
    recorders: Option<Recorders>,
) -> Result<Option<Recorders>, CaseFailure> {
    let (mut writes, mut reads) = recorders.map_or((None, None), |recorders| {
        (Some(recorders.writes), Some(recorders.reads))
    });
    loop {
        let available = budget.available(2 * engine.geometry.batch, engine.outgoing.latest());
        let count = available.div_ceil(2);
        if count == 0 {
            return Ok(writes
                .zip(reads)
                .map(|(writes, reads)| Recorders { writes, reads }));
        }
        budget.spend(available);
        let rotation = engine.rotation.clone();
        writes = post(engine, count, writes)?;
        engine.rotation = rotation;
        reads = read(engine, count, reads)?;
    }
}

/// Reads back the first `count` slots, and waits until the reads are complete.
pub(super) fn read<T: Transport>(
    engine: &mut Engine<'_, T>,
    count: u32,
    recorder: Option<Recorder>,
) -> Result<Option<Recorder>, CaseFailure> {
    engine.reading_back = true;
    let posted = post(engine, count, recorder);
    engine.reading_back = false;
    posted
}

/// Posts a burst of `count` transfers in the first slots, and waits until they are complete. Their latencies are added
/// to `recorder`, which is returned.
fn post<T: Transport>(
    engine: &mut Engine<'_, T>,
    count: u32,
    recorder: Option<Recorder>,
) -> Result<Option<Recorder>, CaseFailure> {
    engine.outgoing.realign(0);
    engine.outgoing.set_recorder(recorder);
    engine.post_burst(count)?;
    while engine.outgoing.in_flight() > 0 {
        if !engine.poll()? {
            engine.idle("waiting for the transfers of a batch to complete")?;
        }
    }
    Ok(engine.outgoing.set_recorder(None))
}
