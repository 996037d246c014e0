//! One thread of one side in one case: posts by the arm's policy, polls, and keeps account of what is in flight.
//!
//! [`poll`](Engine::poll) takes whatever the transport reports and updates [`Outgoing`], [`Incoming`] and [`Inbox`];
//! scenarios look at these and decide what to post next. Nothing here allocates after [`Engine::new`] and
//! [`Engine::meet`], except to say why a case failed.

mod control;
mod meet;
mod poll;
mod post;
mod setup;

use crds::record::{CaseFailure, FailureReason};

pub use setup::{Setup, data_seed};

use super::gate::Gate;
use super::geometry::Geometry;
use super::immediate::CaseTag;
use super::inbox::Inbox;
use super::incoming::Incoming;
use super::outgoing::Outgoing;
use super::waiting::Waiting;
use crate::arm_endpoints::endpoint_thread::EndpointThread;
use crate::integrity::Inspector;
use crate::posting::striping::RailTurns;
use crate::posting::{Burst, Posting};
use crate::transport::{Peer, RemoteKey, Transport, TransportError};

/// One thread of one side in one case.
pub struct Engine<'a, T: Transport> {
    pub(super) thread: &'a mut EndpointThread<T>,
    pub(super) gate: &'a Gate,
    /// Number of the case; control and data completions of other cases are let pass.
    pub(super) number: u32,
    pub(super) tag: CaseTag,
    pub(super) peer: Peer,
    /// Where the peer's memory is, by rail.
    pub(super) remote: Box<[RemoteKey]>,
    /// Index of the case's memory at this thread.
    pub(super) region: usize,
    pub(super) geometry: Geometry,
    /// Whether this side receives payload in posted receives.
    pub(super) receives_payload: bool,
    /// Whether completions are given a time: they are samples of transfers, while a ping-pong times round trips.
    pub(super) timed: bool,
    pub(super) posting: Posting,
    pub(super) turns: RailTurns,
    pub(super) burst: Burst,
    pub(super) outgoing: Outgoing,
    pub(super) incoming: Incoming,
    pub(super) inbox: Inbox,
    pub(super) waiting: Waiting,
    /// Whether it must not sleep, whatever the polling: it waits for something that wakes nobody.
    pub(super) awake: bool,
    pub(super) control_in_flight: u32,
    /// Looks at every byte that arrives, in the integrity pass.
    pub(super) inspector: Option<Inspector>,
}

impl<T: Transport> Engine<'_, T> {
    /// Serves the peer until `until` holds.
    pub fn serve_until(
        &mut self,
        doing: &'static str,
        until: impl Fn(&Self) -> bool,
    ) -> Result<(), CaseFailure> {
        while !until(self) {
            if !self.poll()? {
                self.idle(doing)?;
            }
        }
        Ok(())
    }

    /// After a poll that found nothing.
    ///
    /// # Errors
    /// When the case's time is up, another thread has failed, or the library cannot wait.
    #[inline]
    pub fn idle(&mut self, doing: &'static str) -> Result<(), CaseFailure> {
        let unfinished = self.incoming.owes_credit() || self.thread.receives.has_deferred();
        self.pause(doing, !self.awake && !unfinished)
    }

    /// As [`Engine::idle`], but never sleeps: posts wait for their doorbell or for room.
    #[inline]
    pub(super) fn idle_awake(&mut self, doing: &'static str) -> Result<(), CaseFailure> {
        self.pause(doing, false)
    }

    #[inline]
    fn pause(&mut self, doing: &'static str, may_sleep: bool) -> Result<(), CaseFailure> {
        let over = self
            .waiting
            .pause(&mut self.thread.transport, may_sleep)
            .map_err(|error| of_transport(&error))?;
        if over {
            return Err(self.deadline_exceeded(doing));
        }
        if self.gate.has_failed() {
            return Err(failure(
                FailureReason::Interrupted,
                "another thread of this side gave the case up".to_owned(),
            ));
        }
        Ok(())
    }

    pub(super) fn deadline_exceeded(&self, doing: &str) -> CaseFailure {
        let in_flight: Vec<usize> = self
            .thread
            .tokens
            .iter()
            .map(|tokens| tokens.in_flight())
            .collect();
        let message = format!(
            "the case took longer than its deadline of {:?}, {doing}: {} transfers posted, {} complete, {} arrived from \
             the peer, posts in flight by rail {in_flight:?}",
            self.waiting.limit(),
            self.outgoing.posted(),
            self.outgoing.completed(),
            self.incoming.arrived(),
        );
        failure(FailureReason::DeadlineExceeded, message)
    }
}

/// A failure of this case.
pub(super) fn failure(reason: FailureReason, message: String) -> CaseFailure {
    CaseFailure { reason, message }
}

/// The transport's failure as this case's.
pub(super) fn of_transport(error: &TransportError) -> CaseFailure {
    failure(error.reason, error.to_string())
}
