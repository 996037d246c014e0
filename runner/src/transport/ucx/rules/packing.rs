//! Packs worker addresses and memory keys for peers. Performs no I/O.
//!
//! UCX does not validate the bytes that it unpacks: a truncated address can crash the process. The packed form
//! therefore contains its kind, the UCX release, the length and a checksum. [`WorkerAddress`] and [`RegionKey`] exist
//! only for bytes for which these four values have been checked, and only these types are passed to UCX. The checks
//! detect truncation, corruption and bytes of the wrong kind, but not forgery by a peer. Forgery is not expected: the
//! rendezvous admits only the workers of the same run, and each worker's runner packs bytes that its own UCX produced.

use crate::transport::{MAX_ADDRESS_BYTES, MAX_KEY_BYTES};
use ucx_sys::Version;

/// Length of the bytes before the content: kind, release, length and checksum.
const HEADER_BYTES: usize = 4 + 12 + 4 + 4;
/// Length of a region's address and length, which precede the key.
const REGION_BYTES: usize = 8 + 8;

/// Kind of packed content.
struct Kind {
    /// First bytes of the packed form.
    magic: [u8; 4],
    name: &'static str,
    max_bytes: usize,
}

const ADDRESS: Kind = Kind {
    magic: *b"UCXA",
    name: "worker address",
    max_bytes: MAX_ADDRESS_BYTES,
};
const KEY: Kind = Kind {
    magic: *b"UCXK",
    name: "memory key",
    max_bytes: MAX_KEY_BYTES,
};

/// Worker address that was packed by a peer's UCX of the same release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::transport::ucx) struct WorkerAddress<'a>(&'a [u8]);

impl<'a> WorkerAddress<'a> {
    /// Bytes for `ucp_ep_create`.
    pub(in crate::transport::ucx) fn bytes(self) -> &'a [u8] {
        self.0
    }
}

/// Region key that was packed by a peer's UCX of the same release, and the memory range that the key belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::transport::ucx) struct RegionKey<'a> {
    address: u64,
    length: u64,
    key: &'a [u8],
}

impl<'a> RegionKey<'a> {
    /// Address of the region in the peer's memory.
    pub(in crate::transport::ucx) fn address(self) -> u64 {
        self.address
    }

    /// Region length in bytes.
    pub(in crate::transport::ucx) fn length(self) -> u64 {
        self.length
    }

    /// Bytes for `ucp_ep_rkey_unpack`.
    pub(in crate::transport::ucx) fn bytes(self) -> &'a [u8] {
        self.key
    }
}

/// Packs a worker address that UCX `version` produced.
pub(in crate::transport::ucx) fn pack_address(version: Version, address: &[u8]) -> Vec<u8> {
    pack(&ADDRESS, version, address)
}

/// Packs the key that UCX `version` produced for the `length` bytes at `address`.
pub(in crate::transport::ucx) fn pack_key(
    version: Version,
    address: u64,
    length: u64,
    key: &[u8],
) -> Vec<u8> {
    let mut content = Vec::with_capacity(REGION_BYTES + key.len());
    content.extend(address.to_le_bytes());
    content.extend(length.to_le_bytes());
    content.extend(key);
    pack(&KEY, version, &content)
}

fn pack(kind: &Kind, version: Version, content: &[u8]) -> Vec<u8> {
    let mut packed = Vec::with_capacity(HEADER_BYTES + content.len());
    packed.extend(kind.magic);
    for number in version.numbers() {
        packed.extend(number.to_le_bytes());
    }
    packed.extend(u32::try_from(content.len()).unwrap_or(u32::MAX).to_le_bytes());
    packed.extend(crc32c::crc32c(content).to_le_bytes());
    packed.extend(content);
    packed
}

