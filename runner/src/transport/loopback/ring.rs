//! Ring that carries one rail's posts from one side to the other, and the format of its slots. Accesses only shared
//! memory.
//!
//! One thread of the producer process fills slots and counts them in `tail`; one thread of the consumer process
//! consumes them and counts them in `head`. The content of a slot is written before the corresponding counter is stored
//! with release ordering, and read after the counter has been loaded with acquire ordering, so neither side accesses a
//! slot while the other side writes to it. A slot is free again once the producer has loaded a `head` beyond it and has
//! copied the response from the slot (a status, or the bytes of a read).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::rules::layout::{FRAGMENT_BYTES, FRAGMENTS, INLINE_BYTES, Layout, SLOT_WORDS};
use crate::memory::ffi::mapping::{Mapping, Span};

/// Operation that a packet requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Opcode {
    Send = 1,
    Write = 2,
    WriteImmediate = 3,
    Read = 4,
}

/// Part of a message, described by one slot. A short message consists of a single packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Packet {
    pub(super) opcode: Opcode,
    /// Packet length in bytes.
    pub(super) length: u64,
    /// Message length in bytes.
    pub(super) message: u64,
    /// Packet offset within the message, in bytes.
    pub(super) offset: u64,
    /// Key of the remote region.
    pub(super) key: u64,
    /// Message offset within the remote region, in bytes.
    pub(super) remote: u64,
    /// Immediate data.
    pub(super) immediate: u64,
    /// Index of the fragment that holds the payload; `None` if the slot holds it.
    pub(super) fragment: Option<u64>,
}

impl Packet {
    /// Whether this is the first packet of the message.
    pub(super) fn is_first(&self) -> bool {
        self.offset == 0
    }

    /// Whether this is the last packet of the message.
    pub(super) fn is_last(&self) -> bool {
        self.offset + self.length == self.message
    }
}

/// View of a ring, used by both sides.
#[derive(Debug)]
pub(super) struct Ring {
    mapping: Arc<Mapping>,
    base: usize,
    layout: Layout,
}

/// Index of the slot word that holds the response status.
const STATUS: usize = SLOT_WORDS - 1;
const NO_FRAGMENT: u64 = u64::MAX;

impl Ring {
    pub(super) fn new(mapping: Arc<Mapping>, layout: Layout, rail: usize, claim: usize) -> Self {
        Self {
            mapping,
            base: layout.ring(rail, claim),
            layout,
        }
    }

    /// Number of slots.
    #[inline]
    pub(super) fn slots(&self) -> u64 {
        self.layout.slots as u64
    }

    /// Number of slots published since the ring was created.
    #[inline]
    pub(super) fn tail(&self) -> u64 {
        self.counter(Layout::TAIL)
            .map_or(0, |tail| tail.load(Ordering::Acquire))
    }

    /// Publishes all slots up to `tail`.
    #[inline]
    pub(super) fn publish(&self, tail: u64) {
        if let Some(counter) = self.counter(Layout::TAIL) {
            counter.store(tail, Ordering::Release);
        }
    }

    /// Number of slots consumed since the ring was created.
    #[inline]
    pub(super) fn head(&self) -> u64 {
        self.counter(Layout::HEAD)
            .map_or(0, |head| head.load(Ordering::Acquire))
    }

    /// Returns all slots up to `head` to the producer.
    #[inline]
    pub(super) fn set_consumed(&self, head: u64) {
        if let Some(counter) = self.counter(Layout::HEAD) {
            counter.store(head, Ordering::Release);
        }
    }

    /// Writes the words of slot `index`.
    #[inline]
    pub(super) fn write(&self, index: u64, packet: &Packet) {
        if let Some(words) = self.words(index) {
            let values = [
                u64::from(packet.opcode as u8),
                packet.length,
                packet.message,
                packet.offset,
                packet.key,
                packet.remote,
                packet.immediate | packet.fragment.map_or(NO_FRAGMENT << 32, |number| number << 32),
            ];
            for (word, value) in words.iter().zip(values) {
                word.store(value, Ordering::Relaxed);
            }
        }
    }

    /// Reads the words of slot `index`; `None` if they are invalid.
    ///
    /// Another process wrote the words, so no value is trusted: the operation, lengths and offsets are checked.
    #[inline]
    pub(super) fn read(&self, index: u64) -> Option<Packet> {
        let words = self.words(index)?;
        let value = |at: usize| words[at].load(Ordering::Relaxed);
        let (opcode, length, message, offset, last) = (value(0), value(1), value(2), value(3), value(6));
        let opcode = match opcode {
            1 => Opcode::Send,
            2 => Opcode::Write,
            3 => Opcode::WriteImmediate,
            4 => Opcode::Read,
            _ => return None,
        };
        let fragment = Some(last >> 32).filter(|number| *number != NO_FRAGMENT >> 32);
        let capacity = if fragment.is_some() {
            FRAGMENT_BYTES
        } else {
            INLINE_BYTES
        };
        let is_valid = length <= capacity && offset.checked_add(length)? <= message;
        is_valid.then_some(Packet {
            opcode,
            length,
            message,
            offset,
            key: value(4),
            remote: value(5),
            immediate: last & u64::from(u32::MAX),
            fragment,
        })
    }

    /// Writes the status of slot `index`: 0, or the errno of the failure.
    #[inline]
    pub(super) fn set_status(&self, index: u64, status: i32) {
        if let Some(words) = self.words(index) {
            words[STATUS].store(u64::from(status.unsigned_abs()), Ordering::Relaxed);
        }
    }

    /// Reads the status of slot `index`.
    #[inline]
    pub(super) fn status(&self, index: u64) -> i32 {
        let status = self
            .words(index)
            .map_or(0, |words| words[STATUS].load(Ordering::Relaxed));
        i32::try_from(status).unwrap_or(i32::MAX)
    }

    /// Payload of slot `index`, which is in the slot or in a fragment.
    #[inline]
    pub(super) fn payload(&self, index: u64, fragment: Option<u64>, length: u64) -> Option<Span<'_>> {
        let offset = match fragment {
            Some(index) => self.layout.fragment((index % FRAGMENTS) as usize),
            None => self.slot(index) + SLOT_WORDS * 8,
        };
        self.mapping
            .span(self.base + offset, usize::try_from(length).ok()?)
    }

    #[inline]
    fn slot(&self, index: u64) -> usize {
        // The number of slots is a power of two.
        Layout::slot(index as usize & (self.layout.slots - 1))
    }

    #[inline]
    fn words(&self, index: u64) -> Option<&[AtomicU64; SLOT_WORDS]> {
        self.mapping.words(self.base + self.slot(index))
    }

    #[inline]
    fn counter(&self, offset: usize) -> Option<&AtomicU64> {
        let [word] = self.mapping.words(self.base + offset)?;
        Some(word)
    }
}
