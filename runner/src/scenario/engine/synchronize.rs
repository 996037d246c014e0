//! Starts a case together with the other side, and waits until this side's posts are complete.

use crds::record::CaseFailure;

use super::{Engine, transport_failure};
use crate::arm_endpoints::receives::{ReceivePlan, Regions};
use crate::immediate::{Message, Signal};
use crate::transport::Transport;

impl<T: Transport> Engine<'_, T> {
    /// Starts the case together with the other side and replaces the posted receives with the case's receives.
    ///
    /// Neither side sends payload before both sides have replaced their receives, because payload would consume
    /// receives of a different size.
    ///
    /// The thread yields the CPU while it waits, because the other side may start later: if its worker shares this CPU,
    /// the worker would otherwise run only at the end of the spinning thread's time slice.
    pub fn synchronize(&mut self) -> Result<(), CaseFailure> {
        self.waiter.set_yields(true);
        let synchronized = self.exchange_receives();
        self.waiter.set_yields(false);
        synchronized
    }

    fn exchange_receives(&mut self) -> Result<(), CaseFailure> {
        let plan = match self.geometry.receives {
            Some(layout) if self.receives_payload => ReceivePlan::Data {
                region: self.region,
                base: self.geometry.landing_base,
                layout,
            },
            _ => ReceivePlan::Control,
        };
        let drain_messages = self.thread.receives.change(plan);
        self.post_deferred()?;
        self.signal(Signal::Ready(u64::from(drain_messages)))?;
        self.serve_until("waiting for the peer to start the case", |engine| {
            engine.inbox.ready.is_some()
        })?;
        for _ in 0..self.inbox.ready.unwrap_or(0) {
            for rail in 0..self.thread.tokens.len() {
                self.send(rail, Message::DrainReceive)?;
            }
        }
        // Waits for all drain messages from the peer, so that none arrives during the measured window.
        self.serve_until("draining the receives of an earlier case", |engine| {
            let received = &engine.inbox.drained_receives;
            received.iter().all(|count| *count >= drain_messages) && engine.thread.receives.is_drained()
        })?;
        self.signal(Signal::ReceivesReady)?;
        self.serve_until("waiting for the peer to drain its receives", |engine| {
            engine.inbox.receives_ready
        })
    }

    /// Polls until all posts by this side are complete.
    pub fn wait_for_local_completions(&mut self) -> Result<(), CaseFailure> {
        self.serve_until("waiting for the completions of local posts", |engine| {
            engine.control_in_flight == 0 && engine.outgoing.in_flight() == 0
        })
    }

    pub(super) fn post_deferred(&mut self) -> Result<(), CaseFailure> {
        let thread = &mut *self.thread;
        let regions = Regions {
            control: &thread.control,
            data: &thread.data,
        };
        let posted = thread.receives.post_deferred(&mut thread.transport, regions);
        posted.map_err(|error| {
            transport_failure(&crate::arm_endpoints::endpoint_thread::receive_rejected(error))
        })
    }
}
