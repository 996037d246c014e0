//! Polls the transport and handles completions.

use crds::record::{CaseFailure, FailureReason};

use super::{Engine, failure, transport_failure};
use crate::arm_endpoints::tokens::PostOwner;
use crate::immediate::{Immediate, Message, Signal};
use crate::measure::clock;
use crate::scenario::incoming::ArrivalError;
use crate::transport::{Completion, CompletionKind, Rail, Transport};

/// A message that arrived in a posted receive.
#[derive(Clone, Copy)]
struct ReceivedMessage {
    /// Token of the receive.
    token: u32,
    /// Length in bytes.
    length: u64,
}

impl<T: Transport> Engine<'_, T> {
    /// Handles the available completions and sends a credit if one is due. Returns whether there were completions.
    ///
    /// # Errors
    /// Returns an error if a completion reports an error, the peer has abandoned the case, a chunk arrives twice, or
    /// the deadline has passed.
    #[inline]
    pub fn poll(&mut self) -> Result<bool, CaseFailure> {
        let thread = &mut *self.thread;
        let count = thread
            .transport
            .poll(&mut thread.completions)
            .map_err(|error| transport_failure(&error))?;
        if count > 0 {
            let now = if self.timed { clock::now() } else { 0 };
            // All completions are handled even when one fails the case, because the next case reuses their tokens and
            // receive buffers.
            let mut first_failure = None;
            for index in 0..count.min(self.thread.completions.len()) {
                let completion = self.thread.completions[index];
                if let Err(error) = self.handle_completion(completion, now) {
                    first_failure.get_or_insert(error);
                }
                // The location of a receive, which an integrity check needs, is known until its release.
                if let CompletionKind::Received { token, .. } = completion.kind {
                    self.thread.receives.release(completion.rail, token);
                }
            }
            first_failure.map_or(Ok(()), Err)?;
            if self.waiter.deadline_is_known_to_have_passed() {
                return Err(self.deadline_exceeded("still receiving completions"));
            }
        }
        let owes_credit = self.incoming.owes_credit();
        let receives = &self.thread.receives;
        // Deferred receives are posted before a credit is sent, because a credit allows the peer to send more messages,
        // which need receives. While chunks of a message are missing, the thread does not count as idle. Otherwise, it
        // would post receives between these chunks, which would delay the reply to a multi-chunk message, but not the
        // reply to a single-chunk message.
        let is_idle = count == 0 && !self.incoming.is_partial();
        if receives.must_post() || (receives.has_deferred() && (is_idle || owes_credit)) {
            self.post_deferred()?;
        }
        if owes_credit {
            self.try_credit()?;
        }
        if self.pings.has_work() {
            self.try_pings()?;
        }
        Ok(count > 0)
    }

    #[inline]
    fn handle_completion(&mut self, completion: Completion, now: u64) -> Result<(), CaseFailure> {
        let rail = completion.rail;
        match completion.kind {
            CompletionKind::Posted { token } => self.handle_local_completion(rail, token, now),
            CompletionKind::RemoteWrite { immediate } => {
                self.handle_message(rail, Some(immediate), None, now)
            }
            CompletionKind::Received {
                token,
                immediate,
                length,
            } => {
                let received = Some(ReceivedMessage { token, length });
                self.handle_message(rail, immediate, received, now)
            }
        }
    }

    #[inline]
    fn handle_local_completion(&mut self, rail: Rail, token: u32, now: u64) -> Result<(), CaseFailure> {
        let Some(owner) = self.thread.tokens[rail].release(token) else {
            let message = format!("rail {rail} completed token {token}, which was not in flight");
            return Err(failure(FailureReason::Internal, message));
        };
        if owner.slot == PostOwner::CONTROL {
            self.thread.first_post.record_completion();
        }
        // A post from an abandoned case may complete during a later case.
        if owner.case != self.number {
            return Ok(());
        }
        if owner.slot == PostOwner::CONTROL {
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
        received: Option<ReceivedMessage>,
        now: u64,
    ) -> Result<(), CaseFailure> {
        let Some(immediate) = immediate.and_then(Immediate::decode) else {
            let message = format!(
                "a message arrived on rail {rail} with unexpected immediate data {immediate:?}: the provider does not \
                 transmit immediate data, or another application is sending to this endpoint"
            );
            return Err(failure(FailureReason::CompletionFailed, message));
        };
        if immediate.case != self.tag {
            // The message belongs to an abandoned case, unless it is a `Ready` signal from a peer that has already
            // started the next case. Such a signal is stored, because the peer does not send it again.
            if let Message::Signal(Signal::Ready(drain_messages)) = immediate.message {
                self.thread.early_ready = Some((immediate.case, drain_messages));
            }
            return Ok(());
        }
        match immediate.message {
            Message::Data { chunk, transfer } => self.handle_chunk(rail, chunk, transfer, received)?,
            Message::Credit(count) => self.outgoing.record_credit(count, now),
            Message::CreditRequest(count) => self.incoming.request_credit(count),
            Message::Ping => self.pings.record_ping(),
            Message::PingReply => self.pings.record_reply(now),
            Message::CallReply => self.inbox.call_replies += 1,
            Message::DrainReceive => self.inbox.drained_receives[rail] += 1,
            Message::Signal(signal) => self.inbox.record(signal),
        }
        match self.inbox.aborted {
            Some(reason) => Err(failure(
                reason,
                "the peer abandoned the case; the peer's report contains the cause".to_owned(),
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
        received: Option<ReceivedMessage>,
    ) -> Result<(), CaseFailure> {
        match (self.incoming.record_chunk(chunk, transfer), &mut self.inspector) {
            (Ok(_), None) => Ok(()),
            (Ok(number), Some(inspector)) => {
                let (Some(received), Some(memory)) = (received, self.thread.memory(self.region)) else {
                    return Ok(());
                };
                let Some(location) = self.thread.receives.location(rail, received.token) else {
                    return Ok(());
                };
                let chunk = self.geometry.stripes.chunk(u64::from(chunk));
                inspector.check_message(&memory, location.offset, received.length, number, chunk)
            }
            (Err(ArrivalError::Duplicate), Some(inspector)) => {
                inspector.record_duplicate();
                Ok(())
            }
            (Err(error), _) => Err(failure(
                FailureReason::CompletionFailed,
                format!(
                    "rail {rail} delivered an invalid chunk {chunk} of transfer {transfer} (modulo 32768): {error:?}"
                ),
            )),
        }
    }
}
