//! The endpoint name that a peer needs: which process, which of its files, which rail. Pure.

use crate::transport::EndpointAddresses;

/// Where a segment is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SegmentName {
    /// Process that owns it.
    pub(super) process: u32,
    /// Descriptor of its file in that process.
    pub(super) descriptor: u32,
    /// Random number that the segment begins with: a process number and a descriptor may be used again.
    pub(super) nonce: u64,
}

const BYTES: usize = 20;

impl SegmentName {
    /// The endpoint names of all rails of the segment.
    pub(super) fn addresses(self, rails: usize) -> EndpointAddresses {
        let name = |rail: u32| {
            let mut bytes = Vec::with_capacity(BYTES);
            bytes.extend(self.process.to_be_bytes());
            bytes.extend(self.descriptor.to_be_bytes());
            bytes.extend(self.nonce.to_be_bytes());
            bytes.extend(rail.to_be_bytes());
            bytes
        };
        EndpointAddresses {
            rails: (0u32..).take(rails).map(name).collect(),
        }
    }

    /// The segment that all rails of `addresses` are of; nothing where they are not names of this transport, in the
    /// order of the rails.
    pub(super) fn from_addresses(addresses: &EndpointAddresses) -> Option<Self> {
        let first = addresses.rails.first()?;
        let (process, rest) = first.split_first_chunk()?;
        let (descriptor, rest) = rest.split_first_chunk()?;
        let (nonce, _) = rest.split_first_chunk()?;
        let name = Self {
            process: u32::from_be_bytes(*process),
            descriptor: u32::from_be_bytes(*descriptor),
            nonce: u64::from_be_bytes(*nonce),
        };
        (name.addresses(addresses.rails.len()) == *addresses).then_some(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::MAX_ADDRESS_BYTES;

    const NAME: SegmentName = SegmentName {
        process: 0x0102_0304,
        descriptor: 7,
        nonce: 0x1122_3344_5566_7788,
    };

    #[test]
    fn names_read_back() {
        let addresses = NAME.addresses(3);
        assert_eq!(SegmentName::from_addresses(&addresses), Some(NAME));
        assert!(addresses.rails.iter().all(|name| name.len() <= MAX_ADDRESS_BYTES));
    }

    #[test]
    fn other_names_and_other_orders_are_refused() {
        let mut swapped = NAME.addresses(2);
        swapped.rails.swap(0, 1);
        let mut short = NAME.addresses(1);
        short.rails[0].pop();
        let mut long = NAME.addresses(1);
        long.rails[0].push(0);
        for wrong in [swapped, short, long, EndpointAddresses::default()] {
            assert_eq!(SegmentName::from_addresses(&wrong), None, "{wrong:?}");
        }
    }
}
