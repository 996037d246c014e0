//! Finds the interface that has a given address, and the address of a given interface. Queries the kernel for the
//! addresses; matching performs no I/O.

use std::net::{IpAddr, SocketAddr};

/// Name of the interface that has `ip`; `None` if no interface has it.
pub fn interface_with(ip: IpAddr) -> Option<String> {
    let known: Vec<(String, IpAddr)> = if_addrs::get_if_addrs()
        .ok()?
        .into_iter()
        .map(|interface| (interface.name.clone(), interface.ip()))
        .collect();
    matching_interface(ip, &known)
}

/// Addresses of all interfaces: first those of networks, then those of the loopback interface. Link-local addresses are
/// omitted, because they are valid only together with an interface.
pub fn addresses() -> Vec<IpAddr> {
    let interfaces = if_addrs::get_if_addrs().unwrap_or_default();
    let is_link_local = |address: &IpAddr| match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    };
    let mut found: Vec<IpAddr> = interfaces.iter().map(if_addrs::Interface::ip).collect();
    found.retain(|address| !is_link_local(address));
    found.sort_by_key(|address| (address.is_loopback(), address.is_ipv6()));
    found
}

/// Address of interface `name`, preferably an IPv4 address; `None` if it does not exist or has no address.
pub fn address_of(name: &str) -> Option<IpAddr> {
    let interfaces = if_addrs::get_if_addrs().ok()?;
    let addresses = interfaces.iter().filter(|interface| interface.name == name);
    let addresses = addresses.map(if_addrs::Interface::ip);
    addresses.min_by_key(IpAddr::is_ipv6)
}

fn matching_interface(ip: IpAddr, known: &[(String, IpAddr)]) -> Option<String> {
    let exact = known.iter().find(|(_, own)| *own == ip);
    // All of 127.0.0.0/8 is local to the interface that has one of its addresses.
    let found = exact.or_else(|| {
        known
            .iter()
            .find(|(_, own)| ip.is_ipv4() && ip.is_loopback() && own.is_ipv4() && own.is_loopback())
    });
    // In an address label such as `eth0:1`, the part before the colon is the interface name.
    found.map(|(name, _)| name.split(':').next().unwrap_or(name).to_owned())
}

/// Parses the IP address in an endpoint address, in the forms that libraries print: `10.0.0.1`, `10.0.0.1:7471`,
/// `[::1]:7471`, and `fi_sockaddr_in://10.0.0.1:7471`.
pub(super) fn parse_ip(text: &str) -> Option<IpAddr> {
    let text = text.split_once("://").map_or(text, |(_, rest)| rest);
    let bare = text.trim_start_matches('[').trim_end_matches(']');
    text.parse::<SocketAddr>()
        .map(|address| address.ip())
        .or_else(|_| bare.parse())
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn known_addresses() -> Vec<(String, IpAddr)> {
        [
            ("lo", "127.0.0.1"),
            ("lo", "::1"),
            ("eth0", "10.0.0.1"),
            ("eth0:1", "10.0.0.2"),
            ("eth1", "fd00::1"),
        ]
        .map(|(name, address)| (name.to_owned(), ip(address)))
        .to_vec()
    }

    #[test]
    fn matches_addresses_to_interfaces() {
        for (address, interface) in [
            ("10.0.0.1", Some("eth0")),
            ("10.0.0.2", Some("eth0")),
            ("fd00::1", Some("eth1")),
            ("127.0.0.4", Some("lo")),
            ("10.0.0.3", None),
            ("fd00::2", None),
        ] {
            assert_eq!(
                matching_interface(ip(address), &known_addresses()).as_deref(),
                interface,
                "{address}"
            );
        }
    }

    #[test]
    fn finds_the_loopback_interface_of_this_machine() {
        let own = interface_with(ip("127.0.0.1"));
        assert!(own.is_some());
        assert_eq!(interface_with(ip("127.0.0.4")), own);
        // This address is reserved for documentation, so no machine has it.
        assert_eq!(interface_with(ip("192.0.2.1")), None);
    }

    #[test]
    fn parses_printed_addresses() {
        for text in ["10.0.0.1", "10.0.0.1:7471", "fi_sockaddr_in://10.0.0.1:7471"] {
            assert_eq!(parse_ip(text), Some(ip("10.0.0.1")), "{text}");
        }
        for text in ["::1", "[::1]", "[::1]:7471", "fi_sockaddr_in6://[::1]:7471"] {
            assert_eq!(parse_ip(text), Some(ip("::1")), "{text}");
        }
        for text in ["", "fi_addr_efa://[fe80::1]:3:4", "shm", "10.0.0.1:port"] {
            assert_eq!(parse_ip(text), None, "{text}");
        }
    }
}
