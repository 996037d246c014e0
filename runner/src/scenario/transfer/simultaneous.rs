//! Transfers whose rates are measured only while other transfers are running: the flows of the many-to-many pattern,
//! and the two directions of a bidirectional transfer.
//!
//! The rate of such a transfer depends on the other transfers that share its links. A thread therefore posts
//! continuously, from before the first window opens until after the last one has closed:
//!
//! 1. It posts until a transfer has completed, and reports that it is active.
//! 2. When all threads are active, the windows may open. A window opens at the first completion after that. It closes
//!    at the first completion after the duration that the scenario specifies, or at the completion that reaches the
//!    number of transfers that it specifies. Rates are computed between completions, so that the transfers in flight at
//!    both ends of the window do not matter.
//! 3. It continues to post until the windows of all threads have closed and, if the workload has pings, until there are
//!    enough samples of them.
//!
//! The coordinator moves the flows through these phases ([`super::phases`]). Before the first phase, it waits until
//! both sides of all flows have read their counters, so that the counters of every flow include the transfers of all
//! flows that use the same interface. The two sides of a bidirectional transfer signal the ends of the phases to each
//! other.
//!
//! A sample belongs to the window in which its transfer completes. Windows that are open on different machines need no
//! common clock: each is within the time in which all threads are active.

use crds::assignment::{Extent, TransferWorkload};
use crds::record::{CaseFailure, FailureReason};

use super::poster::run_transfers;
use crate::immediate::Signal;
use crate::measure::clock;
use crate::measure::recorder::Recorder;
use crate::scenario::case::Role;
use crate::scenario::case_protocol::Work;
use crate::scenario::engine::{Engine, failure};
use crate::scenario::observed::ThreadObservations;
use crate::scenario::phases::Phases;
use crate::scenario::ping::PingRecorders;
use crate::scenario::thread_report::{ThreadMeasurement, ThreadWindow};
use crate::transport::Transport;

/// Work of one thread that posts while other threads post.
#[derive(Debug)]
pub struct SimultaneousPoster<'a> {
    warmup: Extent,
    /// Extent of the window.
    measured: Extent,
    coordination: Coordination<'a>,
    recorder: Option<Recorder>,
    /// Whether the workload has pings.
    is_pinging: bool,
    /// Round-trip times of pings; `None` if this side sends none.
    pings: Option<PingRecorders>,
}

/// What determines when the windows open and when the transfers end.
#[derive(Debug)]
enum Coordination<'a> {
    /// The coordinator controls all flows.
    Flows(&'a Phases),
    /// The two sides of a bidirectional transfer control each other.
    Sides(AnnouncedPhases),
}

/// Phases that a thread has signaled to its peer.
#[derive(Clone, Copy, Debug, Default)]
struct AnnouncedPhases {
    active: bool,
    measured: bool,
}

impl Coordination<'_> {
    /// Records that transfers of the calling thread have completed, and that it continues to post.
    fn mark_active<T: Transport>(&self, engine: &Engine<'_, T>) {
        match self {
            Self::Flows(phases) => phases.mark_active(),
            Self::Sides(_) => engine.gate.mark_active(),
        }
    }

    /// Records that the window of the calling thread has closed, and that it continues to post.
    fn mark_measured<T: Transport>(&self, engine: &Engine<'_, T>) {
        match self {
            Self::Flows(phases) => phases.mark_measured(),
            Self::Sides(_) => engine.gate.mark_measured(),
        }
    }

    /// Signals to the other side the phases that all threads of this side have reached.
    fn announce<T: Transport>(&mut self, engine: &mut Engine<'_, T>) -> Result<(), CaseFailure> {
        let Self::Sides(announced) = self else {
            return Ok(());
        };
        if !announced.active && engine.gate.all_active() {
            announced.active = true;
            engine.signal(Signal::Active)?;
        }
        if !announced.measured && engine.gate.all_measured() {
            announced.measured = true;
            engine.signal(Signal::Measured)?;
        }
        Ok(())
    }

    /// Whether the windows may open.
    fn may_measure<T: Transport>(&self, engine: &Engine<'_, T>) -> bool {
        match self {
            Self::Flows(phases) => phases.may_measure(),
            Self::Sides(announced) => announced.active && engine.inbox.active,
        }
    }

    /// Whether the thread must not post any more transfers.
    fn must_finish<T: Transport>(&self, engine: &Engine<'_, T>) -> bool {
        match self {
            Self::Flows(phases) => phases.must_finish(),
            Self::Sides(announced) => announced.measured && engine.inbox.measured,
        }
    }
}

