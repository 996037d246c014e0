//! Segment layout. Performs no I/O.
//!
//! A segment is the memory that the peers of an endpoint write to: a header, followed by one ring for every rail and
//! peer. A ring consists of slots, one for each packet of a message, and fragments, which hold the bytes of packets
//! that are too long for their slot.

/// First word of every segment, which identifies the layout and its version.
pub(in crate::transport::loopback) const MAGIC: u64 = u64::from_be_bytes(*b"fabring1");

/// Number of words that describe a packet.
pub(in crate::transport::loopback) const SLOT_WORDS: usize = 8;
/// Slot payload capacity in bytes.
///
/// Short messages, including injected ones, are copied directly into their slot. 256 is the inject limit that the test
/// procedures require.
pub(in crate::transport::loopback) const INLINE_BYTES: u64 = 256;
const SLOT_BYTES: usize = SLOT_WORDS * 8 + INLINE_BYTES as usize;

/// Fragment size in bytes.
///
/// The size is large enough to make the cost of a slot negligible compared with the copy, and small enough to let the
/// two sides copy different fragments of one message concurrently.
pub(in crate::transport::loopback) const FRAGMENT_BYTES: u64 = 8 * 1024;
/// Number of fragments in a ring. Together, the fragments fit in the L2 cache of a core.
pub(in crate::transport::loopback) const FRAGMENTS: u64 = 32;

/// Maximum message length in bytes.
pub(in crate::transport::loopback) const MAX_MESSAGE_BYTES: u64 = u32::MAX as u64;
/// Mask for the immediate data bits that are transferred.
pub(in crate::transport::loopback) const IMMEDIATE_MASK: u64 = u32::MAX as u64;

/// Supported range of slots per ring.
pub(in crate::transport::loopback) const SLOTS: std::ops::RangeInclusive<usize> = 16..=65_536;
/// Maximum number of rails per endpoint, the same as in a manifest.
pub(in crate::transport::loopback) const MAX_RAILS: usize = 64;
/// Maximum number of peers per endpoint.
pub(in crate::transport::loopback) const MAX_PEERS: usize = 1024;

const PAGE: usize = 4096;
/// Two cache lines. Words written by different sides are at least this far apart to avoid false sharing; one line would
/// not be enough, because CPUs prefetch lines in pairs.
const LINE: usize = 128;

/// Byte offsets of the header words.
pub(in crate::transport::loopback) mod header {
    use super::LINE;

    pub(in crate::transport::loopback) const MAGIC: usize = 0;
    pub(in crate::transport::loopback) const NONCE: usize = 8;
    pub(in crate::transport::loopback) const RAILS: usize = 16;
    pub(in crate::transport::loopback) const PEERS: usize = 24;
    pub(in crate::transport::loopback) const SLOTS: usize = 32;
    /// 1 if the owner may sleep.
    pub(in crate::transport::loopback) const WAITS: usize = 40;
    /// 1 once the owner has closed the segment.
    pub(in crate::transport::loopback) const CLOSED: usize = 48;
    /// Number of peer claims. Each claim covers one ring on every rail.
    pub(in crate::transport::loopback) const CLAIMED: usize = LINE;
    /// 32-bit futex word on which the owner sleeps.
    pub(in crate::transport::loopback) const SIGNAL: usize = 2 * LINE;
    /// 32-bit word: 1 while the owner is sleeping.
    pub(in crate::transport::loopback) const SLEEPING: usize = 2 * LINE + 4;
    /// Nonces of the claiming peers.
    pub(in crate::transport::loopback) const CLAIMS: usize = 3 * LINE;
}

/// Segment dimensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::transport::loopback) struct Layout {
    /// Number of rails of the endpoint.
    pub(in crate::transport::loopback) rails: usize,
    /// Number of peers that can claim a ring on every rail.
    pub(in crate::transport::loopback) peers: usize,
    /// Number of slots in a ring; a power of two.
    pub(in crate::transport::loopback) slots: usize,
}

impl Layout {
    /// Whether all sizes are supported.
    pub(in crate::transport::loopback) fn is_valid(self) -> bool {
        (1..=MAX_RAILS).contains(&self.rails)
            && (1..=MAX_PEERS).contains(&self.peers)
            && SLOTS.contains(&self.slots)
            && self.slots.is_power_of_two()
    }

    /// Segment size in bytes.
    pub(in crate::transport::loopback) fn bytes(self) -> usize {
        self.header_bytes() + self.rails * self.peers * self.ring_bytes()
    }

    /// Byte offset of a ring, by its rail and claim.
    pub(in crate::transport::loopback) fn ring(self, rail: usize, claim: usize) -> usize {
        self.header_bytes() + (claim * self.rails + rail) * self.ring_bytes()
    }

    /// Byte offset, within a ring, of the word that counts published slots.
    pub(in crate::transport::loopback) const TAIL: usize = 0;
    /// Byte offset, within a ring, of the word that counts consumed slots.
    pub(in crate::transport::loopback) const HEAD: usize = LINE;

    /// Byte offset of a slot within its ring. The payload of the slot follows its words.
    pub(in crate::transport::loopback) fn slot(index: usize) -> usize {
        2 * LINE + index * SLOT_BYTES
    }

    /// Byte offset of a fragment within its ring.
    pub(in crate::transport::loopback) fn fragment(self, index: usize) -> usize {
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
    fn rejects_sizes_out_of_bounds() {
        let valid = Layout {
            rails: 1,
            peers: 1,
            slots: 16,
        };
        assert!(valid.is_valid());
        for invalid in [
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
            assert!(!invalid.is_valid(), "{invalid:?}");
        }
    }
}
