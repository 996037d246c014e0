//! Steps of a measured case, which the threads of both sides execute together.
//!
//! Thread 0 is the leader: it exchanges `START` and `STOP` with thread 0 of the other side, opens and closes the window
//! of its process, and reads the interface counters before and after the window. The other threads serve their peers
//! until the leader opens the window.

use crds::assignment::Extent;
use crds::record::{
    CaseFailure, CommandReport, FootprintReport, OpenLoopReport, PostingCounters, RailFacts, SideReport,
};

use super::case::Role;
use super::engine::Engine;
use super::parameter_serving::ServingThread;
use super::phases::Phases;
use super::ping::PingRecorders;
use super::simultaneous::ThreadWindow;
use crate::immediate::Signal;
use crate::measure::recorder::Recorder;
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

/// Measurement of one thread during the window.
#[derive(Debug)]
pub struct ThreadMeasurement {
    /// Number of completed round trips or transfers.
    pub operations: u64,
    /// Time of the first post, in nanoseconds, as returned by `clock::now`.
    pub first_post: u64,
    /// Time at which the last operation completed, in nanoseconds, as returned by `clock::now`.
    pub last_completion: u64,
    /// Latency samples.
    pub recorder: Recorder,
    /// Start times of the transfers in an open loop; `None` in a closed loop.
    pub open_loop: Option<OpenLoopReport>,
    /// Durations of the flushes that follow the transfers; `None` if transfers are not followed by flushes.
    pub flushes: Option<Recorder>,
    /// Round-trip times of pings; `None` if this thread sends none.
    pub pings: Option<PingRecorders>,
    /// Observations of a worker in parameter serving; `None` for other threads.
    pub serving: Option<Box<ServingThread>>,
    /// Values that are measured only for calls; `None` for other workloads.
    pub calls: Option<CallMeasurement>,
    /// Memory of the host and the consumers of a tensor; `None` for other workloads.
    pub footprint: Option<FootprintReport>,
    /// Values that a command reported; `None` for other workloads.
    pub command: Option<CommandReport>,
    /// Window in which all flows, or both directions of a bidirectional transfer, are active, and to which the latency
    /// samples belong; `None` if the case has no such window.
    pub window: Option<ThreadWindow>,
    /// Latencies of the reads that follow the writes; `None` if there are no such reads. `recorder` does not contain
    /// these latencies.
    pub read_backs: Option<Recorder>,
    /// Duration of the first burst of the warm-up, in nanoseconds; `None` if it is not timed.
    pub first_burst_nanos: Option<u64>,
}

impl ThreadMeasurement {
    /// Creates the measurement of `operations` operations, without the values that are measured only for some
    /// workloads.
    pub fn new(operations: u64, first_post: u64, last_completion: u64, recorder: Recorder) -> Self {
        Self {
            operations,
            first_post,
            last_completion,
            recorder,
            open_loop: None,
            flushes: None,
            pings: None,
            serving: None,
            calls: None,
            footprint: None,
            command: None,
            window: None,
            read_backs: None,
            first_burst_nanos: None,
        }
    }
}

/// Values that are measured only for calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallMeasurement {
    /// CPU time of the extension during the calls, in nanoseconds; 0 if there is no extension.
    pub extension_cpu_nanos: u64,
    /// Memory of host and extension after the warm-up, in bytes; `None` if it is unknown.
    pub memory_before_bytes: Option<u64>,
    /// Memory of host and extension after the window, in bytes; `None` if it is unknown.
    pub memory_after_bytes: Option<u64>,
}

/// Report of one thread in a measured case.
#[derive(Debug)]
pub struct ThreadReport {
    /// Measurement and posting counters; `None` if this side does not post.
    pub measurement: Option<(ThreadMeasurement, PostingCounters)>,
    /// Whether the thread ran on a CPU other than the one that it is pinned to.
    pub migrated: bool,
    /// Resource usage of the process. Only thread 0 reports it.
    pub side: Option<SideReport>,
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

/// Operations or time that remain in an extent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    left: u64,
    end: u64,
}

impl Budget {
    /// Creates the budget for `extent`, starting at `now`. A case has the extent [`Extent::FillWindow`] only if no
    /// pilot has determined its number of operations. Its budget is then the minimum number of operations.
    pub(super) fn new(extent: Extent, now: u64) -> Self {
        match extent {
            Extent::Iterations(count)
            | Extent::FillWindow {
                min_iterations: count,
                ..
            } => Self {
                left: u64::from(count),
                end: u64::MAX,
            },
            Extent::DurationNanos(nanos) => Self {
                left: u64::MAX,
                end: now.saturating_add(nanos),
            },
        }
    }

    /// Number of operations that may be started at time `now`, at most `wanted`.
    #[inline]
    pub(super) fn available(&self, wanted: u32, now: u64) -> u32 {
        if now >= self.end {
            return 0;
        }
        u64::from(wanted).min(self.left) as u32
    }

    /// Subtracts `count` started operations from the budget.
    #[inline]
    pub(super) fn spend(&mut self, count: u32) {
        self.left -= u64::from(count);
    }
}

/// Executes all steps of a measured case.
pub fn measure<T: Transport>(
    engine: &mut Engine<'_, T>,
    work: &mut impl Work<T>,
    side: SideContext<'_>,
) -> Result<ThreadReport, CaseFailure> {
    engine.synchronize()?;
    work.warm_up(engine)?;
    engine.wait_for_local_completions()?;
    engine.gate.mark_warm();
    let window = open_window(engine, work, side)?;
    engine.posting.start_window();
    let cpu_before = cpu::current();
    let mut measurement = work.run(engine)?;
    let cpu_after = cpu::current();
    engine.gate.mark_done();
    let counters = engine.posting.counters().clone();
    let side = close_window(engine, work, side, window)?;
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
            let closed = if side.bidirectional {
                Err(window)
            } else {
                Ok(side.usage.close(window))
            };
            engine.signal(Signal::Stop)?;
            work.serve(engine, "waiting for the target's window to close", |engine| {
                engine.inbox.stopped
            })?;
            closed.unwrap_or_else(|window| side.usage.close(window))
        }
        Role::Target => {
            work.serve(engine, "waiting for the initiator's window to close", |engine| {
                engine.inbox.stop && engine.gate.all_done()
            })?;
            let closed = side.usage.close(window);
            engine.signal(Signal::Stopped)?;
            closed
        }
    };
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
