//! Where things lie in a segment. Pure.
//!
//! A segment is the memory that an endpoint's peers write to: a header, then one ring for every rail and peer. A
//! ring is made of slots, one for each piece of a message, and fragments, which hold the bytes of pieces that are
//! too long for their slot.

/// First word of every segment: name and version of this layout.
pub(super) const MAGIC: u64 = u64::from_be_bytes(*b"fabring1");

/// Bytes of the words that describe a piece.
pub(super) const SLOT_WORDS: usize = 8;
/// Bytes of payload in a slot itself: what is injected and every other short message goes in one copy. 256 is the
/// inject limit that the test procedures ask for.
pub(super) const INLINE_BYTES: u64 = 256;
const SLOT_BYTES: usize = SLOT_WORDS * 8 + INLINE_BYTES as usize;

/// Bytes of a fragment. Large enough that a slot's own cost vanishes beside the copy, small enough that the two
/// sides copy different fragments of one message at the same time.
pub(super) const FRAGMENT_BYTES: u64 = 8 * 1024;
/// Fragments of a ring; all of them together stay in a core's second-level cache.
pub(super) const FRAGMENTS: u64 = 32;

/// Longest message: what a posted length can say in every provider's terms.
pub(super) const MAX_MESSAGE_BYTES: u64 = u32::MAX as u64;
/// Bits of immediate data that arrive.
pub(super) const IMMEDIATE: u64 = u32::MAX as u64;

/// Fewest and most slots of a ring.
pub(super) const SLOTS: std::ops::RangeInclusive<usize> = 16..=65_536;
/// Most rails of an endpoint, as in a manifest.
pub(super) const MAX_RAILS: usize = 64;
/// Most peers of an endpoint.
pub(super) const MAX_PEERS: usize = 1024;

const PAGE: usize = 4096;
/// Two cache lines: processors fetch lines in pairs, and the two sides must not share one.
const LINE: usize = 128;

/// Offsets of the header's words.
pub(super) mod header {
    use super::LINE;

    pub(in super::super) const MAGIC: usize = 0;
    pub(in super::super) const NONCE: usize = 8;
    pub(in super::super) const RAILS: usize = 16;
    pub(in super::super) const PEERS: usize = 24;
    pub(in super::super) const SLOTS: usize = 32;
    /// 1 where the owner may sleep.
    pub(in super::super) const WAITS: usize = 40;
    /// 1 once the owner has closed the segment.
    pub(in super::super) const CLOSED: usize = 48;
    /// Rings given to peers.
    pub(in super::super) const CLAIMED: usize = LINE;
    /// Half word that the owner sleeps on.
    pub(in super::super) const SIGNAL: usize = 2 * LINE;
    /// Half word: 1 while the owner sleeps.
    pub(in super::super) const SLEEPING: usize = 2 * LINE + 4;
    /// Nonces of the peers that the rings were given to.
    pub(in super::super) const CLAIMS: usize = 3 * LINE;
}

/// Sizes of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// Rails of the endpoint.
    pub(super) rails: usize,
    /// Peers that can claim a ring.
    pub(super) peers: usize,
    /// Slots of a ring; a power of two.
    pub(super) slots: usize,
}

impl Layout {
    /// Whether the sizes are within their bounds.
    pub(super) fn is_valid(self) -> bool {
        (1..=MAX_RAILS).contains(&self.rails)
            && (1..=MAX_PEERS).contains(&self.peers)
            && SLOTS.contains(&self.slots)
            && self.slots.is_power_of_two()
    }

    /// Bytes of the segment.
    pub(super) fn bytes(self) -> usize {
        self.header_bytes() + self.rails * self.peers * self.ring_bytes()
    }

    /// Offset of the ring of a rail that a peer has claimed.
    pub(super) fn ring(self, rail: usize, claim: usize) -> usize {
        self.header_bytes() + (claim * self.rails + rail) * self.ring_bytes()
    }

    /// Offset in a ring of the word that counts published slots.
    pub(super) const TAIL: usize = 0;
    /// Offset in a ring of the word that counts consumed slots.
    pub(super) const HEAD: usize = LINE;

    /// Offset in a ring of a slot; its payload follows its words.
    pub(super) fn slot(index: usize) -> usize {
        2 * LINE + index * SLOT_BYTES
    }

    /// Offset in a ring of a fragment.
    pub(super) fn fragment(self, index: usize) -> usize {
        Self::slot(self.slots).next_multiple_of(PAGE) + index * FRAGMENT_BYTES as usize
    }

    fn header_bytes(self) -> usize {
        (header::CLAIMS + self.peers * 8).next_multiple_of(PAGE)
    }

    fn ring_bytes(self) -> usize {
        self.fragment(FRAGMENTS as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_segment_do_not_overlap() {
        let layout = Layout {
            rails: 3,
            peers: 5,
            slots: 64,
        };
        assert!(layout.is_valid());
        assert!(header::CLAIMS + 5 * 8 <= layout.ring(0, 0));
        let end = Layout::slot(63) + SLOT_BYTES;
        assert!(Layout::HEAD + 8 <= Layout::slot(0) && end <= layout.fragment(0));
        let ring = layout.ring(1, 0) - layout.ring(0, 0);
        assert!(layout.fragment(FRAGMENTS as usize - 1) + FRAGMENT_BYTES as usize <= ring);
        assert_eq!(layout.ring(0, 1) - layout.ring(2, 0), ring);
        assert_eq!(layout.ring(2, 4) + ring, layout.bytes());
    }

    #[test]
    fn sizes_out_of_bounds_are_not_valid() {
        let valid = Layout {
            rails: 1,
            peers: 1,
            slots: 16,
        };
        assert!(valid.is_valid());
        for wrong in [
            Layout { rails: 0, ..valid },
            Layout { rails: 65, ..valid },
            Layout { peers: 0, ..valid },
            Layout { peers: 1025, ..valid },
            Layout { slots: 24, ..valid },
            Layout { slots: 8, ..valid },
            Layout {
                slots: 131_072,
                ..valid
            },
        ] {
            assert!(!wrong.is_valid(), "{wrong:?}");
        }
    }
}