/// State of one thread's window.
#[derive(Clone, Copy, Debug)]
enum State {
    /// No transfer has completed yet.
    Starting,
    /// Transfers have completed; the window may not open yet, or opens at the next completion.
    Active,
    /// The window is open.
    Open { opened: u64, completed: u64 },
    /// The window has closed.
    Closed(ThreadWindow),
}

impl<'a> SimultaneousPoster<'a> {
    /// Creates the work of one flow thread, and allocates the memory for its samples.
    ///
    /// # Errors
    /// Returns an error if the workload's extent is not a duration.
    pub fn for_flow(workload: &TransferWorkload, phases: &'a Phases) -> Result<Self, CaseFailure> {
        if !matches!(workload.measured, Extent::DurationNanos(_)) {
            let message = "the flows of the many-to-many pattern need a duration".to_owned();
            return Err(failure(FailureReason::InvalidAssignment, message));
        }
        Ok(Self::new(workload, Coordination::Flows(phases), None))
    }

    /// Creates the work of one thread of a bidirectional transfer on the side with this role, and allocates the memory
    /// for its samples.
    pub fn for_direction(workload: &TransferWorkload, role: Role) -> Self {
        let pings = (workload.sends_pings() && role == Role::Initiator).then(PingRecorders::new);
        Self::new(workload, Coordination::Sides(AnnouncedPhases::default()), pings)
    }

    fn new(
        workload: &TransferWorkload,
        coordination: Coordination<'a>,
        pings: Option<PingRecorders>,
    ) -> Self {
        Self {
            warmup: workload.warmup,
            measured: workload.measured,
            coordination,
            recorder: Some(Recorder::new(workload.measured)),
            is_pinging: workload.sends_pings(),
            pings,
        }
    }

    /// Samples the idle fabric on the initiator. The target waits, so that its warm-up does not disturb the samples.
    fn sample_idle<T: Transport>(&mut self, engine: &mut Engine<'_, T>) -> Result<(), CaseFailure> {
        match &mut self.pings {
            Some(pings) => {
                pings.measure_idle(engine)?;
                engine.signal(Signal::IdleSampled)
            }
            None => engine.serve_until("waiting for the peer to sample the idle fabric", |engine| {
                engine.inbox.idle_sampled
            }),
        }
    }

    /// Number of operations in the window; `None` if the window has a duration.
    fn count(&self) -> Option<u64> {
        match self.measured {
            Extent::DurationNanos(_) => None,
            Extent::Iterations(count)
            | Extent::FillWindow {
                min_iterations: count,
                ..
            } => Some(count.into()),
        }
    }

    /// Time at which the window closes that opened at `opened` after `before` completions, and its number of operations;
    /// `None` if it is still open. More operations may already have completed, because posting a burst can include
    /// several polls. They do not belong to a window with a number of operations.
    fn end<T: Transport>(&self, engine: &Engine<'_, T>, opened: u64, before: u64) -> Option<(u64, u64)> {
        let completed = engine.outgoing.completed() - before;
        match (self.measured, self.count()) {
            (_, Some(count)) => (completed >= count).then(|| (engine.outgoing.awaited_completion(), count)),
            (Extent::DurationNanos(duration), _) => {
                let now = engine.outgoing.last_completion();
                (now.saturating_sub(opened) >= duration).then_some((now, completed))
            }
            (Extent::Iterations(_) | Extent::FillWindow { .. }, None) => None,
        }
    }

    /// Returns the state after transfers have completed, the last one at `now`. `completed` transfers have completed so
    /// far.
    fn after_completion<T: Transport>(
        &mut self,
        engine: &mut Engine<'_, T>,
        state: State,
        now: u64,
    ) -> State {
        let completed = engine.outgoing.completed();
        match state {
            State::Starting => {
                self.coordination.mark_active(engine);
                State::Active
            }
            State::Active if self.coordination.may_measure(engine) => {
                engine.outgoing.set_recorder(self.recorder.take());
                if let Some(pings) = &mut self.pings {
                    pings.start(engine);
                }
                if let Some(count) = self.count() {
                    engine.outgoing.await_completion(completed + count);
                }
                State::Open {
                    opened: now,
                    completed,
                }
            }
            State::Open {
                opened,
                completed: before,
            } => {
                let Some((closed, operations)) = self.end(engine, opened, before) else {
                    return state;
                };
                self.recorder = engine.outgoing.set_recorder(None);
                State::Closed(ThreadWindow {
                    opened,
                    closed,
                    operations,
                })
            }
            State::Active | State::Closed(_) => state,
        }
    }

