//! Opens the rails and describes them.

use super::Ucx;
use super::discovery::{self, DiscoveredDevices, RailDevice};
use super::error::{no_device, rail_refused, refused};
use super::ffi::{Config, Rail, RailConfig};
use super::rules::configuration::comparable;
use super::rules::emulation::{Conditions, Protocols};
use super::rules::settings::Setting;
use super::rules::{devices, lanes};
use crate::transport::{EndpointAddresses, OpenConfig, TransportError};
use crds::record::{FabricFacts, FailureReason, LibraryFacts, OffloadFacts, RailFacts, hex};
use crds::v1alpha1::{Answer, UcxAllocation, UcxErrorHandling};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use ucx_sys::Library;
use ucx_sys::bindings::{UCP_API_MAJOR, UCP_API_MINOR};

/// Maximum message size in the facts. UCX has no limit; the records hold signed numbers.
const UNLIMITED: u64 = i64::MAX as u64;

pub(super) fn open(requested: &OpenConfig) -> Result<Ucx, TransportError> {
    if requested.depth == 0 || u32::try_from(requested.depth).is_err() {
        return Err(refused(
            "open",
            format!(
                "{} posts in flight requested; must be 1 to {}",
                requested.depth,
                u32::MAX
            ),
        ));
    }
    let DiscoveredDevices { library, spec, rails } = discovery::discover(requested)?;
    let rail_config = RailConfig {
        depth: requested.depth,
        peers: requested.peers,
        uses_wait: requested.uses_wait,
        reports_peer_loss: spec.error_handling() == UcxErrorHandling::Peer,
    };
    let configuration = rails.first().map(|rail| rail.config.print()).unwrap_or_default();
    let settings = rails.first().map(|rail| &rail.settings).into_iter().flatten();
    let settings: BTreeMap<_, _> = settings
        .map(|setting| (setting.name.clone(), setting.value.clone()))
        .collect();
    let mut opened = Vec::with_capacity(rails.len());
    let mut facts = Vec::with_capacity(rails.len());
    let mut names = Vec::with_capacity(rails.len());
    for (
        number,
        RailDevice {
            device, mut config, ..
        },
    ) in rails.into_iter().enumerate()
    {
        if requested.counts_protocols {
            count_protocols(&mut config);
        }
        let (rail, resources) =
            Rail::open(&library, &config, rail_config).map_err(|error| open_error(number, &error, &spec))?;
        lanes::check_resources(&spec, device.as_deref(), &resources)
            .map_err(|message| no_device("ucp_init", format!("rail {number}: {message}")))?;
        facts.push(rail_facts(device.as_deref()));
        names.push(device);
        opened.push(rail);
    }
    let addresses = EndpointAddresses {
        rails: opened.iter().map(|rail| rail.name().to_vec()).collect(),
    };
    let facts = FabricFacts {
        library: Some(library_facts(&library)),
        provider: provider(&spec),
        fabric: "ucx".to_owned(),
        rails: facts,
        transmit_depth: requested.depth as u64,
        max_message_bytes: UNLIMITED,
        progress: "manual".to_owned(),
        offload: OffloadFacts {
            staged: requested.device_memory.then_some(Answer::Unknown),
            ..OffloadFacts::default()
        },
        error_handling: Some(spec.error_handling().name().to_owned()),
        settings,
        configuration_sha256: Some(hex(&Sha256::digest(comparable(&configuration)))),
        configuration_files: discovery::configuration_files(&library),
        ..FabricFacts::default()
    };
    Ok(Ucx {
        rails: opened,
        version: library.identity().version,
        devices: names,
        emulation_conditions: Conditions {
            protocols: Protocols::from_configuration(&configuration),
            reports_peer_loss: rail_config.reports_peer_loss,
            library_memory: spec.allocation == UcxAllocation::Library,
        },
        spec,
        addresses,
        facts,
        counts_protocols: requested.counts_protocols,
        next_rail: 0,
        failure: None,
    })
}

/// Makes the library count the protocols that it uses, and print them when the worker is destroyed (UCX 1.21 and newer).
/// Older versions print nothing. The setting is applied after the configuration was printed, because it is not part of
/// what is compared.
fn count_protocols(config: &mut Config) {
    let setting = Setting {
        name: "PROTO_INFO".to_owned(),
        value: "used".to_owned(),
    };
    if let Err(error) = config.modify(&setting) {
        tracing::debug!(%error, "the library cannot count protocols");
    }
}

fn open_error(rail: usize, error: &super::ffi::CallError, spec: &crds::v1alpha1::Ucx) -> TransportError {
    let mut failure = rail_refused(rail, error);
    if failure.reason == FailureReason::NoDevice {
        failure.message += &format!(
            ": UCX has no device for the transports {}; `ucx_info -d` lists all transports and devices",
            provider(spec)
        );
    }
    failure
}

/// Names of the transports in the spec.
fn provider(spec: &crds::v1alpha1::Ucx) -> String {
    let names: Vec<_> = spec.transports.iter().map(|transport| transport.name()).collect();
    names.join(",")
}

fn rail_facts(device: Option<&str>) -> RailFacts {
    let name = device.map(|device| devices::kernel_name(device).to_owned());
    RailFacts {
        domain: device.unwrap_or("chosen by UCX").to_owned(),
        interface: name,
        ..RailFacts::default()
    }
}

fn library_facts(library: &Library) -> LibraryFacts {
    let identity = library.identity();
    LibraryFacts {
        name: "ucx".to_owned(),
        version: identity.version.to_string(),
        api_version: format!("{UCP_API_MAJOR}.{UCP_API_MINOR}"),
        path: identity.path.display().to_string(),
        build_id: Some(identity.build.clone()),
    }
}
