//! Beginning and leaving a case, together with the other side.

use crds::record::CaseFailure;

use super::{Engine, of_transport};
use crate::arm_endpoints::receives::{ReceivePlan, Regions};
use crate::scenario::immediate::{Message, Signal};
use crate::transport::Transport;

impl<T: Transport> Engine<'_, T> {
    /// Begins the case together with the other side, and turns the receives over to those of the case. Until both
    /// sides have said so no payload is sent, for it would take receives of another size.
    pub fn meet(&mut self) -> Result<(), CaseFailure> {
        let plan = match self.geometry.receives {
            Some(layout) if self.receives_payload => ReceivePlan::Data {
                region: self.region,
                base: self.geometry.landing_base,
                layout,
            },
            _ => ReceivePlan::Control,
        };
        let wanted = self.thread.receives.change(plan);
        self.post_deferred()?;
        self.signal(Signal::Ready(u64::from(wanted)))?;
        self.serve_until("waiting for the peer to begin the case", |engine| {
            engine.inbox.ready.is_some()
        })?;
        for _ in 0..self.inbox.ready.unwrap_or(0) {
            for rail in 0..self.thread.tokens.len() {
                self.send(rail, Message::DrainReceive)?;
            }
        }
        // Every message of the peer's is awaited, so that none comes in the window.
        self.serve_until("turning the receives over", |engine| {
            let all_came = engine.inbox.drained_receives.iter().all(|count| *count >= wanted);
            all_came && engine.thread.receives.is_drained()
        })?;
        self.signal(Signal::Met)?;
        self.serve_until("waiting for the peer to turn its receives over", |engine| {
            engine.inbox.met
        })
    }

    /// Reads the completions of everything this side has posted.
    pub fn settle(&mut self) -> Result<(), CaseFailure> {
        self.serve_until("waiting for the completions of own posts", |engine| {
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
        posted.map_err(|error| of_transport(&crate::arm_endpoints::endpoint_thread::receive_refused(error)))
    }
}