/// Unpacks a worker address, which must have been packed with the same UCX release.
///
/// # Errors
///
/// Returns a message if the bytes are truncated or corrupt, or the peer uses a different UCX release.
pub(in crate::transport::ucx) fn unpack_address(
    version: Version,
    packed: &[u8],
) -> Result<WorkerAddress<'_>, String> {
    unpack(&ADDRESS, version, packed).map(WorkerAddress)
}

/// Unpacks a region key, which must have been packed with the same UCX release.
///
/// # Errors
///
/// Returns the same errors as [`unpack_address`].
pub(in crate::transport::ucx) fn unpack_key(
    version: Version,
    packed: &[u8],
) -> Result<RegionKey<'_>, String> {
    let content = unpack(&KEY, version, packed)?;
    let region = content
        .split_first_chunk()
        .and_then(|(address, rest)| Some((address, rest.split_first_chunk()?)));
    let Some((address, (length, key))) = region else {
        return Err(corrupt(&KEY, "it has no region"));
    };
    Ok(RegionKey {
        address: u64::from_le_bytes(*address),
        length: u64::from_le_bytes(*length),
        key,
    })
}

fn corrupt(kind: &Kind, detail: &str) -> String {
    format!(
        "the peer's {} is not valid: {detail}; use the same runner version for all workers",
        kind.name
    )
}

fn unpack<'a>(kind: &Kind, version: Version, packed: &'a [u8]) -> Result<&'a [u8], String> {
    let corrupt = |detail: String| corrupt(kind, &detail);
    if packed.len() > kind.max_bytes {
        return Err(corrupt(format!(
            "it has {} bytes, but at most {} are allowed",
            packed.len(),
            kind.max_bytes
        )));
    }
    let (Some(header), Some(content)) = (packed.get(..HEADER_BYTES), packed.get(HEADER_BYTES..)) else {
        return Err(corrupt(format!(
            "it has {} bytes, which is less than a header",
            packed.len()
        )));
    };
    if header[..4] != kind.magic {
        return Err(corrupt(format!(
            "it was not packed by the UCX transport as a {}",
            kind.name
        )));
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
        unpack_address(VERSION, packed).unwrap_err()
    }

    #[test]
    fn unpacks_what_was_packed() {
        let address = pack_address(VERSION, b"address");
        assert_eq!(unpack_address(VERSION, &address).unwrap().bytes(), b"address");
        let empty = pack_address(VERSION, b"");
        assert_eq!(unpack_address(VERSION, &empty).unwrap().bytes(), b"");
        let packed = pack_key(VERSION, 4096, 64, b"key");
        let key = unpack_key(VERSION, &packed).unwrap();
        assert_eq!(
            (key.address(), key.length(), key.bytes()),
            (4096, 64, &b"key"[..])
        );
    }

    #[test]
    fn rejects_every_truncation_and_every_flipped_byte() {
        let packed = pack_address(VERSION, b"address");
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
    fn rejects_an_address_used_as_a_key_and_a_key_used_as_an_address() {
        let message = unpack_key(VERSION, &pack_address(VERSION, &[1; 64])).unwrap_err();
        assert!(
            message.contains("not packed by the UCX transport as a memory key"),
            "{message}"
        );
        let message = rejection(&pack_key(VERSION, 0, 64, b"key"));
        assert!(message.contains("as a worker address"), "{message}");
        let message = unpack_key(VERSION, &pack(&KEY, VERSION, &[0; REGION_BYTES - 1])).unwrap_err();
        assert!(message.contains("it has no region"), "{message}");
    }

    #[test]
    fn errors_name_the_cause() {
        assert!(rejection(b"short").contains("worker address is not valid: it has 5 bytes"));
        assert!(rejection(&[0; MAX_ADDRESS_BYTES + 1]).contains("at most 2048"));
        let newer = pack_address(Version::new(1, 22, 0), b"address");
        assert_eq!(
            rejection(&newer),
            "the peer uses UCX 1.22.0, but this side uses UCX 1.13.1: use the same UCX on both sides"
        );
    }
}
