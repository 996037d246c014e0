//! Hexadecimal address of a server, which a user copies from the server's terminal to the client's command line, as with
//! `--listen-mode worker` of the Starway benchmark suite. Performs no I/O.
//!
//! A UCX worker address cannot be printed in advance, because the client chooses the library and the transports. The
//! address therefore contains the addresses of the server's control connection, over which the two sides exchange the
//! worker addresses of the measured endpoints.

use crds::record::hex;

use super::bounds::FlagError;

/// Flag whose value is a worker address.
const FLAG: &str = "--worker-address";
/// Beginning of every address, before the length and the list of addresses. The last byte is the version of the
/// format.
const MAGIC: &[u8] = b"fabricbench\x01";
/// Maximum number of addresses, so that a client tries only a few.
const MAX_ADDRESSES: usize = 32;

/// Encodes the addresses of a server.
pub(super) fn encode(addresses: &[(String, u16)]) -> String {
    let list: Vec<_> = addresses
        .iter()
        .take(MAX_ADDRESSES)
        .map(|(host, port)| format!("{host} {port}"))
        .collect();
    let list = list.join(",");
    // At most 32 addresses of at most 260 bytes.
    let length = u16::try_from(list.len()).unwrap_or(u16::MAX);
    hex(&[MAGIC, &length.to_be_bytes(), list.as_bytes()].concat())
}

/// Decodes the addresses of a server. Colons and spaces between the digits are ignored.
///
/// # Errors
/// Returns an error if the text is not an address that a server printed.
pub(super) fn decode(text: &str) -> Result<Vec<(String, u16)>, FlagError> {
    let invalid = |reason: &str| {
        FlagError::new(
            FLAG,
            format!(
                "is not an address that `fabricbench-runner serve --listen-mode worker` printed: {reason}; copy the whole \
                 address, or use --server-host and --port"
            ),
        )
    };
    let digits: Vec<u8> = text.bytes().filter(|byte| !b": ".contains(byte)).collect();
    let value = |digit: u8| char::from(digit).to_digit(16);
    let bytes: Option<Vec<u8>> = digits
        .chunks(2)
        .map(|pair| match pair {
            [high, low] => u8::try_from(value(*high)? * 16 + value(*low)?).ok(),
            _ => None,
        })
        .collect();
    let bytes = bytes.ok_or_else(|| invalid("it is not hexadecimal, or a digit is missing"))?;
    let list = bytes
        .strip_prefix(MAGIC)
        .ok_or_else(|| invalid("it is of another program or version"))?;
    let (length, list) = list.split_first_chunk().ok_or_else(|| invalid("it is cut off"))?;
    if usize::from(u16::from_be_bytes(*length)) != list.len() {
        return Err(invalid("it is cut off, or something follows it"));
    }
    let list = std::str::from_utf8(list).map_err(|_| invalid("it is damaged"))?;
    let address = |entry: &str| {
        let (host, port) = entry.split_once(' ')?;
        let is_host = |host: &&str| !host.is_empty() && host.len() <= 253;
        Some((Some(host).filter(is_host)?.to_owned(), port.parse().ok()?))
    };
    let addresses: Option<Vec<_>> = list.split(',').take(MAX_ADDRESSES).map(address).collect();
    addresses.ok_or_else(|| invalid("it is damaged"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_can_be_copied_but_not_damaged() {
        let addresses = vec![("192.0.2.1".to_owned(), 17777), ("2001:db8::1".to_owned(), 17777)];
        let text = encode(&addresses);
        assert_eq!(decode(&text), Ok(addresses.clone()));
        let pairs: Vec<_> = text
            .as_bytes()
            .chunks(2)
            .map(|pair| std::str::from_utf8(pair).unwrap())
            .collect();
        assert_eq!(decode(&pairs.join(":").to_uppercase()), Ok(addresses));
        for wrong in [
            "",
            "0",
            "zz",
            &text[1..],
            &text[2..],
            &text[..30],
            &text[..text.len() - 2],
            "80a1b2c3",
        ] {
            let message = decode(wrong).unwrap_err().to_string();
            assert!(
                message.starts_with("--worker-address is not an address"),
                "{wrong}: {message}"
            );
        }
    }
}
