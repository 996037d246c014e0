//! Formats endpoint names for display, and validates peers' endpoint names. Performs no I/O.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Maximum length of a libfabric endpoint name, in bytes.
pub(in crate::transport::libfabric) const MAX_NAME_BYTES: usize = 256;

/// `AF_INET` on Linux. The first two bytes of a socket address are its family.
const AF_INET: u16 = 2;
/// `AF_INET6` on Linux.
const AF_INET6: u16 = 10;

/// Readable form of an endpoint name: `127.0.0.1:4000`, `fi_shm://...`, or hexadecimal digits.
pub(in crate::transport::libfabric) fn display(name: &[u8]) -> String {
    if let Some(address) = socket_address(name) {
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

/// IP address in an endpoint name, if the name is a socket address.
pub(in crate::transport::libfabric) fn ip_address(name: &[u8]) -> Option<IpAddr> {
    socket_address(name).map(|address| address.ip())
}

fn socket_address(name: &[u8]) -> Option<SocketAddr> {
    let family = u16::from_ne_bytes(name.get(..2)?.try_into().ok()?);
    let port = u16::from_be_bytes(name.get(2..4)?.try_into().ok()?);
    let ip: IpAddr = match (family, name.len()) {
        (AF_INET, 16) => Ipv4Addr::from(<[u8; 4]>::try_from(&name[4..8]).ok()?).into(),
        (AF_INET6, 28) => Ipv6Addr::from(<[u8; 16]>::try_from(&name[8..24]).ok()?).into(),
        _ => return None,
    };
    Some(SocketAddr::new(ip, port))
}

/// Name of the file in `/dev/shm` that backs an shm endpoint: the endpoint name without its prefix (`fi_shm://` if
/// the provider derived the name from the process ID, `fi_ns://` if the application chose it).
pub(in crate::transport::libfabric) fn shared_memory_file(name: &[u8]) -> Option<String> {
    let name = display(name);
    let (_, file) = name.split_once("://")?;
    (!file.is_empty() && !file.contains('/')).then(|| file.to_owned())
}

/// Zero-pads a peer's endpoint name to a length beyond which no provider reads.
///
/// Padding is necessary because the library derives a name's length from its address format and does not check the
/// length of the caller's buffer.
///
/// # Errors
///
/// Returns a message if the name is empty, too long, or differs in format from the local endpoint name.
pub(in crate::transport::libfabric) fn pad(
    peer: &[u8],
    own: &[u8],
) -> Result<[u8; 2 * MAX_NAME_BYTES], String> {
    if peer.is_empty() || peer.len() > MAX_NAME_BYTES {
        return Err(format!(
            "the peer's endpoint name is {} bytes long; it must be 1 to {MAX_NAME_BYTES} bytes long",
            peer.len()
        ));
    }
    let is_ipv4 = |name| socket_address(name).map(|address| address.is_ipv4());
    let is_shared_memory = |name| shared_memory_file(name).is_some();
    let compatible_length = is_shared_memory(peer) && is_shared_memory(own) || peer.len() == own.len();
    if is_ipv4(peer) != is_ipv4(own) || !compatible_length {
        return Err(format!(
            "the peer's endpoint name {} is not in the same format as the local endpoint name {}",
            display(peer),
            display(own)
        ));
    }
    let mut padded = [0; 2 * MAX_NAME_BYTES];
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
    fn displays_readable_names() {
        assert_eq!(display(&inet([127, 0, 0, 2], 4000)), "127.0.0.2:4000");
        assert_eq!(display(b"fi_shm://1234:0:1\0"), "fi_shm://1234:0:1");
        assert_eq!(display(&[0xfe, 0x80, 0x01]), "fe8001");
    }

    #[test]
    fn rejects_a_shared_memory_file_outside_its_directory() {
        assert_eq!(
            shared_memory_file(b"fi_shm://1234:0:1\0").as_deref(),
            Some("1234:0:1")
        );
        assert_eq!(shared_memory_file(b"fi_shm://../etc/passwd\0"), None);
        assert_eq!(shared_memory_file(&inet([127, 0, 0, 1], 1)), None);
    }

    #[test]
    fn rejects_a_peer_name_in_another_format() {
        let own = inet([127, 0, 0, 1], 4000);
        assert!(
            pad(&own[..8], &own)
                .unwrap_err()
                .contains("not in the same format")
        );
        assert!(pad(b"fi_shm://1\0", &own).is_err());
        assert!(pad(&[], &own).unwrap_err().contains("0 bytes"));
        assert!(pad(&[1; MAX_NAME_BYTES + 1], &own).is_err());
        let peer = inet([127, 0, 0, 9], 1);
        assert_eq!(pad(&peer, &own).unwrap()[..16], peer[..]);
    }

    #[test]
    fn accepts_shm_names_of_different_lengths() {
        assert!(pad(b"fi_shm://12345:0:1\0", b"fi_shm://7:0:1\0").is_ok());
    }
}
