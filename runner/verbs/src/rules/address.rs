//! Address of one rail, as sent to peers. Performs no I/O.

use super::gid::Gid;

/// First byte of an address. It changes with the format.
const FORMAT: u8 = 2;
/// Length of the fields before the queue pairs, in bytes.
const HEADER_BYTES: usize = 1 + 4 + 16 + 2 + 1 + 1 + 4;
/// Length of the two queue pair numbers for one rank, in bytes.
const PAIR_BYTES: usize = 8;

/// Numbers of the two queue pairs for one peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct QueuePairNumbers {
    /// Queue pair for messages.
    pub messages: u32,
    /// Queue pair for reads and writes.
    pub memory: u32,
}

/// Address of one rail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RailAddress {
    /// Rank of the worker that owns the rail.
    pub rank: u32,
    pub gid: Gid,
    /// The port's local identifier in its InfiniBand subnet; 0 for RoCE.
    pub lid: u16,
    /// Maximum packet size of the port, as an `ibv_mtu` code.
    pub mtu: u8,
    /// Number of reads that each of the rail's queue pairs serves concurrently.
    pub reads: u8,
    /// First packet sequence number of every queue pair.
    pub first_packet: u32,
    /// Queue pairs: one entry if the worker has one peer, or otherwise one entry per rank.
    pub queue_pairs: Vec<QueuePairNumbers>,
}

impl RailAddress {
    /// Packs the address.
    pub(crate) fn pack(&self) -> Vec<u8> {
        let mut packed = Vec::with_capacity(HEADER_BYTES + PAIR_BYTES * self.queue_pairs.len());
        packed.push(FORMAT);
        packed.extend(self.rank.to_le_bytes());
        packed.extend(self.gid);
        packed.extend(self.lid.to_le_bytes());
        packed.push(self.mtu);
        packed.push(self.reads);
        packed.extend(self.first_packet.to_le_bytes());
        for numbers in &self.queue_pairs {
            packed.extend(numbers.messages.to_le_bytes());
            packed.extend(numbers.memory.to_le_bytes());
        }
        packed
    }

    /// Unpacks an address; `None` if it is not in this format.
    pub(crate) fn unpack(packed: &[u8]) -> Option<Self> {
        let (format, rest) = packed.split_first()?;
        let (rank, rest) = rest.split_first_chunk()?;
        let (gid, rest) = rest.split_first_chunk()?;
        let (lid, rest) = rest.split_first_chunk()?;
        let (mtu, rest) = rest.split_first()?;
        let (reads, rest) = rest.split_first()?;
        let (first_packet, rest) = rest.split_first_chunk()?;
        let pairs = rest.chunks_exact(PAIR_BYTES);
        if *format != FORMAT || !pairs.remainder().is_empty() {
            return None;
        }
        let queue_pairs = pairs.map(|pair| {
            let (messages, memory) = pair.split_first_chunk::<4>()?;
            Some(QueuePairNumbers {
                messages: u32::from_le_bytes(*messages),
                memory: u32::from_le_bytes(*memory.first_chunk()?),
            })
        });
        Some(Self {
            rank: u32::from_le_bytes(*rank),
            gid: *gid,
            lid: u16::from_le_bytes(*lid),
            mtu: *mtu,
            reads: *reads,
            first_packet: u32::from_le_bytes(*first_packet),
            queue_pairs: queue_pairs.collect::<Option<_>>()?,
        })
    }

    /// Index of the queue pairs for the worker whose rank is `rank`.
    pub(crate) fn index_for(&self, rank: u32) -> usize {
        index_for(self.queue_pairs.len(), rank)
    }
}

/// Index of the queue pairs for the worker whose rank is `rank`, on a rail with `count` pairs of queue pairs.
pub(crate) fn index_for(count: usize, rank: u32) -> usize {
    if count == 1 { 0 } else { rank as usize }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(pairs: u32) -> RailAddress {
        RailAddress {
            rank: 3,
            gid: [7; 16],
            lid: 9,
            mtu: 5,
            reads: 16,
            first_packet: 0x00ab_cdef,
            queue_pairs: (0..pairs)
                .map(|number| QueuePairNumbers {
                    messages: 2 * number + 17,
                    memory: 2 * number + 18,
                })
                .collect(),
        }
    }

    #[test]
    fn unpacking_restores_a_packed_address() {
        for pairs in [0, 1, 200] {
            let packed = address(pairs).pack();
            assert!(packed.len() <= runner::transport::MAX_ADDRESS_BYTES);
            assert_eq!(RailAddress::unpack(&packed), Some(address(pairs)));
        }
    }

    #[test]
    fn rejects_truncated_addresses_and_other_formats() {
        let packed = address(1).pack();
        for length in 0..packed.len() {
            let is_valid = length == HEADER_BYTES;
            assert_eq!(
                RailAddress::unpack(&packed[..length]).is_some(),
                is_valid,
                "{length}"
            );
        }
        let mut foreign = packed.clone();
        foreign[0] = FORMAT + 1;
        assert_eq!(RailAddress::unpack(&foreign), None);
    }

    #[test]
    fn workers_with_several_peers_find_their_queue_pairs_by_rank() {
        assert_eq!(address(1).index_for(5), 0);
        assert_eq!(address(8).index_for(5), 5);
    }
}
