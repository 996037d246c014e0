//! Parses the addresses of a multicast delivery. Performs no I/O.

use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};

use crds::assignment::MulticastDelivery;

fn invalid_address(what: &str, value: &str) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidInput,
        format!("{what} `{value}` is not an IPv4 address"),
    )
}

/// Parses an address with a port. `what` names it in error messages.
pub(super) fn socket_address(what: &str, value: &str) -> io::Result<SocketAddrV4> {
    value.parse().map_err(|_| invalid_address(what, value))
}

/// Address of the interface; unspecified if the routing table chooses it.
pub(super) fn interface(delivery: &MulticastDelivery) -> io::Result<Ipv4Addr> {
    let given = delivery.interface.as_deref();
    given.map_or(Ok(Ipv4Addr::UNSPECIFIED), |value| {
        value.parse().map_err(|_| invalid_address("interface", value))
    })
}
