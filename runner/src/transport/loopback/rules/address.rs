//! Encodes segment addresses and rail numbers as endpoint names. Performs no I/O.

use crate::transport::EndpointAddresses;

/// Segment address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::transport::loopback) struct SegmentAddress {
    /// Process ID of the owner.
    pub(in crate::transport::loopback) process: u32,
    /// The segment's file descriptor in that process.
    pub(in crate::transport::loopback) descriptor: u32,
    /// Random number in the segment header.
    ///
    /// It distinguishes the segment from a later one with the same process ID and descriptor.
    pub(in crate::transport::loopback) nonce: u64,
}

const BYTES: usize = 20;

impl SegmentAddress {
    /// Endpoint names of all of the segment's rails.
    pub(in crate::transport::loopback) fn endpoint_addresses(self, rails: usize) -> EndpointAddresses {
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

    /// Address of the segment to which all rails of `addresses` belong; `None` if they are not the endpoint names of
    /// one segment in rail order.
    pub(in crate::transport::loopback) fn from_addresses(addresses: &EndpointAddresses) -> Option<Self> {
        let first = addresses.rails.first()?;
        let (process, rest) = first.split_first_chunk()?;
        let (descriptor, rest) = rest.split_first_chunk()?;
        let (nonce, _) = rest.split_first_chunk()?;
        let address = Self {
            process: u32::from_be_bytes(*process),
            descriptor: u32::from_be_bytes(*descriptor),
            nonce: u64::from_be_bytes(*nonce),
        };
        (address.endpoint_addresses(addresses.rails.len()) == *addresses).then_some(address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::MAX_ADDRESS_BYTES;

    const ADDRESS: SegmentAddress = SegmentAddress {
        process: 0x0102_0304,
        descriptor: 7,
        nonce: 0x1122_3344_5566_7788,
    };

    #[test]
    fn decodes_encoded_names() {
        let addresses = ADDRESS.endpoint_addresses(3);
        assert_eq!(SegmentAddress::from_addresses(&addresses), Some(ADDRESS));
        assert!(addresses.rails.iter().all(|name| name.len() <= MAX_ADDRESS_BYTES));
    }

    #[test]
    fn rejects_malformed_names_and_wrong_order() {
        let mut swapped = ADDRESS.endpoint_addresses(2);
        swapped.rails.swap(0, 1);
        let mut short = ADDRESS.endpoint_addresses(1);
        short.rails[0].pop();
        let mut long = ADDRESS.endpoint_addresses(1);
        long.rails[0].push(0);
        for invalid in [swapped, short, long, EndpointAddresses::default()] {
            assert_eq!(SegmentAddress::from_addresses(&invalid), None, "{invalid:?}");
        }
    }
}
