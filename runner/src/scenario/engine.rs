//! One thread of one side in one case: posts according to the arm's policy, polls, and tracks the operations in flight.
//!
//! [`poll`](Engine::poll) handles all completions that the transport reports and updates [`Outgoing`], [`Incoming`] and
//! [`Inbox`]. Scenarios use this state to decide what to post next. After [`Engine::new`] and [`Engine::synchronize`],
//! the engine allocates memory only for failure messages.

mod control;
mod poll;
mod post;
mod setup;
mod synchronize;

use std::sync::Arc;

use crds::record::{CaseFailure, FailureReason};

pub use post::TransferOffsets;
pub use setup::{BufferLayouts, Setup, data_seed};

use super::gate::Gate;
use super::geometry::Geometry;
use super::inbox::Inbox;
use super::incoming::Incoming;
use super::outgoing::Outgoing;
use super::ping_state::PingState;
use super::waiting::IdleWaiter;
use crate::arm_endpoints::endpoint_thread::EndpointThread;
use crate::immediate::CaseTag;
use crate::integrity::Inspector;
use crate::memory::Memory;
use crate::posting::striping::RailRotation;
use crate::posting::{Burst, Posting};
use crate::transport::{Peer, RemoteKey, Transport, TransportError};

/// One thread of one side in one case.
pub struct Engine<'a, T: Transport> {
    pub(super) thread: &'a mut EndpointThread<T>,
    pub(super) gate: &'a Gate,
    /// Case number. Completions of other cases are ignored.
    pub(super) number: u32,
    pub(super) tag: CaseTag,
    pub(super) peer: Peer,
    /// Keys of the peer's memory, by rail.
    pub(super) remote: Box<[RemoteKey]>,
    /// Index of the case's memory on this thread.
    pub(super) region: usize,
    pub(super) geometry: Geometry,
    /// Whether payload arrives in posted receives on this side.
    pub(super) receives_payload: bool,
    /// Whether posts and completions are timestamped. The samples of transfers are computed from these timestamps; a
    /// ping-pong measures round trips instead.
    pub(super) timed: bool,
    pub(super) posting: Posting,
    pub(super) rotation: RailRotation,
    pub(super) burst: Burst,
    pub(super) outgoing: Outgoing,
    pub(super) incoming: Incoming,
    pub(super) inbox: Inbox,
    pub(super) pings: PingState,
    pub(super) waiter: IdleWaiter,
    /// Whether writes are replaced by reads of the memory that they would write.
    pub(super) reading_back: bool,
    /// Whether the thread must not sleep in any polling mode, because no completion would wake it.
    pub(super) awake: bool,
    pub(super) control_in_flight: u32,
    /// Checks every byte that arrives; `None` unless the pass is an integrity pass.
    pub(super) inspector: Option<Inspector>,
}

impl<T: Transport> Engine<'_, T> {
    /// Memory of the case on this thread.
    pub(super) fn memory(&self) -> Result<Arc<Memory>, CaseFailure> {
        self.thread.memory(self.region).ok_or_else(missing_memory)
    }

    /// Serves the peer until `until` returns true.
    pub fn serve_until(
        &mut self,
        activity: &'static str,
        until: impl Fn(&Self) -> bool,
    ) -> Result<(), CaseFailure> {
        while !until(self) {
            // A poll without completions can post receives, on which `until` may depend.
            if !self.poll()? && !until(self) {
                self.idle(activity)?;
            }
        }
        Ok(())
    }

    /// Waits after a poll without completions, according to the polling mode. `activity` describes the wait in error
    /// messages.
    ///
    /// # Errors
    /// Returns an error if the deadline of the case has passed, another thread has failed, or the library cannot wait.
    #[inline]
    pub fn idle(&mut self, activity: &'static str) -> Result<(), CaseFailure> {
        let unfinished =
            self.incoming.owes_credit() || self.thread.receives.has_deferred() || self.pings.has_work();
        self.pause(activity, !self.awake && !unfinished)
    }

    /// Pauses briefly after a poll without completions, but not past the time `due`. In `Wait` mode, the thread sleeps
    /// in the library; in `Yield` mode, it sleeps for a short interval.
    ///
    /// # Errors
    /// Returns the errors of [`Engine::idle`].
    pub fn idle_until(&mut self, activity: &'static str, due: u64) -> Result<(), CaseFailure> {
        let expired = self
            .waiter
            .pause_until(&mut self.thread.transport, due)
            .map_err(|error| transport_failure(&error))?;
        self.check_pause(activity, expired)
    }

    /// Like [`Engine::idle`], but never sleeps, because posts are waiting for their doorbell or for queue space.
    #[inline]
    pub(super) fn idle_awake(&mut self, activity: &'static str) -> Result<(), CaseFailure> {
        self.pause(activity, false)
    }

    #[inline]
    fn pause(&mut self, activity: &'static str, may_sleep: bool) -> Result<(), CaseFailure> {
        let expired = self
            .waiter
            .pause(&mut self.thread.transport, may_sleep)
            .map_err(|error| transport_failure(&error))?;
        self.check_pause(activity, expired)
    }

    #[inline]
    fn check_pause(&self, activity: &'static str, expired: bool) -> Result<(), CaseFailure> {
        if expired {
            return Err(self.deadline_exceeded(activity));
        }
        if self.gate.has_failed() {
            return Err(failure(
                FailureReason::Interrupted,
                "another thread on this worker abandoned the case".to_owned(),
            ));
        }
        Ok(())
    }

    pub(super) fn deadline_exceeded(&self, activity: &str) -> CaseFailure {
        let in_flight: Vec<usize> = self
            .thread
            .tokens
            .iter()
            .map(|tokens| tokens.in_flight())
            .collect();
        let message = format!(
            "the case exceeded its deadline of {:?} while {activity}: {} transfers posted, {} completed, {} received \
             from the peer, posts in flight by rail: {in_flight:?}",
            self.waiter.deadline().limit(),
            self.outgoing.posted(),
            self.outgoing.completed(),
            self.incoming.arrived(),
        );
        failure(FailureReason::DeadlineExceeded, message)
    }
}

fn missing_memory() -> CaseFailure {
    let message = "the memory of this case is missing; this is a bug in fabricbench".to_owned();
    failure(FailureReason::Internal, message)
}

/// Creates a failure of this case.
pub(super) fn failure(reason: FailureReason, message: String) -> CaseFailure {
    CaseFailure { reason, message }
}

/// Converts a transport error to a failure of this case.
pub(super) fn transport_failure(error: &TransportError) -> CaseFailure {
    failure(error.reason, error.to_string())
}
