//! Opens the rails and collects facts about them.

use super::discovery::{self, DiscoveredDevices, RailDevice};
use super::ffi::{Config, Rail, RailConfig};
use super::rules::configuration::{EffectiveConfiguration, RailConfiguration};
use super::rules::emulation::{Conditions, Protocols};
use super::rules::environment::NET_DEVICES;
use super::rules::settings::{Setting, unused_settings};
use super::rules::{devices, lanes};
use super::shared::Shared;
use crate::transport::failures::{no_device, on_rail, refused};
use crate::transport::rail_set::OpenedRails;
use crate::transport::{EndpointAddresses, OpenConfig, TransportError};
use crds::record::{FabricFacts, FailureReason, LibraryFacts, OffloadFacts, RailFacts};
use crds::v1alpha1::{Answer, UcxAllocation, UcxErrorHandling, UcxPreset};
use std::collections::BTreeMap;
use ucx_sys::bindings::{UCP_API_MAJOR, UCP_API_MINOR};
use ucx_sys::{Library, Version};

/// First release that counts protocols.
const PROTOCOL_COUNTS: Version = Version::new(1, 21, 0);

/// Maximum message size in the facts. UCX has no limit, but records store signed integers.
const UNLIMITED: u64 = i64::MAX as u64;

pub(super) fn open(requested: &OpenConfig) -> Result<OpenedRails<Rail>, TransportError> {
    let DiscoveredDevices { library, spec, rails } = discovery::discover(requested)?;
    let rail_config = RailConfig {
        depth: requested.depth,
        peers: requested.peers,
        uses_wait: requested.uses_wait,
        reports_peer_loss: spec.error_handling() == UcxErrorHandling::Peer,
    };
    let files = discovery::configuration_files(&library);
    let configuration = EffectiveConfiguration {
        rails: rails
            .iter()
            .map(|rail| RailConfiguration {
                printed: rail.config.print(),
                settings: rail.settings.clone(),
            })
            .collect(),
        variables: discovery::variables(),
        files: files.iter().map(|file| discovery::read_bounded(file)).collect(),
    };
    let allowed = std::env::var(NET_DEVICES).ok();
    // Only the devices differ between rails.
    let first = configuration.rails.first();
    let protocols = Protocols::from_configuration(first.map_or("", |rail| rail.printed.as_str()));
    let settings = first.map(|rail| &rail.settings).into_iter().flatten();
    let mut settings: BTreeMap<_, _> = settings
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
            count_protocols(&mut config, library.identity().version);
        }
        let (opened_rail, unused) =
            open_and_collect_unused_settings(&spec, || Rail::open(&library, &config, rail_config));
        let (rail, resources) = opened_rail.map_err(|error| open_error(number, error, &spec))?;
        if let Some(setting) = spec
            .settings
            .iter()
            .find(|setting| unused.contains(&setting.name))
        {
            return Err(refused(
                "ucp_worker_create",
                format!(
                    "rail {number}: UCX {} does not use spec.transport.ucx.settings {}: it has no setting with this \
                     name, or the setting belongs to a transport that is not used; `ucx_info -cf` lists the settings",
                    library.identity().version,
                    setting.name
                ),
            ));
        }
        settings.retain(|name, _| !unused.contains(name));
        lanes::check_resources(&spec, device.as_deref(), allowed.as_deref(), &resources)
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
        configuration_sha256: Some(configuration.sha256()),
        configuration_files: files.iter().map(|file| file.display().to_string()).collect(),
        ..FabricFacts::default()
    };
    Ok(OpenedRails {
        rails: opened,
        shared: Shared {
            version: library.identity().version,
            devices: names,
            emulation_conditions: Conditions {
                protocols,
                reports_peer_loss: rail_config.reports_peer_loss,
                library_memory: spec.allocation == UcxAllocation::Library,
            },
            peers: Vec::with_capacity(requested.peers),
            spec,
        },
        addresses,
        facts,
    })
}

/// Runs `open`. Returns its result, and the names of the settings that UCX reports as unused.
fn open_and_collect_unused_settings<T>(
    spec: &crds::v1alpha1::Ucx,
    open: impl FnOnce() -> T,
) -> (T, Vec<String>) {
    if spec.settings.is_empty() && spec.preset == UcxPreset::Plain {
        return (open(), Vec::new());
    }
    let (result, printed) = super::ffi::capture_stdout(open);
    let printed = printed.unwrap_or_else(|error| {
        tracing::warn!(%error, "UCX's warnings cannot be read");
        String::new()
    });
    let unused = unused_settings(&printed).into_iter().map(str::to_owned).collect();
    super::close::print_captured(printed.lines());
    (result, unused)
}

/// Makes the library count the protocols that it uses, and print them when the worker is destroyed. Versions before
/// 1.21 do not support this value of the setting, and would print an error. The setting is applied after the
/// configuration has been printed, because it is not part of the configuration that is compared.
fn count_protocols(config: &mut Config, version: Version) {
    if version < PROTOCOL_COUNTS {
        return;
    }
    let setting = Setting {
        name: "PROTO_INFO".to_owned(),
        value: "used".to_owned(),
    };
    if let Err(error) = config.modify(&setting) {
        tracing::debug!(%error, "the library cannot count protocols");
    }
}

fn open_error(rail: usize, error: super::ffi::CallError, spec: &crds::v1alpha1::Ucx) -> TransportError {
    let mut failure = on_rail(rail, error);
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
