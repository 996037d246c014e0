//! Opens the agents and collects facts about them.

use super::discovery::{self, DiscoveredDevices, RailDevice};
use super::error::cannot_open;
use super::ffi::{AgentConfig, Rail};
use super::rules::{packing, parameters};
use crate::transport::failures::on_rail;
use crate::transport::rail_set::OpenedRails;
use crate::transport::{EndpointAddresses, OpenConfig, TransportError};
use crds::record::{FabricFacts, LibraryFacts, OffloadFacts, RailFacts};
use crds::v1alpha1::{Answer, NixlParameter};
use nixl_sys::Library;
use std::collections::hash_map::RandomState;
use std::ffi::CString;
use std::hash::{BuildHasher, Hasher};

/// Maximum message size in the facts. NIXL has no limit, but records store signed integers.
const UNLIMITED: u64 = i64::MAX as u64;

pub(super) fn open(requested: &OpenConfig) -> Result<OpenedRails<Rail>, TransportError> {
    let DiscoveredDevices { library, spec, rails } = discovery::discover(requested)?;
    let mut opened = Vec::with_capacity(rails.len());
    let mut facts = Vec::with_capacity(rails.len());
    let mut addresses = Vec::with_capacity(rails.len());
    for (number, RailDevice { device, parameters }) in rails.into_iter().enumerate() {
        let config = AgentConfig {
            name: agent_name(number),
            backend: spec.backend,
            parameters,
            progress_thread: spec.progress_thread,
            measures_steps: requested.counts_protocols,
            requests: spec.requests,
            descriptors: spec.descriptors,
            depth: requested.depth,
        };
        let rail = Rail::open(&library, &config).map_err(|error| cannot_open(number, &spec, error))?;
        let metadata = rail.metadata().map_err(|error| on_rail(number, error))?;
        addresses.push(packing::pack(spec.backend, &metadata));
        let interface = parameters::interface(&spec, device.as_ref());
        facts.push(RailFacts {
            domain: interface
                .clone()
                .unwrap_or_else(|| format!("chosen by {}", spec.backend.name())),
            interface,
            ..RailFacts::default()
        });
        opened.push(rail);
    }
    let mut settings = opened
        .first()
        .map(|rail| rail.parameters().clone())
        .unwrap_or_default();
    settings.remove(NixlParameter::MARK);
    settings.insert("requests".to_owned(), spec.requests.name().to_owned());
    if let Some(descriptors) = &spec.descriptors {
        let merging = if descriptors.merge { ", merged" } else { "" };
        settings.insert(
            "descriptors".to_owned(),
            format!("at most {} bytes{merging}", descriptors.max_bytes.bytes()),
        );
    }
    let facts = FabricFacts {
        library: Some(library_facts(&library)),
        provider: spec.backend.name().to_owned(),
        fabric: "nixl".to_owned(),
        rails: facts,
        transmit_depth: requested.depth as u64,
        max_message_bytes: UNLIMITED,
        progress: if spec.progress_thread { "auto" } else { "manual" }.to_owned(),
        offload: OffloadFacts {
            staged: requested.device_memory.then_some(Answer::Unknown),
            emulated_reads: Some(Answer::Unknown),
            emulated_writes: Some(Answer::Unknown),
            ..OffloadFacts::default()
        },
        settings,
        ..FabricFacts::default()
    };
    Ok(OpenedRails {
        rails: opened,
        shared: spec,
        addresses: EndpointAddresses { rails: addresses },
        facts,
    })
}

/// Creates an agent name that is unique within the run. The name is short, because every notification contains it.
fn agent_name(rail: usize) -> CString {
    // The hasher is seeded with random keys.
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_usize(rail);
    hasher.write_u32(std::process::id());
    CString::new(format!("{:016x}", hasher.finish())).unwrap_or_default()
}

fn library_facts(library: &Library) -> LibraryFacts {
    let identity = library.identity();
    LibraryFacts {
        name: "nixl".to_owned(),
        version: identity.version.clone().unwrap_or_else(|| "unknown".to_owned()),
        api_version: "nixl_capi".to_owned(),
        path: identity.path.display().to_string(),
        build_id: Some(identity.build.clone()),
    }
}
