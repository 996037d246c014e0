//! The steps of a measured case, taken together by the threads of both sides.
//!
//! Thread 0 conducts: it exchanges `START` and `STOP` with the other side's thread 0, opens and closes the window of
//! its process and reads the interface counters just outside it. The others serve their peers until the gate opens.

use crds::assignment::Extent;
use crds::record::{CaseFailure, InterfaceDelta, PostingCounters, RailFacts, SideReport};

use super::case::Role;
use super::engine::Engine;
use super::immediate::Signal;
use crate::measure::cpu;
use crate::measure::recorder::Recorder;
use crate::measure::window::{UsageCounters, Window};
use crate::topology::SystemRoots;
use crate::topology::counters::{self, Reading};
use crate::transport::Transport;

/// What one thread does in a case.
///
/// The default is that of a side that posts nothing of its own and only serves its peer.
pub trait Work<T: Transport> {
    /// Does what comes before the window.
    fn warm_up(&mut self, _engine: &mut Engine<'_, T>) -> Result<(), CaseFailure> {
        Ok(())
    }

    /// Does what is measured; `None` where this side posts nothing of its own.
    fn run(&mut self, _engine: &mut Engine<'_, T>) -> Result<Option<Done>, CaseFailure> {
        Ok(None)
    }

    /// Serves the peer until `until` holds.
    fn serve(
        &mut self,
        engine: &mut Engine<'_, T>,
        doing: &'static str,
        until: impl Fn(&Engine<'_, T>) -> bool,
    ) -> Result<(), CaseFailure> {
        engine.serve_until(doing, until)
    }
}

/// What one thread did in the window.
#[derive(Debug)]
pub struct Done {
    /// Round trips or transfers completed.
    pub operations: u64,
    /// When it posted first.
    pub first_post: u64,
    /// When its last operation was complete.
    pub last_completion: u64,
    /// Its samples.
    pub recorder: Recorder,
}

/// What one thread's part of a measured case came to.
#[derive(Debug)]
pub struct ThreadReport {
    /// What it did, and how it posted; nothing where this side was only addressed.
    pub done: Option<(Done, PostingCounters)>,
    /// Whether it was found on another processor than the one it is pinned to.
    pub migrated: bool,
    /// UsageCounters of the process; of thread 0 only.
    pub side: Option<SideReport>,
}

/// Who takes the steps.
#[derive(Clone, Copy, Debug)]
pub struct Side<'a> {
    /// Which side it is.
    pub role: Role,
    /// Whether both sides post.
    pub both: bool,
    /// Whether this is thread 0.
    pub leads: bool,
    /// Where the accounts of the process are.
    pub usage: &'a UsageCounters,
    /// Rails whose interfaces are read.
    pub rails: &'a [RailFacts],
    /// Where the kernel shows itself.
    pub roots: &'a SystemRoots,
}

/// A window that the conductor opened.
struct Open {
    window: Window,
    before: Reading,
}

/// How much is done: the clock is looked at where it is a duration.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    left: u64,
    end: u64,
}

impl Budget {
    /// So much from `now` on.
    pub(super) fn new(extent: Extent, now: u64) -> Self {
        match extent {
            Extent::Iterations(count) => Self {
                left: u64::from(count),
                end: u64::MAX,
            },
            Extent::DurationNanos(nanos) => Self {
                left: u64::MAX,
                end: now.saturating_add(nanos),
            },
        }
    }

    /// Operations that may still be begun, at most `wanted`, as it is `now`.
    #[inline]
    pub(super) fn may_begin(&self, wanted: u32, now: u64) -> u32 {
        if now >= self.end {
            return 0;
        }
        u64::from(wanted).min(self.left) as u32
    }

    /// `count` operations were begun.
    #[inline]
    pub(super) fn begun(&mut self, count: u32) {
        self.left -= u64::from(count);
    }
}

/// Takes all steps of a measured case.
pub fn measure<T: Transport>(
    engine: &mut Engine<'_, T>,
    work: &mut impl Work<T>,
    side: Side<'_>,
) -> Result<ThreadReport, CaseFailure> {
    engine.meet()?;
    work.warm_up(engine)?;
    engine.settle()?;
    engine.gate.arrive_warm();
    let open = open_window(engine, work, side)?;
    engine.posting.start_window();
    let before = cpu::current();
    let done = work.run(engine)?;
    let after = cpu::current();
    engine.gate.arrive_done();
    let counters = engine.posting.counters().clone();
    let side = close_window(engine, work, side, open)?;
    let pinned = engine.thread.cpu;
    Ok(ThreadReport {
        done: done.map(|done| (done, counters)),
        migrated: pinned.is_some_and(|cpu| before != cpu || after != cpu),
        side,
    })
}

fn open_window<T: Transport>(
    engine: &mut Engine<'_, T>,
    work: &mut impl Work<T>,
    side: Side<'_>,
) -> Result<Option<Open>, CaseFailure> {
    if !side.leads {
        // Thread 0 opens it, which wakes no sleeper: whoever slept would post late.
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
            before = Reading::take(side.rails, side.roots);
            engine.signal(Signal::Start)?;
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
            before = Reading::take(side.rails, side.roots);
            window = side.usage.open();
            engine.gate.open_window();
            engine.signal(Signal::Started)?;
        }
    }
    Ok(Some(Open { window, before }))
}

fn close_window<T: Transport>(
    engine: &mut Engine<'_, T>,
    work: &mut impl Work<T>,
    side: Side<'_>,
    open: Option<Open>,
) -> Result<Option<SideReport>, CaseFailure> {
    let Some(Open { window, before }) = open else {
        work.serve(engine, "waiting for the case to end", |engine| {
            engine.gate.ended()
        })?;
        engine.settle()?;
        return Ok(None);
    };
    let mut report = match side.role {
        Role::Initiator => {
            work.serve(engine, "waiting for all threads to drain", |engine| {
                engine.gate.all_done()
            })?;
            let closed = if side.both {
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
    engine.settle()?;
    report.interfaces = interfaces(side, &before);
    engine.gate.end();
    Ok(Some(report))
}

fn interfaces(side: Side<'_>, before: &Reading) -> Vec<InterfaceDelta> {
    counters::delta(before, &Reading::take(side.rails, side.roots), side.rails)
}
