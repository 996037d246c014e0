//! The consuming side of a ring: pieces become bytes in this side's memory and completions. Touches shared memory
//! only. Everything in a slot was written by another process and is checked before it is used.

use rustix::io::Errno;

use super::receives::{Receive, Receives};
use super::region::Regions;
use super::ring::{Opcode, Piece, Ring};
use super::sink::Sink;
use crate::transport::{CompletionKind, Rail};

/// Slots consumed in one go: bounds a poll, and gives the filling side its slots back in time.
const BUDGET: u64 = 32;

/// The consuming side of a ring.
#[derive(Debug)]
pub(super) struct Inbound {
    ring: Ring,
    head: u64,
    /// The receive that the message under way goes to; the message is dropped where there is none.
    receive: Option<Receive>,
    /// Peer that fills the ring, once it is known.
    pub(super) peer: Option<usize>,
    /// Whether a message waits for a receive to be posted.
    stalled: bool,
}

/// What a peer did wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// A message was longer than the receive it met.
    Truncated { message: u64, receive: u64 },
    /// What it wrote is nothing that this side would have written.
    Broken,
}

impl Inbound {
    pub(super) fn new(ring: Ring) -> Self {
        Self {
            ring,
            head: 0,
            receive: None,
            peer: None,
            stalled: false,
        }
    }

    /// Whether there is something to consume that does not wait for a receive.
    pub(super) fn is_ready(&self) -> bool {
        !self.stalled && self.ring.tail() != self.head
    }

    /// Whether a message is under way into a receive.
    pub(super) fn is_receiving(&self) -> bool {
        self.receive.is_some()
    }

    /// Lets a message that found no receive look again.
    pub(super) fn receive_posted(&mut self) {
        self.stalled = false;
    }

    /// Consumes what is there, up to a number of slots and as long as there is room for a completion. Returns whether
    /// anything was there.
    ///
    /// # Errors
    /// The first [`Fault`] met; the slots before it are consumed.
    #[inline]
    pub(super) fn consume(
        &mut self,
        rail: Rail,
        regions: &Regions,
        receives: &mut Receives,
        sink: &mut Sink<'_>,
    ) -> Result<bool, Fault> {
        let before = self.head;
        let published = self.ring.tail();
        if published == before {
            return Ok(false);
        }
        if published.wrapping_sub(before) > self.ring.slots() {
            return Err(Fault::Broken);
        }
        let last = published.min(before + BUDGET);
        let mut result = Ok(());
        while self.head < last && result.is_ok() && !sink.is_full() {
            let Some(piece) = self.ring.read(self.head) else {
                result = Err(Fault::Broken);
                break;
            };
            if piece.opcode == Opcode::Send && piece.is_first() && !self.take_receive(&piece, receives) {
                break;
            }
            let status = self.carry_out(&piece, regions);
            self.ring
                .answer(self.head, status.map_or_else(Errno::raw_os_error, |()| 0));
            self.head += 1;
            if piece.is_last() {
                result = self.complete(&piece, status.is_ok(), rail, sink);
            }
        }
        if self.head != before {
            self.ring.consumed(self.head);
        }
        result.map(|()| self.head != before)
    }

    /// Finds the receive for a message; false where none is posted.
    #[inline]
    fn take_receive(&mut self, piece: &Piece, receives: &mut Receives) -> bool {
        self.receive = receives.pop();
        self.stalled = self.receive.is_none();
        if let Some(receive) = &mut self.receive {
            receive.message = piece.message;
        }
        !self.stalled
    }

    #[inline]
    fn carry_out(&self, piece: &Piece, regions: &Regions) -> Result<(), Errno> {
        let payload = self
            .ring
            .payload(self.head, piece.fragment, piece.length)
            .ok_or(Errno::PROTO)?;
        let target = match piece.opcode {
            Opcode::Send => {
                let receive = self.receive.ok_or(Errno::PROTO)?;
                if receive.message > receive.length || piece.message != receive.message {
                    return Err(Errno::MSGSIZE);
                }
                regions.local(receive.region, receive.offset + piece.offset, piece.length)
            }
            // All of the message is checked before any of it is carried out.
            Opcode::Write | Opcode::WriteImmediate | Opcode::Read => regions
                .remote(piece.key, piece.remote, piece.message)
                .and_then(|whole| whole.part(piece.offset, piece.length)),
        }
        .ok_or(Errno::ACCESS)?;
        if piece.opcode == Opcode::Read {
            target.copy_to(payload);
        } else {
            payload.copy_to(target);
        }
        Ok(())
    }

    #[inline]
    fn complete(&mut self, piece: &Piece, ok: bool, rail: Rail, sink: &mut Sink<'_>) -> Result<(), Fault> {
        let kind = match piece.opcode {
            Opcode::Send => match self.receive.take() {
                Some(receive) if ok => CompletionKind::Received {
                    token: receive.token,
                    immediate: Some(piece.immediate),
                    length: piece.message,
                },
                Some(receive) => {
                    return Err(Fault::Truncated {
                        message: piece.message,
                        receive: receive.length,
                    });
                }
                None => return Err(Fault::Broken),
            },
            Opcode::WriteImmediate if ok => CompletionKind::RemoteWrite {
                immediate: piece.immediate,
            },
            Opcode::WriteImmediate | Opcode::Write | Opcode::Read => return Ok(()),
        };
        sink.push(rail, kind);
        Ok(())
    }
}
