//! Control messages: small sends on rail 0 whose content is entirely in the immediate data. They are not part of the
//! measurement and are not included in the posting counters.

use crds::record::{CaseFailure, FailureReason};
use crds::v1alpha1::TransferOperation;

use super::{Engine, failure};
use crate::arm_endpoints::layout::CONTROL_BYTES;
use crate::arm_endpoints::tokens::PostOwner;
use crate::immediate::{Immediate, Message, Signal};
use crate::measure::clock;
use crate::transport::{Operation, Post, PostError, Rail, Transport};

/// Rail on which control messages are sent.
const CONTROL_RAIL: Rail = 0;
/// Maximum number of polls that a side spends on notifying the other side that it has abandoned the case.
const ABORT_POLLS: u32 = 1000;

impl<T: Transport> Engine<'_, T> {
    /// Signals a step of the case to the other side.
    pub fn signal(&mut self, signal: Signal) -> Result<(), CaseFailure> {
        self.send(CONTROL_RAIL, Message::Signal(signal))
    }

    /// Requests that the other side send a credit as soon as all posted transfers have arrived.
    pub fn request_credit(&mut self) -> Result<(), CaseFailure> {
        let posted = self.outgoing.posted();
        self.send(CONTROL_RAIL, Message::CreditRequest(posted))
    }

    /// Notifies the other side, on a best-effort basis, that this side is abandoning the case for `reason`, so that the
    /// other side need not wait for its deadline.
    pub fn abort(&mut self, reason: FailureReason) {
        for _ in 0..ABORT_POLLS {
            match self.try_send(CONTROL_RAIL, Message::Signal(Signal::Abort(reason))) {
                Ok(true) => break,
                Ok(false) => {
                    if self.poll().is_err() {
                        return;
                    }
                }
                Err(_) => return,
            }
        }
        // Some libraries make progress on sends only while they are polled.
        for _ in 0..ABORT_POLLS {
            if self.control_in_flight == 0 || self.poll().is_err() {
                return;
            }
            std::thread::yield_now();
        }
    }

    /// Sends a control message, after waiting for queue space if necessary.
    pub fn send(&mut self, rail: Rail, message: Message) -> Result<(), CaseFailure> {
        while !self.try_send(rail, message)? {
            if !self.poll()? {
                self.idle_awake("waiting for queue space to post a control message")?;
            }
        }
        Ok(())
    }

    /// Tries to send a credit to the other side. If there is no queue space, the next poll tries again.
    pub(super) fn try_credit(&mut self) -> Result<(), CaseFailure> {
        let arrived = self.incoming.arrived();
        if self.try_send(CONTROL_RAIL, Message::Credit(arrived))? {
            self.incoming.record_credit_sent();
        }
        Ok(())
    }

    /// Sends a ping, after waiting for queue space if necessary.
    pub fn send_ping(&mut self) -> Result<(), CaseFailure> {
        self.pings.record_sent(clock::now());
        self.send(CONTROL_RAIL, Message::Ping)
    }

    /// Tries to send the reply to a ping and the next ping, if either is due. If there is no queue space, the next poll
    /// tries again.
    pub(super) fn try_pings(&mut self) -> Result<(), CaseFailure> {
        if self.pings.owes_reply() && self.try_send(CONTROL_RAIL, Message::PingReply)? {
            self.pings.record_reply_sent();
        }
        if self.pings.has_work() {
            let now = clock::now();
            if self.try_send(CONTROL_RAIL, Message::Ping)? {
                self.pings.record_sent(now);
            }
        }
        Ok(())
    }

    /// Sends the reply to a call, without payload.
    pub fn reply_to_call(&mut self) -> Result<(), CaseFailure> {
        self.send(CONTROL_RAIL, Message::CallReply)
    }

    /// Posts a flush of the endpoint on every rail. Returns whether the library supports flushes.
    ///
    /// # Errors
    /// Returns an error if the flush fails or is rejected, or if the deadline passes while the library accepts no
    /// flush.
    pub fn flush(&mut self) -> Result<bool, CaseFailure> {
        if !self.thread.transport.capabilities().flush {
            return Ok(false);
        }
        loop {
            match self.thread.transport.post_flush(self.peer) {
                Ok(()) => return Ok(true),
                Err(PostError::Again) => {
                    if !self.poll()? {
                        self.idle_awake("waiting for queue space to post a flush")?;
                    }
                }
                Err(PostError::Refused(errno)) => {
                    let message = format!("the library rejected a flush (errno {errno})");
                    return Err(failure(FailureReason::OperationRejected, message));
                }
                Err(PostError::Failed(errno)) => return Err(self.rail_failed(CONTROL_RAIL, errno)),
            }
        }
    }

    /// Whether a flush is in flight.
    pub fn is_flushing(&self) -> bool {
        self.thread.transport.flushes_in_flight() > 0
    }

    /// Whether the transfers of the case are writes whose completion means only that their source memory can be reused.
    pub fn completes_writes_locally(&self) -> bool {
        self.geometry.operation == TransferOperation::Write
            && self.thread.transport.capabilities().completes_writes_locally
    }

    /// Waits until the data of all completed transfers is in the target's memory.
    ///
    /// # Errors
    /// Returns an error if a flush fails or the deadline passes.
    pub fn flush_writes(&mut self) -> Result<(), CaseFailure> {
        if self.completes_writes_locally() && self.flush()? {
            self.serve_until("waiting for the flush of the writes", |engine| {
                !engine.is_flushing()
            })?;
        }
        Ok(())
    }

    fn try_send(&mut self, rail: Rail, message: Message) -> Result<bool, CaseFailure> {
        let owner = PostOwner {
            case: self.number,
            slot: PostOwner::CONTROL,
        };
        let Some(token) = self.thread.tokens[rail].take(owner) else {
            return Ok(false);
        };
        let immediate = Immediate {
            case: self.tag,
            message,
        };
        let post = Post {
            rail,
            peer: self.peer,
            operation: Operation::Send {
                immediate: immediate.encode(),
            },
            region: &self.thread.control,
            offset: 0,
            length: CONTROL_BYTES,
            inject: false,
            more: false,
            token,
        };
        self.thread.first_post.record_post();
        match self.thread.transport.post(&post) {
            Ok(()) => {
                self.control_in_flight += 1;
                Ok(true)
            }
            Err(error) => {
                self.thread.tokens[rail].release(token);
                match error {
                    PostError::Again => Ok(false),
                    PostError::Refused(errno) => Err(failure(
                        FailureReason::OperationRejected,
                        format!(
                            "the library rejected a send of {CONTROL_BYTES} bytes with immediate data on rail {rail} \
                             (errno {errno}); this provider does not support the messages that synchronize a case"
                        ),
                    )),
                    PostError::Failed(errno) => Err(self.rail_failed(rail, errno)),
                }
            }
        }
    }
}
