//! Packs worker addresses and memory keys for peers. Performs no I/O.
//!
//! UCX does not check what it unpacks: a truncated address can crash the process. The packed form therefore contains the
//! release of UCX, the length and a checksum, so that only bytes that the peer's UCX produced reach the library.

use ucx_sys::Version;

/// First bytes of the packed form.
const MAGIC: [u8; 4] = *b"UCX1";
/// Length of the bytes before the content: magic, release, length and checksum.
const HEADER_BYTES: usize = 4 + 12 + 4 + 4;

/// Packs `content`, which UCX `version` produced.
pub(in crate::transport::ucx) fn pack(version: Version, content: &[u8]) -> Vec<u8> {
    let mut packed = Vec::with_capacity(HEADER_BYTES + content.len());
    packed.extend(MAGIC);
    for number in version.numbers() {
        packed.extend(number.to_le_bytes());
    }
    packed.extend(u32::try_from(content.len()).unwrap_or(u32::MAX).to_le_bytes());
    packed.extend(crc32c::crc32c(content).to_le_bytes());
    packed.extend(content);
    packed
}

/// Unpacks the content, which must have been packed with the same release of UCX and be at most `max_bytes` long.
///
/// # Errors
///
/// Returns a message if the bytes are truncated or corrupt, or the peer uses another release of UCX. `what` names the
/// content.
pub(in crate::transport::ucx) fn unpack<'a>(
    version: Version,
    packed: &'a [u8],
    max_bytes: usize,
    what: &str,
) -> Result<&'a [u8], String> {
    let corrupt = |detail: String| {
        format!("the peer's {what} is not valid: {detail}; use the same runner version for all workers")
    };
    if packed.len() > max_bytes {
        return Err(corrupt(format!(
            "it has {} bytes, but at most {max_bytes} are allowed",
            packed.len()
        )));
    }
    let (Some(header), Some(content)) = (packed.get(..HEADER_BYTES), packed.get(HEADER_BYTES..)) else {
        return Err(corrupt(format!(
            "it has {} bytes, which is less than a header",
            packed.len()
        )));
    };
    if header[..4] != MAGIC {
        return Err(corrupt("it was not packed by the UCX transport".to_owned()));
    }
    let [major, minor, patch, length, checksum] =
        std::array::from_fn(|index| number(&header[4 + 4 * index..]));
    let peer = Version::new(major, minor, patch);
    if peer != version {
        return Err(format!(
            "the peer uses UCX {peer}, but this side uses UCX {version}: use the same UCX on both sides"
        ));
    }
    if length as usize != content.len() {
        return Err(corrupt(format!(
            "it has {} bytes of content instead of {length}",
            content.len()
        )));
    }
    if checksum != crc32c::crc32c(content) {
        return Err(corrupt("its checksum does not match".to_owned()));
    }
    Ok(content)
}

fn number(bytes: &[u8]) -> u32 {
    bytes
        .first_chunk()
        .map_or(0, |chunk: &[u8; 4]| u32::from_le_bytes(*chunk))
}

#[cfg(test)]
mod tests {
    use super::*;

    const VERSION: Version = Version::new(1, 13, 1);

    fn rejection(packed: &[u8]) -> String {
        unpack(VERSION, packed, 256, "worker address").unwrap_err()
    }

    #[test]
    fn unpacks_what_was_packed() {
        let packed = pack(VERSION, b"address");
        assert_eq!(unpack(VERSION, &packed, 256, "key"), Ok(&b"address"[..]));
        assert_eq!(unpack(VERSION, &pack(VERSION, b""), 256, "key"), Ok(&b""[..]));
    }

    #[test]
    fn rejects_every_truncation_and_every_flipped_byte() {
        let packed = pack(VERSION, b"address");
        for length in 0..packed.len() {
            rejection(&packed[..length]);
        }
        for index in 0..packed.len() {
            let mut corrupt = packed.clone();
            corrupt[index] ^= 0x10;
            rejection(&corrupt);
        }
    }

    #[test]
    fn names_the_cause() {
        assert!(rejection(b"short").contains("worker address is not valid: it has 5 bytes"));
        assert!(rejection(&[0; 300]).contains("at most 256"));
        let newer = pack(Version::new(1, 22, 0), b"address");
        assert_eq!(
            rejection(&newer),
            "the peer uses UCX 1.22.0, but this side uses UCX 1.13.1: use the same UCX on both sides"
        );
    }
}
