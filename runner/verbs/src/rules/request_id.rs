//! Identifiers of work requests (`wr_id`), which completions return. Performs no I/O.

/// Number of bits in the sequence number of a send.
const SEQUENCE_BITS: u32 = 46;
/// Number of bits in a queue pair index.
const QUEUE_BITS: u32 = 16;

/// Maximum number of queue pairs per rail.
pub(crate) const MAX_QUEUES: usize = 1 << QUEUE_BITS;

/// A work request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestId {
    /// Request number `sequence` in the send queue of the queue pair at index `queue`.
    Send {
        /// Index of the queue pair.
        queue: u16,
        /// Number of the request, less than 2^46.
        sequence: u64,
    },
    /// Receive for a message.
    Receive {
        /// Token of the receive.
        token: u32,
    },
    /// Receive that a write with immediate data consumes.
    Immediate,
}

impl RequestId {
    /// Encodes the identifier as a number.
    #[inline]
    pub(crate) fn encode(self) -> u64 {
        match self {
            Self::Send { queue, sequence } => u64::from(queue) << SEQUENCE_BITS | sequence,
            Self::Receive { token } => 1 << 62 | u64::from(token),
            Self::Immediate => 2 << 62,
        }
    }

    /// Decodes an identifier that [`Self::encode`] produced.
    #[inline]
    pub(crate) fn decode(id: u64) -> Self {
        match id >> 62 {
            0 => Self::Send {
                queue: (id >> SEQUENCE_BITS) as u16,
                sequence: id & ((1 << SEQUENCE_BITS) - 1),
            },
            1 => Self::Receive { token: id as u32 },
            _ => Self::Immediate,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_unique_and_reversible() {
        let ids = [
            RequestId::Send {
                queue: 0,
                sequence: 0,
            },
            RequestId::Send {
                queue: u16::MAX,
                sequence: (1 << SEQUENCE_BITS) - 1,
            },
            RequestId::Receive { token: 0 },
            RequestId::Receive { token: u32::MAX },
            RequestId::Immediate,
        ];
        for (index, id) in ids.iter().enumerate() {
            assert_eq!(RequestId::decode(id.encode()), *id);
            for other in &ids[..index] {
                assert_ne!(other.encode(), id.encode());
            }
        }
    }
}
