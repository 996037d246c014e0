//! Steps of a measured case, which the threads of both sides execute together.
//!
//! Thread 0 is the leader: it exchanges `START` and `STOP` with thread 0 of the other side, opens and closes the window
//! of its process, and reads the interface counters before and after the window. The other threads serve their peers
//! until the leader opens the window.

use crds::record::{CaseFailure, RailFacts, SideReport};

use super::case::Role;
use super::engine::Engine;
use super::phases::Phases;
use super::thread_report::{ThreadMeasurement, ThreadReport};
use crate::immediate::Signal;
use crate::measure::window::{UsageCounters, Window};
use crate::measure::{clock, cpu};
use crate::topology::SystemRoots;
use crate::topology::counters::{self, CounterReading};
use crate::transport::Transport;

/// Work of one thread in a case.
///
/// The default implementation posts nothing and only serves the peer.
pub trait Work<T: Transport> {
    /// Runs the warm-up, before the window opens.
    fn warm_up(&mut self, _engine: &mut Engine<'_, T>) -> Result<(), CaseFailure> {
        Ok(())
    }

    /// Runs the measured operations and returns their measurement; `None` if this side does not post.
    fn run(&mut self, _engine: &mut Engine<'_, T>) -> Result<Option<ThreadMeasurement>, CaseFailure> {
        Ok(None)
    }

    /// Completes the measurement of this side after the window has been closed.
    fn conclude(&mut self, _measurement: &mut ThreadMeasurement) {}

    /// Serves the peer until `until` returns true.
    fn serve(
        &mut self,
        engine: &mut Engine<'_, T>,
        activity: &'static str,
        until: impl Fn(&Engine<'_, T>) -> bool,
    ) -> Result<(), CaseFailure> {
        engine.serve_until(activity, until)
    }
}

/// Parameters of the side and the thread that execute the steps.
#[derive(Clone, Copy, Debug)]
pub struct SideContext<'a> {
    /// Role of this side.
    pub role: Role,
    /// Whether both sides post.
    pub bidirectional: bool,
    /// Phases of this worker's flows; `None` if the coordinator does not control them.
    pub phases: Option<&'a Phases>,
    /// Index of this thread's flow among the worker's flows.
    pub flow: usize,
    /// Number of this thread in its flow. Thread 0 is the leader.
    pub thread: usize,
    /// Sources of the process's usage counters.
    pub usage: &'a UsageCounters,
    /// Rails whose interface counters are read.
    pub rails: &'a [RailFacts],
    /// Mount points of sysfs and procfs.
    pub roots: &'a SystemRoots,
}

/// A window opened by the leader thread.
struct OpenWindow {
    window: Window,
    before: CounterReading,
}

/// Executes all steps of a measured case.
pub fn measure<T: Transport>(
    engine: &mut Engine<'_, T>,
    mut work: impl Work<T>,
    side: SideContext<'_>,
) -> Result<ThreadReport, CaseFailure> {
    engine.synchronize()?;
    work.warm_up(engine)?;
    engine.wait_for_local_completions()?;
    engine.gate.mark_warm();
    let window = open_window(engine, &mut work, side)?;
    engine.posting.start_window();
    let cpu_before = cpu::current();
    let mut measurement = work.run(engine)?;
    let cpu_after = cpu::current();
    engine.gate.mark_done();
    let counters = engine.posting.counters().clone();
    let side = close_window(engine, &mut work, side, window)?;
    if let Some(measurement) = &mut measurement {
        work.conclude(measurement);
    }
    let pinned = engine.thread.cpu;
    Ok(ThreadReport {
        measurement: measurement.map(|measurement| (measurement, counters)),
        migrated: pinned.is_some_and(|cpu| cpu_before != cpu || cpu_after != cpu),
        side,
    })
}

