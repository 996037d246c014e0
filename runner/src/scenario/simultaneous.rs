//! Transfers of one flow of the many-to-many pattern.
//!
//! The rate of a flow depends on the flows that share its links, so it counts only while all flows are active. A flow
//! therefore posts without a pause from before the first window of any flow opens until after the last one has closed:
//!
//! 1. When both sides have read their counters, it reports that it is ready. It starts to post when all flows are ready,
//!    so that the counters of every flow include the transfers of all flows that use the same interface.
//! 2. It posts until a transfer has completed, and reports that it is active.
//! 3. When all flows are active, the coordinator lets the windows open. A window opens at the first completion after
//!    this command, and closes at the first completion after the duration of the scenario. Rates are computed between
//!    completions, so that the transfers in flight at both ends of the window do not matter.
//! 4. The flow continues to post until the coordinator knows that the windows of all flows have closed.
//!
//! A sample belongs to the window in which its transfer completes. Two windows that are open at the same time on
//! different machines need no common clock: each is within the time in which all flows are active.

use crds::assignment::{Extent, TransferWorkload};
use crds::record::{CaseFailure, FailureReason};

use super::case_protocol::{ThreadMeasurement, Work};
use super::engine::{Engine, failure};
use super::phases::Phases;
use super::transfer::run_transfers;
use crate::measure::clock;
use crate::measure::recorder::Recorder;
use crate::transport::Transport;

/// Work of one thread of a flow on the side that posts.
#[derive(Debug)]
pub struct SimultaneousPoster<'a> {
    warmup: Extent,
    /// Minimum length of the window, in nanoseconds.
    duration: u64,
    phases: &'a Phases,
    recorder: Option<Recorder>,
}

/// Window of one thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadWindow {
    /// Time of the completion at which the window opened, in nanoseconds, as returned by `clock::now`.
    pub opened: u64,
    /// Time of the completion at which the window closed, in nanoseconds, as returned by `clock::now`.
    pub closed: u64,
    /// Number of transfers that completed in the window.
    pub operations: u64,
}

/// State of the window of one thread.
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
    /// Creates the work of one thread, and allocates the memory for its samples.
    ///
    /// # Errors
    /// If the workload does not last for a duration.
    pub fn new(workload: &TransferWorkload, phases: &'a Phases) -> Result<Self, CaseFailure> {
        let Extent::DurationNanos(duration) = workload.measured else {
            let message = "the flows of the many-to-many pattern need a duration".to_owned();
            return Err(failure(FailureReason::InvalidAssignment, message));
        };
        Ok(Self {
            warmup: workload.warmup,
            duration,
            phases,
            recorder: Some(Recorder::new(workload.measured)),
        })
    }

    /// State after transfers have completed, the last one at `now`; `completed` transfers have completed so far.
    fn after_completion<T: Transport>(
        &mut self,
        engine: &mut Engine<'_, T>,
        state: State,
        now: u64,
    ) -> State {
        let completed = engine.outgoing.completed();
        match state {
            State::Starting => {
                self.phases.arrive_active();
                State::Active
            }
            State::Active if self.phases.may_measure() => {
                engine.outgoing.set_recorder(self.recorder.take());
                State::Open {
                    opened: now,
                    completed,
                }
            }
            State::Open {
                opened,
                completed: before,
            } if now.saturating_sub(opened) >= self.duration => {
                self.recorder = engine.outgoing.set_recorder(None);
                self.phases.arrive_measured();
                State::Closed(ThreadWindow {
                    opened,
                    closed: now,
                    operations: completed - before,
                })
            }
            State::Active | State::Open { .. } | State::Closed(_) => state,
        }
    }

    /// Posts until the coordinator ends the case, and returns the window when all transfers are complete.
    fn post<T: Transport>(&mut self, engine: &mut Engine<'_, T>) -> Result<ThreadWindow, CaseFailure> {
        let mut state = State::Starting;
        let mut draining = false;
        let mut completed = engine.outgoing.completed();
        loop {
            if !draining && self.phases.must_finish() {
                draining = true;
                // In a window of 1, a credit is due for every transfer without a request.
                let is_due_on_request = engine.geometry.needs_credit() && engine.geometry.window > 1;
                if is_due_on_request && engine.outgoing.in_flight() > 0 {
                    engine.request_credit()?;
                }
            }
            while !draining && engine.outgoing.free() >= engine.geometry.batch as usize {
                engine.post_burst(engine.geometry.batch)?;
            }
            if draining && engine.outgoing.in_flight() == 0 {
                break;
            }
            let progressed = engine.poll()?;
            if engine.outgoing.completed() != completed {
                completed = engine.outgoing.completed();
                let now = engine.outgoing.last_completion();
                state = self.after_completion(engine, state, now);
            }
            if engine.gate.has_failed() {
                return Err(failure(
                    FailureReason::Interrupted,
                    "the case was abandoned because another flow failed".to_owned(),
                ));
            }
            if !progressed {
                engine.idle("waiting for transfers to complete")?;
            }
        }
        match state {
            State::Closed(window) => Ok(window),
            State::Starting | State::Active | State::Open { .. } => Err(failure(
                FailureReason::Internal,
                "the coordinator ended the case before the window had closed".to_owned(),
            )),
        }
    }
}

impl<T: Transport> Work<T> for SimultaneousPoster<'_> {
    fn warm_up(&mut self, engine: &mut Engine<'_, T>) -> Result<(), CaseFailure> {
        run_transfers(engine, self.warmup, clock::now())
    }

    fn run(&mut self, engine: &mut Engine<'_, T>) -> Result<Option<ThreadMeasurement>, CaseFailure> {
        self.phases.arrive_ready();
        // A sleeping thread would not notice the command, because no completion wakes it.
        engine.awake = true;
        engine.serve_until("waiting for all flows to be ready", |_| self.phases.may_start())?;
        engine.awake = false;
        let before = engine.outgoing.completed();
        let first_post = clock::now();
        let window = self.post(engine)?;
        let operations = engine.outgoing.completed() - before;
        let last_completion = engine.outgoing.last_completion();
        Ok(self.recorder.take().map(|recorder| ThreadMeasurement {
            window: Some(window),
            ..ThreadMeasurement::new(operations, first_post, last_completion, recorder)
        }))
    }
}
