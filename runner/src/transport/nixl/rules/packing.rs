//! Packs the metadata of agents and regions for peers. Performs no I/O.
//!
//! An agent reads its peers' metadata without checking it. The packed form therefore contains the backend, the length
//! and a checksum, so that the library receives only bytes that a peer's agent produced.

use crds::v1alpha1::NixlBackend;

/// First bytes of the packed form.
const MAGIC: [u8; 4] = *b"NXL1";
/// Length of the bytes before the content: magic, backend, length and checksum.
const HEADER_BYTES: usize = 4 + 1 + 4 + 4;
/// Length of a region's memory type and device number.
const LOCATION_BYTES: usize = 4 + 8;

/// Memory type and device of a region, as both agents identify them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::transport::nixl) struct MemoryLocation {
    /// Memory type, as numbered in the C interface.
    pub memory_type: i32,
    /// GPU number; 0 for host memory.
    pub device: u64,
}

fn backend_number(backend: NixlBackend) -> u8 {
    match backend {
        NixlBackend::Ucx => 1,
        NixlBackend::Libfabric => 2,
    }
}

/// Packs `content`, which an agent with this backend produced.
pub(in crate::transport::nixl) fn pack(backend: NixlBackend, content: &[u8]) -> Vec<u8> {
    let mut packed = Vec::with_capacity(HEADER_BYTES + content.len());
    packed.extend(MAGIC);
    packed.push(backend_number(backend));
    packed.extend(u32::try_from(content.len()).unwrap_or(u32::MAX).to_le_bytes());
    packed.extend(crc32c::crc32c(content).to_le_bytes());
    packed.extend(content);
    packed
}

/// Unpacks the content, which must come from an agent with the same backend and be at most `max_bytes` long.
///
/// # Errors
///
/// Returns a message if the bytes are truncated or corrupt, or the peer uses a different backend. `what` names the
/// content.
pub(in crate::transport::nixl) fn unpack<'a>(
    backend: NixlBackend,
    packed: &'a [u8],
    max_bytes: usize,
    what: &str,
) -> Result<&'a [u8], String> {
    let corrupt = |detail: &str| {
        let bytes = packed.len();
        format!(
            "the peer's {what} is not valid: {detail} ({bytes} bytes); use the same runner version for all workers"
        )
    };
    if packed.len() > max_bytes {
        return Err(corrupt(&format!("at most {max_bytes} bytes are allowed")));
    }
    let (Some(header), Some(content)) = (packed.get(..HEADER_BYTES), packed.get(HEADER_BYTES..)) else {
        return Err(corrupt("it is shorter than its header"));
    };
    if header[..4] != MAGIC {
        return Err(corrupt("it was not packed by the NIXL transport"));
    }
    if header[4] != backend_number(backend) {
        return Err(format!(
            "the peer uses a different backend than {}: use the same spec for all workers",
            backend.name()
        ));
    }
    let number = |at: usize| {
        let bytes = header.get(at..).and_then(|rest| rest.first_chunk::<4>());
        u32::from_le_bytes(bytes.copied().unwrap_or_default())
    };
    if usize::try_from(number(5)) != Ok(content.len()) {
        return Err(corrupt("its length is wrong"));
    }
    if number(9) != crc32c::crc32c(content) {
        return Err(corrupt("its checksum is wrong"));
    }
    Ok(content)
}

/// Packs a region's metadata.
pub(in crate::transport::nixl) fn pack_region(
    backend: NixlBackend,
    location: MemoryLocation,
    metadata: &[u8],
) -> Vec<u8> {
    let mut content = Vec::with_capacity(LOCATION_BYTES + metadata.len());
    content.extend(location.memory_type.to_le_bytes());
    content.extend(location.device.to_le_bytes());
    content.extend(metadata);
    pack(backend, &content)
}

/// Unpacks a region's metadata.
///
/// # Errors
///
/// Returns the same errors as [`unpack`].
pub(in crate::transport::nixl) fn unpack_region(
    backend: NixlBackend,
    packed: &[u8],
    max_bytes: usize,
) -> Result<(MemoryLocation, &[u8]), String> {
    let content = unpack(backend, packed, max_bytes, "memory key")?;
    let parts = content
        .split_first_chunk::<4>()
        .and_then(|(memory_type, rest)| Some((memory_type, rest.split_first_chunk::<8>()?)));
    let Some((memory_type, (device, metadata))) = parts else {
        return Err("the peer's memory key is not valid: it has no metadata".to_owned());
    };
    let location = MemoryLocation {
        memory_type: i32::from_le_bytes(*memory_type),
        device: u64::from_le_bytes(*device),
    };
    Ok((location, metadata))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BACKEND: NixlBackend = NixlBackend::Ucx;

    #[test]
    fn unpacks_only_intact_regions_from_the_same_backend() {
        let location = MemoryLocation {
            memory_type: 1,
            device: 3,
        };
        let packed = pack_region(BACKEND, location, b"metadata");
        assert_eq!(
            unpack_region(BACKEND, &packed, 100),
            Ok((location, b"metadata".as_slice()))
        );
        for length in 0..packed.len() {
            assert!(
                unpack_region(BACKEND, &packed[..length], 100).is_err(),
                "{length}"
            );
        }
        for index in 0..packed.len() {
            let mut corrupt = packed.clone();
            corrupt[index] ^= 1;
            assert!(unpack_region(BACKEND, &corrupt, 100).is_err(), "{index}");
        }
        let other = unpack_region(NixlBackend::Libfabric, &packed, 100).unwrap_err();
        assert!(other.contains("a different backend than LIBFABRIC"), "{other}");
        let long = unpack_region(BACKEND, &packed, 8).unwrap_err();
        assert!(long.contains("at most 8 bytes"), "{long}");
    }
}