fn open_window<T: Transport>(
    engine: &mut Engine<'_, T>,
    work: &mut impl Work<T>,
    side: SideContext<'_>,
) -> Result<Option<OpenWindow>, CaseFailure> {
    if side.thread != 0 {
        // Thread 0 does not wake sleeping threads when it opens the window, so a thread that slept here would start
        // posting late.
        engine.awake = true;
        work.serve(engine, "waiting for the window to open", |engine| {
            engine.gate.window_is_open()
        })?;
        engine.awake = false;
        return Ok(None);
    }
    let (window, before);
    match side.role {
        Role::Initiator => {
            work.serve(engine, "waiting for the warm-up of all threads", |engine| {
                engine.gate.all_warm()
            })?;
            // If both sides post, the counters are read before `START` is sent, because the target starts posting as
            // soon as its window is open. Otherwise, `START` is sent first, so that both sides wait for their counters
            // concurrently. This is safe because the target sends no data before it has received data.
            if side.bidirectional {
                before = read_counters(engine, work, side)?;
                engine.signal(Signal::Start)?;
            } else {
                engine.signal(Signal::Start)?;
                before = read_counters(engine, work, side)?;
            }
            work.serve(engine, "waiting for the target's window to open", |engine| {
                engine.inbox.started
            })?;
            window = side.usage.open();
            engine.gate.open_window();
        }
        Role::Target => {
            work.serve(engine, "waiting for the initiator's warm-up", |engine| {
                engine.inbox.start && engine.gate.all_warm()
            })?;
            before = read_counters(engine, work, side)?;
            window = side.usage.open();
            engine.gate.open_window();
            engine.signal(Signal::Started)?;
        }
    }
    Ok(Some(OpenWindow { window, before }))
}

fn close_window<T: Transport>(
    engine: &mut Engine<'_, T>,
    work: &mut impl Work<T>,
    side: SideContext<'_>,
    open: Option<OpenWindow>,
) -> Result<Option<SideReport>, CaseFailure> {
    let Some(OpenWindow { window, before }) = open else {
        work.serve(engine, "waiting for the case to end", |engine| {
            engine.gate.has_ended()
        })?;
        engine.wait_for_local_completions()?;
        return Ok(None);
    };
    let mut report = match side.role {
        Role::Initiator => {
            work.serve(engine, "waiting for all threads to drain", |engine| {
                engine.gate.all_done()
            })?;
            let closed = (!side.bidirectional).then(|| side.usage.close(&window));
            engine.signal(Signal::Stop)?;
            work.serve(engine, "waiting for the target's window to close", |engine| {
                engine.inbox.stopped
            })?;
            closed.unwrap_or_else(|| side.usage.close(&window))
        }
        Role::Target => {
            work.serve(engine, "waiting for the initiator's window to close", |engine| {
                engine.inbox.stop && engine.gate.all_done()
            })?;
            let closed = side.usage.close(&window);
            engine.signal(Signal::Stopped)?;
            closed
        }
    };
    report.contention = side.usage.contention_since(&window);
    engine.wait_for_local_completions()?;
    let after = read_counters(engine, work, side)?;
    report.interfaces = counters::delta(&before, &after, side.rails);
    engine.gate.end();
    Ok(Some(report))
}

/// Reads the interface counters once they include all traffic so far. Serves the peer until then.
fn read_counters<T: Transport>(
    engine: &mut Engine<'_, T>,
    work: &mut impl Work<T>,
    side: SideContext<'_>,
) -> Result<CounterReading, CaseFailure> {
    let interval = counters::refresh_interval(side.rails, side.roots);
    if !interval.is_zero() {
        let due = clock::now().saturating_add(u64::try_from(interval.as_nanos()).unwrap_or(u64::MAX));
        // A sleeping thread would not notice that the interval has passed, because no completion wakes it.
        engine.awake = true;
        work.serve(
            engine,
            "waiting for the hardware counters to be refreshed",
            |_| clock::now() >= due,
        )?;
        engine.awake = false;
    }
    Ok(CounterReading::take(side.rails, side.roots))
}
