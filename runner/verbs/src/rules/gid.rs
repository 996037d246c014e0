//! Global identifiers (GIDs): the source addresses of a port. Performs no I/O.

use std::net::{IpAddr, Ipv6Addr};

/// Port address.
pub(crate) type Gid = [u8; 16];

/// Protocol of a GID, as named by the kernel in sysfs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Protocol {
    /// InfiniBand, or RoCE v1, which is not routed.
    InfiniBand,
    /// RoCE v2 over UDP.
    RoceV2,
}

impl Protocol {
    /// Parses the content of the `gid_attrs/types/N` file.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        match text.trim() {
            "IB/RoCE v1" => Some(Self::InfiniBand),
            "RoCE v2" => Some(Self::RoceV2),
            _ => None,
        }
    }

    /// Protocol name in sysfs.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::InfiniBand => "IB/RoCE v1",
            Self::RoceV2 => "RoCE v2",
        }
    }
}

/// Entry in a port's GID table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Index in the table.
    pub index: u8,
    pub gid: Gid,
    pub protocol: Protocol,
}

impl Entry {
    /// IP address of the entry; an IPv4 address is mapped into IPv6.
    pub(crate) fn ip(&self) -> IpAddr {
        Ipv6Addr::from(self.gid).to_canonical()
    }
}

/// Parses the content of the `gids/N` file: eight groups of four hexadecimal digits. `None` for an empty entry.
pub(crate) fn parse(text: &str) -> Option<Gid> {
    let gid = text.trim().parse::<Ipv6Addr>().ok()?.octets();
    (gid != [0; 16]).then_some(gid)
}

/// Selects the source address: the entry whose address is `source`, or else an entry that can be routed, in this order:
/// RoCE v2 with an IPv4 address, RoCE v2 with a global IPv6 address, any other RoCE v2 entry, any other entry. If
/// several entries rank equally, the first one is selected.
///
/// `None` if the table has no such entry.
pub(crate) fn select(table: &[Entry], source: Option<IpAddr>) -> Option<Entry> {
    let rank = |entry: &&Entry| {
        let scope = match entry.ip() {
            IpAddr::V4(_) => 0,
            IpAddr::V6(address) if !address.is_unicast_link_local() => 1,
            IpAddr::V6(_) => 2,
        };
        (entry.protocol != Protocol::RoceV2, scope, entry.index)
    };
    table
        .iter()
        .filter(|entry| source.is_none_or(|source| entry.ip() == source))
        .min_by_key(rank)
        .copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(index: u8, gid: &str, protocol: Protocol) -> Entry {
        Entry {
            index,
            gid: parse(gid).unwrap(),
            protocol,
        }
    }

    /// Table of a RoCE port with an IPv4 address.
    fn table() -> Vec<Entry> {
        let (link_local, ipv4) = (
            "fe80:0000:0000:0000:0242:acff:fe11:0002",
            "0000:0000:0000:0000:0000:ffff:0a00:0001",
        );
        vec![
            entry(0, link_local, Protocol::InfiniBand),
            entry(1, link_local, Protocol::RoceV2),
            entry(2, ipv4, Protocol::InfiniBand),
            entry(3, ipv4, Protocol::RoceV2),
        ]
    }

    #[test]
    fn prefers_routed_ipv4() {
        assert_eq!(select(&table(), None).unwrap().index, 3);
        assert_eq!(select(&table()[..3], None).unwrap().index, 1);
        assert_eq!(select(&table()[..1], None).unwrap().index, 0);
        assert_eq!(select(&[], None), None);
    }

    #[test]
    fn finds_the_requested_address() {
        let source = |text: &str| select(&table(), Some(text.parse().unwrap()));
        assert_eq!(source("10.0.0.1").unwrap().index, 3);
        assert_eq!(source("fe80::242:acff:fe11:2").unwrap().index, 1);
        assert_eq!(source("10.0.0.2"), None);
    }

    #[test]
    fn rejects_empty_and_unknown_entries() {
        assert_eq!(parse("0000:0000:0000:0000:0000:0000:0000:0000\n"), None);
        assert_eq!(parse("nothing"), None);
        assert_eq!(Protocol::parse("RoCE v2\n"), Some(Protocol::RoceV2));
        assert_eq!(Protocol::parse(""), None);
    }
}
