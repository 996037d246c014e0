//! Endpoint names: what they say to people, and whether one from a peer can be taken.

use crate::transport::MAX_ADDRESS_BYTES;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// `AF_INET` and `AF_INET6` of Linux, the first two bytes of a socket address.
const FAMILIES: (u16, u16) = (2, 10);

/// An endpoint name in words: `127.0.0.1:4000`, `fi_shm://...`, or hexadecimal.
pub(in crate::transport::libfabric) fn text(name: &[u8]) -> String {
    if let Some(address) = socket(name) {
        return address.to_string();
    }
    let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
    let (head, rest) = name.split_at(end);
    let printable =
        !head.is_empty() && head.iter().all(u8::is_ascii_graphic) && rest.iter().all(|byte| *byte == 0);
    match std::str::from_utf8(head) {
        Ok(head) if printable => head.to_owned(),
        _ => name.iter().map(|byte| format!("{byte:02x}")).collect(),
    }
}

/// The IP address in an endpoint name, where it is a socket address.
pub(in crate::transport::libfabric) fn ip(name: &[u8]) -> Option<IpAddr> {
    socket(name).map(|address| address.ip())
}

fn socket(name: &[u8]) -> Option<SocketAddr> {
    let family = u16::from_ne_bytes(name.get(..2)?.try_into().ok()?);
    let port = u16::from_be_bytes(name.get(2..4)?.try_into().ok()?);
    let ip: IpAddr = match (family, name.len()) {
        (family, 16) if family == FAMILIES.0 => Ipv4Addr::from(<[u8; 4]>::try_from(&name[4..8]).ok()?).into(),
        (family, 28) if family == FAMILIES.1 => {
            Ipv6Addr::from(<[u8; 16]>::try_from(&name[8..24]).ok()?).into()
        }
        _ => return None,
    };
    Some(SocketAddr::new(ip, port))
}

/// The file in `/dev/shm` that an shm endpoint lives in: its name behind the prefix (`fi_shm://` for one made of the
/// process number, `fi_ns://` for one that was asked for).
pub(in crate::transport::libfabric) fn shared_memory_file(name: &[u8]) -> Option<String> {
    let text = text(name);
    let (_, file) = text.split_once("://")?;
    (!file.is_empty() && !file.contains('/')).then(|| file.to_owned())
}

/// A peer's endpoint name, padded with zeros to a length that no provider reads past: the library measures a name
/// by its own address format and trusts the caller.
///
/// # Errors
///
/// In words, where it is empty, too long, or of another format than our own.
pub(in crate::transport::libfabric) fn padded(
    peer: &[u8],
    own: &[u8],
) -> Result<[u8; 2 * MAX_ADDRESS_BYTES], String> {
    if peer.is_empty() || peer.len() > MAX_ADDRESS_BYTES {
        return Err(format!(
            "an endpoint name of {} bytes; 1 to {MAX_ADDRESS_BYTES} are taken",
            peer.len()
        ));
    }
    let (theirs, ours) = (
        socket(peer).map(|a| a.is_ipv4()),
        socket(own).map(|a| a.is_ipv4()),
    );
    let is_text = |name| shared_memory_file(name).is_some();
    let comparable = is_text(peer) && is_text(own) || peer.len() == own.len();
    if theirs != ours || !comparable {
        return Err(format!(
            "the endpoint name {} has another format than our own, {}",
            text(peer),
            text(own)
        ));
    }
    let mut padded = [0; 2 * MAX_ADDRESS_BYTES];
    padded[..peer.len()].copy_from_slice(peer);
    Ok(padded)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inet(address: [u8; 4], port: u16) -> Vec<u8> {
        let mut name = 2_u16.to_ne_bytes().to_vec();
        name.extend(port.to_be_bytes());
        name.extend(address);
        name.resize(16, 0);
        name
    }

    #[test]
    fn names_are_readable() {
        assert_eq!(text(&inet([127, 0, 0, 2], 4000)), "127.0.0.2:4000");
        assert_eq!(text(b"fi_shm://1234:0:1\0"), "fi_shm://1234:0:1");
        assert_eq!(text(&[0xfe, 0x80, 0x01]), "fe8001");
    }

    #[test]
    fn the_file_of_an_shm_endpoint_never_leaves_its_folder() {
        assert_eq!(
            shared_memory_file(b"fi_shm://1234:0:1\0").as_deref(),
            Some("1234:0:1")
        );
        assert_eq!(shared_memory_file(b"fi_shm://../etc/passwd\0"), None);
        assert_eq!(shared_memory_file(&inet([127, 0, 0, 1], 1)), None);
    }

    #[test]
    fn a_peer_of_another_format_is_refused_before_the_library_reads_it() {
        let own = inet([127, 0, 0, 1], 4000);
        assert!(padded(&own[..8], &own).unwrap_err().contains("another format"));
        assert!(padded(b"fi_shm://1\0", &own).is_err());
        assert!(padded(&[], &own).unwrap_err().contains("0 bytes"));
        assert!(padded(&[1; MAX_ADDRESS_BYTES + 1], &own).is_err());
        let peer = inet([127, 0, 0, 9], 1);
        assert_eq!(padded(&peer, &own).unwrap()[..16], peer[..]);
    }

    #[test]
    fn shm_names_may_differ_in_length() {
        assert!(padded(b"fi_shm://12345:0:1\0", b"fi_shm://7:0:1\0").is_ok());
    }
}
