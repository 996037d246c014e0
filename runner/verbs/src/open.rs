//! Opens the rails and collects facts about them.

use crate::discovery::{self, RailDevice};
use crate::ffi::{self, Rail, RailConfig};
use crate::rules::address::RailAddress;
use crate::rules::depths::Depths;
use crate::shared::Shared;
use crds::record::{FabricFacts, InjectLimits, LibraryFacts, OffloadFacts, RailFacts};
use crds::v1alpha1::{Answer, VerbsSignaling};
use runner::transport::failures::{cannot_open_library, on_rail, refused};
use runner::transport::rail_set::OpenedRails;
use runner::transport::{EndpointAddresses, OpenConfig, TransportError};
use std::collections::BTreeMap;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

/// Mask for a packet sequence number, which has 24 bits.
const PACKET_NUMBERS: u64 = (1 << 24) - 1;

pub(super) fn open(config: &OpenConfig) -> Result<OpenedRails<Rail>, TransportError> {
    let (spec, devices) = discovery::discover(config)?;
    let mut settings = BTreeMap::from([("signaling".to_owned(), spec.signaling.name().to_owned())]);
    let mut rails = Vec::with_capacity(devices.len());
    let mut addresses = Vec::with_capacity(devices.len());
    let mut gid_indexes = Vec::with_capacity(devices.len());
    let mut facts = Vec::with_capacity(devices.len());
    let mut max_message_bytes = u64::MAX;
    let mut fabric = "";
    for (number, device) in devices.into_iter().enumerate() {
        let (source, port) = (&device.source, &device.port);
        settings.insert(format!("gid{number}"), source.ip().to_string());
        settings.insert(format!("portMtu{number}"), (128_u32 << port.mtu).to_string());
        facts.push(RailFacts {
            address: format!("{} port 1 GID {}", source.ip(), source.index),
            interface: Some(device.name.clone()),
            domain: device.name.clone(),
            ..RailFacts::default()
        });
        gid_indexes.push(source.index);
        fabric = if port.is_infiniband {
            "InfiniBand"
        } else {
            source.protocol.name()
        };
        max_message_bytes = max_message_bytes.min(port.max_message_bytes);
        let (rail, address) = open_rail(config, spec.signaling, number, device)?;
        addresses.push(address);
        rails.push(rail);
    }
    let inline_bytes = rails.iter().map(|rail| u64::from(rail.inline_bytes()));
    let inline_bytes = inline_bytes.min().unwrap_or(0);
    let facts = FabricFacts {
        library: Some(library()?),
        provider: "verbs".to_owned(),
        fabric: fabric.to_owned(),
        rails: facts,
        inject_limits: InjectLimits {
            send_bytes: inline_bytes,
            write_bytes: inline_bytes,
        },
        transmit_depth: config.depth as u64,
        max_message_bytes,
        progress: "auto".to_owned(),
        offload: OffloadFacts {
            emulated_reads: Some(Answer::False),
            emulated_writes: Some(Answer::False),
            staged: config.device_memory.then_some(Answer::False),
            inline_bytes: Some(inline_bytes),
        },
        settings,
        ..FabricFacts::default()
    };
    let packed = addresses.iter().map(RailAddress::pack).collect();
    Ok(OpenedRails {
        rails,
        shared: Shared {
            rank: config.rank,
            addresses,
            gid_indexes,
        },
        addresses: EndpointAddresses { rails: packed },
        facts,
    })
}

/// Opens rail `number` on `device`. Also returns the address of its queue pairs.
///
/// # Errors
/// Returns an error if the device does not support the depths that `config` requires, or rejects a call.
fn open_rail(
    config: &OpenConfig,
    signaling: VerbsSignaling,
    number: usize,
    device: RailDevice,
) -> Result<(Rail, RailAddress), TransportError> {
    let RailDevice {
        name,
        device,
        port,
        source,
    } = device;
    let failed = |error: ffi::CallError| on_rail(number, error);
    // If there are several peers, the queue pairs are indexed by rank.
    let pairs = if config.peers > 1 { config.peers + 1 } else { 1 };
    let attributes = device.attributes().map_err(failed)?;
    let depths = Depths::new(config.depth, pairs, attributes.limits)
        .map_err(|message| refused("open", format!("rail {number}: {name}: {message}")))?;
    let inline_bytes = config.inject_bytes.unwrap_or(0);
    let rail_config = RailConfig {
        depths,
        pairs,
        inline_bytes: u32::try_from(inline_bytes).unwrap_or(u32::MAX),
        signaling,
        uses_wait: config.uses_wait,
    };
    let rail = Rail::open(device, attributes, rail_config).map_err(failed)?;
    let address = RailAddress {
        rank: config.rank,
        gid: source.gid,
        lid: if port.is_infiniband { port.lid } else { 0 },
        mtu: port.mtu,
        reads: attributes.reads_as_target,
        first_packet: first_packet(number),
        queue_pairs: rail.numbers(),
    };
    Ok((rail, address))
}

/// Random first packet sequence number for a rail, so that late packets of an earlier connection are not accepted.
fn first_packet(rail: usize) -> u32 {
    // The hasher is seeded with random keys.
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_usize(rail);
    (hasher.finish() & PACKET_NUMBERS) as u32
}

fn library() -> Result<LibraryFacts, TransportError> {
    let file = ffi::identity().map_err(|error| cannot_open_library(&error))?;
    // The library does not report its version, but its file name contains it: libibverbs.so.1.14.44.0.
    let name = file.path.file_name().unwrap_or_default().to_string_lossy();
    let version = name
        .strip_prefix("libibverbs.so.")
        .unwrap_or("unknown")
        .to_owned();
    Ok(LibraryFacts {
        name: "libibverbs".to_owned(),
        version,
        api_version: "1".to_owned(),
        path: file.path.display().to_string(),
        build_id: Some(file.build),
    })
}
