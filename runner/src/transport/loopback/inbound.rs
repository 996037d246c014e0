//! Ring consumer: executes the packets that a peer published, which read or write this side's memory, and reports
//! completions. Accesses only shared memory.
//!
//! Another process wrote the slots, so every value is checked before it is used.

use rustix::io::Errno;

use super::memory::RegionTable;
use super::receive_queue::{Receive, ReceiveQueue};
use super::ring::{Opcode, Packet, Ring};
use super::sink::Sink;
use crate::transport::{CompletionKind, Rail};

/// Maximum number of slots consumed per call. The limit bounds the duration of a poll, so that slots are returned
/// to the producer early.
const BUDGET: u64 = 32;

/// Ring consumer.
#[derive(Debug)]
pub(super) struct Inbound {
    ring: Ring,
    head: u64,
    /// Receive that the message in progress is delivered to. If it is `None`, slots that continue a message are
    /// rejected.
    receive: Option<Receive>,
    /// Peer that fills the ring, once this side has connected to it.
    pub(super) peer: Option<usize>,
    /// Whether a message is waiting for a receive to be posted.
    stalled: bool,
}

/// Protocol violation by a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// A message is longer than the receive it was matched with. Both lengths are in bytes.
    Truncated { message: u64, receive: u64 },
    /// The content of the ring is invalid.
    Corrupt,
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

    /// Whether the next slot is published and its message is not waiting for a receive to be posted.
    pub(super) fn is_ready(&self) -> bool {
        !self.stalled && self.ring.tail() != self.head
    }

    /// Whether a message is partially received.
    pub(super) fn is_receiving(&self) -> bool {
        self.receive.is_some()
    }

    /// Resumes a message that is waiting for a receive, after a receive was posted.
    pub(super) fn resume(&mut self) {
        self.stalled = false;
    }

    /// Consumes published slots, up to `BUDGET` and as long as there is room for a completion.
    ///
    /// Returns whether any slot was consumed.
    ///
    /// # Errors
    /// Returns the first [`Fault`]. The slots before the fault are consumed.
    #[inline]
    pub(super) fn consume(
        &mut self,
        rail: Rail,
        regions: &RegionTable,
        receives: &mut ReceiveQueue,
        sink: &mut Sink<'_>,
    ) -> Result<bool, Fault> {
        let before = self.head;
        let published = self.ring.tail();
        if published == before {
            return Ok(false);
        }
        if published.wrapping_sub(before) > self.ring.slots() {
            return Err(Fault::Corrupt);
        }
        let last = published.min(before + BUDGET);
        let mut result = Ok(());
        while self.head < last && result.is_ok() && !sink.is_full() {
            let Some(packet) = self.ring.read(self.head) else {
                result = Err(Fault::Corrupt);
                break;
            };
            if packet.opcode == Opcode::Send && packet.is_first() && !self.take_receive(&packet, receives) {
                break;
            }
            let status = self.execute(&packet, regions);
            self.ring
                .set_status(self.head, status.map_or_else(Errno::raw_os_error, |()| 0));
            self.head += 1;
            if packet.is_last() {
                result = self.complete(&packet, status.is_ok(), rail, sink);
            }
        }
        if self.head != before {
            self.ring.set_consumed(self.head);
        }
        result.map(|()| self.head != before)
    }

    /// Dequeues a receive for a message; returns false if no receive is posted.
    #[inline]
    fn take_receive(&mut self, packet: &Packet, receives: &mut ReceiveQueue) -> bool {
        self.receive = receives.pop();
        self.stalled = self.receive.is_none();
        if let Some(receive) = &mut self.receive {
            receive.message = packet.message;
        }
        !self.stalled
    }

    #[inline]
    fn execute(&self, packet: &Packet, regions: &RegionTable) -> Result<(), Errno> {
        let payload = self
            .ring
            .payload(self.head, packet.fragment, packet.length)
            .ok_or(Errno::PROTO)?;
        let target = match packet.opcode {
            Opcode::Send => {
                let receive = self.receive.ok_or(Errno::PROTO)?;
                if receive.message > receive.length || packet.message != receive.message {
                    return Err(Errno::MSGSIZE);
                }
                regions.local(receive.region, receive.offset + packet.offset, packet.length)
            }
            // The range of the entire message is checked before its first packet is executed.
            Opcode::Write | Opcode::WriteImmediate | Opcode::Read => regions
                .remote(packet.key, packet.remote, packet.message)
                .and_then(|whole| whole.subspan(packet.offset, packet.length)),
        }
        .ok_or(Errno::ACCESS)?;
        if packet.opcode == Opcode::Read {
            target.copy_to(payload);
        } else {
            payload.copy_to(target);
        }
        Ok(())
    }

    #[inline]
    fn complete(&mut self, packet: &Packet, ok: bool, rail: Rail, sink: &mut Sink<'_>) -> Result<(), Fault> {
        let kind = match packet.opcode {
            Opcode::Send => match self.receive.take() {
                Some(receive) if ok => CompletionKind::Received {
                    token: receive.token,
                    immediate: Some(packet.immediate),
                    length: packet.message,
                },
                Some(receive) => {
                    return Err(Fault::Truncated {
                        message: packet.message,
                        receive: receive.length,
                    });
                }
                None => return Err(Fault::Corrupt),
            },
            Opcode::WriteImmediate if ok => CompletionKind::RemoteWrite {
                immediate: packet.immediate,
            },
            Opcode::WriteImmediate | Opcode::Write | Opcode::Read => return Ok(()),
        };
        sink.push(rail, kind);
        Ok(())
    }
}
