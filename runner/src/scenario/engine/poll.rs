//! Taking what the transport reports.

use crds::record::{CaseFailure, FailureReason};

use super::{Engine, failure, transport_failure};
use crate::arm_endpoints::endpoint_thread::receive_refused;
use crate::arm_endpoints::receives::{Place, Regions};
use crate::arm_endpoints::tokens::Owner;
use crate::measure::clock;
use crate::scenario::immediate::{Immediate, Message, Signal};
use crate::scenario::incoming::ArrivalError;
use crate::transport::{Completion, CompletionKind, Rail, Transport};

/// A message in a posted receive.
#[derive(Clone, Copy)]
struct Received {
    place: Place,
    length: u64,
}

impl<T: Transport> Engine<'_, T> {
    /// Takes the completions there are, and sends a credit that is due. Returns whether there was any.
    ///
    /// # Errors
    /// When a completion reports an error, the peer has given up, a chunk arrives twice, or the time is up.
    #[inline]
    pub fn poll(&mut self) -> Result<bool, CaseFailure> {
        let thread = &mut *self.thread;
        let count = thread
            .transport
            .poll(&mut thread.completions)
            .map_err(|error| transport_failure(&error))?;
        if count > 0 {
            let now = if self.timed { clock::now() } else { 0 };
            // All are taken even if one fails the case: tokens and receives are needed by the next one.
            let mut taken = Ok(());
            for index in 0..count.min(self.thread.completions.len()) {
                let completion = self.thread.completions[index];
                taken = taken.and(self.take(completion, now));
            }
            taken?;
            if self.waiting.deadline_may_have_passed() {
                return Err(self.deadline_exceeded("with completions still coming in"));
            }
        }
        if self.incoming.owes_credit() {
            self.try_credit()?;
        }
        if self.thread.receives.has_deferred() {
            self.post_deferred()?;
        }
        Ok(count > 0)
    }

    #[inline]
    fn take(&mut self, completion: Completion, now: u64) -> Result<(), CaseFailure> {
        let rail = completion.rail;
        match completion.kind {
            CompletionKind::Posted { token } => self.handle_own_post(rail, token, now),
            CompletionKind::RemoteWrite { immediate } => self.handle_message(rail, Some(immediate), None, now),
            CompletionKind::Received {
                token,
                immediate,
                length,
            } => {
                let place = self.thread.receives.place(rail, token);
                let received = place.map(|place| Received { place, length });
                let taken = self.handle_message(rail, immediate, received, now);
                let thread = &mut *self.thread;
                let regions = Regions {
                    control: &thread.control,
                    data: &thread.data,
                };
                let used = thread.receives.repost(rail, token, &mut thread.transport, regions);
                taken.and(used.map_err(|error| transport_failure(&receive_refused(error))))
            }
        }
    }

    #[inline]
    fn handle_own_post(&mut self, rail: Rail, token: u32, now: u64) -> Result<(), CaseFailure> {
        let Some(owner) = self.thread.tokens[rail].release(token) else {
            let message = format!("rail {rail} completed token {token}, which was not in flight");
            return Err(failure(FailureReason::Internal, message));
        };
        if owner.slot == Owner::CONTROL {
            self.thread.first_post.record_completion();
        }
        // Posts of a case that was given up complete late.
        if owner.case != self.number {
            return Ok(());
        }
        if owner.slot == Owner::CONTROL {
            self.control_in_flight -= 1;
        } else {
            self.posting.record_completion();
            self.outgoing.chunk_done(owner.slot, now);
        }
        Ok(())
    }

    #[inline]
    fn handle_message(
        &mut self,
        rail: Rail,
        immediate: Option<u64>,
        received: Option<Received>,
        now: u64,
    ) -> Result<(), CaseFailure> {
        let Some(immediate) = immediate.and_then(Immediate::decode) else {
            let message = format!(
                "a message came in on rail {rail} whose immediate data is {immediate:?}: the provider does not carry \
                 immediate data, or someone else uses this endpoint"
            );
            return Err(failure(FailureReason::CompletionFailed, message));
        };
        if immediate.case != self.tag {
            // Left over from a case that was given up; but a peer that is ahead has said so, and will not repeat it.
            if let Message::Signal(Signal::Ready(drain_messages)) = immediate.message {
                self.thread.early_ready = Some((immediate.case, drain_messages));
            }
            return Ok(());
        }
        match immediate.message {
            Message::Data { chunk, transfer } => self.handle_chunk(rail, chunk, transfer, received)?,
            Message::Credit(count) => self.outgoing.credit(count, now),
            Message::CreditRequest(count) => self.incoming.request_credit(count),
            Message::DrainReceive => self.inbox.drained_receives[rail] += 1,
            Message::Signal(signal) => self.inbox.record(signal),
        }
        match self.inbox.aborted {
            Some(reason) => Err(failure(
                reason,
                "the peer gave the case up; its own report says why".to_owned(),
            )),
            None => Ok(()),
        }
    }

    #[inline]
    fn handle_chunk(
        &mut self,
        rail: Rail,
        chunk: u32,
        transfer: u64,
        received: Option<Received>,
    ) -> Result<(), CaseFailure> {
        match (self.incoming.chunk(chunk, transfer), &mut self.inspector) {
            (Ok(_), None) => Ok(()),
            (Ok(number), Some(inspector)) => {
                let (Some(received), Some(memory)) = (received, self.thread.memory(self.region)) else {
                    return Ok(());
                };
                let chunk = self.geometry.stripes.chunk(u64::from(chunk));
                inspector.check_message(&memory, received.place.offset, received.length, number, chunk)
            }
            (Err(ArrivalError::Duplicate), Some(inspector)) => {
                inspector.record_duplicate();
                Ok(())
            }
            (Err(error), _) => Err(failure(
                FailureReason::CompletionFailed,
                format!(
                    "rail {rail} delivered chunk {chunk} of transfer {transfer} (modulo 32768) wrongly: {error:?}"
                ),
            )),
        }
    }
}
