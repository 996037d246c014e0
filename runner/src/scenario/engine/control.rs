//! Control messages: small sends on rail 0 that say everything in their immediate data. They are no part of what is
//! measured and are counted nowhere.

use crds::record::{CaseFailure, FailureReason};

use super::{Engine, failure};
use crate::arm_endpoints::layout::CONTROL_BYTES;
use crate::arm_endpoints::tokens::Owner;
use crate::scenario::immediate::{Immediate, Message, Signal};
use crate::transport::{Operation, Post, PostError, Rail, Transport};

/// Rail of control messages.
const CONTROL_RAIL: Rail = 0;
/// Polls that a side spends on telling the other that it gives up.
const ABORT_POLLS: u32 = 1000;

impl<T: Transport> Engine<'_, T> {
    /// Tells the other side a step of the case.
    pub fn signal(&mut self, signal: Signal) -> Result<(), CaseFailure> {
        self.send(CONTROL_RAIL, Message::Signal(signal))
    }

    /// Asks the other side for a credit as soon as everything posted has arrived.
    pub fn request_credit(&mut self) -> Result<(), CaseFailure> {
        let posted = self.outgoing.posted();
        self.send(CONTROL_RAIL, Message::CreditRequest(posted))
    }

    /// Tells the other side why this one gives up, as far as that is still possible: it need not wait for its
    /// deadline then.
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
        // Some libraries only send when they are polled.
        for _ in 0..ABORT_POLLS {
            if self.control_in_flight == 0 || self.poll().is_err() {
                return;
            }
            std::thread::yield_now();
        }
    }

    /// Sends a control message, waiting for room to post it.
    pub fn send(&mut self, rail: Rail, message: Message) -> Result<(), CaseFailure> {
        while !self.try_send(rail, message)? {
            if !self.poll()? {
                self.idle_awake("waiting for room to post a control message")?;
            }
        }
        Ok(())
    }

    /// Tells the other side how much has arrived, if there is room to post; otherwise at the next poll.
    pub(super) fn try_credit(&mut self) -> Result<(), CaseFailure> {
        let arrived = self.incoming.arrived();
        if self.try_send(CONTROL_RAIL, Message::Credit(arrived))? {
            self.incoming.credit_sent();
        }
        Ok(())
    }

    fn try_send(&mut self, rail: Rail, message: Message) -> Result<bool, CaseFailure> {
        let owner = Owner {
            case: self.number,
            slot: Owner::CONTROL,
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
                        FailureReason::Refused,
                        format!(
                            "the library refuses a send of {CONTROL_BYTES} bytes with immediate data on rail {rail} (errno \
                             {errno}): a case cannot be synchronized over this provider"
                        ),
                    )),
                    PostError::Failed(errno) => Err(self.rail_failed(rail, errno)),
                }
            }
        }
    }
}
