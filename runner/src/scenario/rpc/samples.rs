//! Takes the samples of a case, one after another or at their intended start times.
//!
//! Only one sample is in progress at a time. The sample of an open loop begins at its intended start, so it includes the
//! time for which it waited for the previous one.

use crds::record::{CaseFailure, OpenLoopReport};

use crate::measure::clock;
use crate::measure::recorder::Recorder;
use crate::scenario::budget::Budget;
use crate::scenario::engine::Engine;
use crate::scenario::isolated::POLL_INTERVAL_NANOS;
use crate::scenario::schedule::Schedule;
use crate::transport::Transport;

/// Time before an intended start during which the transport is not polled. A poll takes much less time.
const QUIET_NANOS: u64 = 1_000_000;

/// Side that makes the calls.
pub(super) trait SampleSource<T: Transport> {
    /// Makes the calls of one sample.
    fn call(&mut self, engine: &mut Engine<'_, T>) -> Result<(), CaseFailure>;
}

/// Samples that have been taken.
pub(super) struct Taken {
    pub(super) count: u64,
    /// End time of the last sample.
    pub(super) end: u64,
    /// `None` for a closed loop.
    pub(super) open_loop: Option<OpenLoopReport>,
}

/// Takes as many samples as `budget` allows. The first one starts at `first`. The others start at the end of the previous
/// one or, if there is a `schedule`, at their intended start times.
///
/// # Errors
/// Returns an error if a call fails or the deadline passes.
pub(super) fn take<T: Transport>(
    engine: &mut Engine<'_, T>,
    calls: &mut impl SampleSource<T>,
    mut budget: Budget,
    first: u64,
    mut schedule: Option<Schedule>,
    mut recorder: Option<&mut Recorder>,
) -> Result<Taken, CaseFailure> {
    let mut taken = Taken {
        count: 0,
        end: first,
        open_loop: schedule.as_ref().map(|_| OpenLoopReport::default()),
    };
    let mut start = first;
    let mut next_poll = first + POLL_INTERVAL_NANOS;
    loop {
        if let Some(schedule) = &schedule {
            start = first + schedule.next();
        }
        if budget.available(1, start) == 0 {
            return Ok(taken);
        }
        budget.spend(1);
        if let (Some(schedule), Some(report)) = (&mut schedule, &mut taken.open_loop) {
            report.intended_nanos = start - first;
            report.late += u64::from(taken.end > start);
            schedule.advance();
            wait_until(engine, start)?;
        }
        calls.call(engine)?;
        taken.end = clock::now();
        taken.count += 1;
        if let Some(recorder) = &mut recorder {
            recorder.record(taken.end - start);
        }
        start = taken.end;
        if taken.end >= next_poll {
            engine.poll()?;
            if engine.waiter.deadline_has_passed() {
                return Err(engine.deadline_exceeded("calling"));
            }
            start = clock::now();
            next_poll = start + POLL_INTERVAL_NANOS;
        }
    }
}

/// Waits until `due`. No message is in flight between two samples, so the transport need not be polled shortly before
/// `due`, where the start of a call would wait for the end of a poll even if the call does not use the transport.
fn wait_until<T: Transport>(engine: &mut Engine<'_, T>, due: u64) -> Result<(), CaseFailure> {
    loop {
        let left = due.saturating_sub(clock::now());
        if left == 0 {
            return Ok(());
        }
        if left > QUIET_NANOS {
            engine.poll()?;
        }
        // A sleeping thread would miss the intended start.
        engine.idle_awake("waiting for the next intended start")?;
    }
}