    /// Marks this thread as measured if its window has closed and there are enough samples of pings. Until then, it and
    /// its peer continue to post, so that pings that are sent after the window are also sent during transfers.
    fn mark_if_measured<T: Transport>(&self, engine: &mut Engine<'_, T>, state: State) -> bool {
        let State::Closed(window) = state else {
            return false;
        };
        if self.pings.is_some() {
            if !PingRecorders::has_enough(engine, window.closed) {
                return false;
            }
            PingRecorders::pause(engine);
        }
        self.coordination.mark_measured(engine);
        true
    }

    /// Posts until the windows of all threads have closed, and returns the window when all transfers are complete.
    ///
    /// Completions are observed after each burst, because transfers can complete while the burst is posted: a library
    /// that returns EAGAIN for every post would otherwise always leave a free slot for the next burst.
    fn post<T: Transport>(&mut self, engine: &mut Engine<'_, T>) -> Result<ThreadWindow, CaseFailure> {
        let mut state = State::Starting;
        let mut draining = false;
        let mut is_measured = false;
        let mut completed = engine.outgoing.completed();
        loop {
            is_measured = is_measured || self.mark_if_measured(engine, state);
            self.coordination.announce(engine)?;
            if !draining && self.coordination.must_finish(engine) {
                draining = true;
                // In a window of 1, a credit is due for every transfer even without a request.
                let is_due_on_request = engine.geometry.needs_credit() && engine.geometry.window > 1;
                if is_due_on_request && engine.outgoing.in_flight() > 0 {
                    engine.request_credit()?;
                }
            }
            if draining && engine.outgoing.in_flight() == 0 {
                break;
            }
            if !draining && engine.outgoing.free() >= engine.geometry.batch as usize {
                engine.post_burst(engine.geometry.batch)?;
            } else if !engine.poll()? {
                engine.idle("waiting for transfers to complete")?;
            }
            if engine.outgoing.completed() != completed {
                completed = engine.outgoing.completed();
                let now = engine.outgoing.last_completion();
                state = self.after_completion(engine, state, now);
            }
            if engine.gate.has_failed() {
                return Err(failure(
                    FailureReason::Interrupted,
                    "the case was abandoned because another thread or flow failed".to_owned(),
                ));
            }
        }
        match state {
            State::Closed(window) => Ok(window),
            State::Starting | State::Active | State::Open { .. } => Err(failure(
                FailureReason::Internal,
                "the case ended before the window had closed".to_owned(),
            )),
        }
    }
}

impl<T: Transport> Work<T> for SimultaneousPoster<'_> {
    fn warm_up(&mut self, engine: &mut Engine<'_, T>) -> Result<(), CaseFailure> {
        if self.is_pinging {
            self.sample_idle(engine)?;
        }
        run_transfers(engine, self.warmup, clock::now())
    }

    fn run(&mut self, engine: &mut Engine<'_, T>) -> Result<Option<ThreadMeasurement>, CaseFailure> {
        if let Coordination::Flows(phases) = self.coordination {
            phases.mark_ready();
            // A sleeping thread would not notice the command, because no completion wakes it.
            engine.awake = true;
            engine.serve_until("waiting for all flows to be ready", |_| phases.may_start())?;
            engine.awake = false;
        }
        let before = engine.outgoing.completed();
        let first_post = clock::now();
        let window = self.post(engine)?;
        if let Some(pings) = &mut self.pings {
            pings.stop(engine)?;
        }
        let operations = engine.outgoing.completed() - before;
        let last_completion = engine.outgoing.last_completion();
        let mut observed = ThreadObservations::default();
        if let Some(pings) = self.pings.take() {
            pings.report(&mut observed);
        }
        Ok(self.recorder.take().map(|recorder| ThreadMeasurement {
            window: Some(window),
            observed,
            ..ThreadMeasurement::new(operations, first_post, last_completion, recorder)
        }))
    }
}
