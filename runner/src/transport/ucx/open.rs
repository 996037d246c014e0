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
use crds::v1alpha1::{Answer, Ucx, UcxAllocation, UcxErrorHandling, UcxPreset};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use ucx_sys::bindings::{UCP_API_MAJOR, UCP_API_MINOR};
use ucx_sys::{Library, Version};

/// First release that counts protocols.
const PROTOCOL_COUNTS: Version = Version::new(1, 21, 0);

/// Maximum message size in the facts. UCX has no limit, but records store signed integers.
const UNLIMITED: u64 = i64::MAX as u64;

pub(super) fn open(requested: &OpenConfig) -> Result<OpenedRails<Rail>, TransportError> {
    let DiscoveredDevices { library, spec, rails } = discovery::discover(requested)?;
    let files = discovery::configuration_files(&library);
    let configuration = effective_configuration(&rails, &files);
    let opening = Opening {
        library: &library,
        spec: &spec,
        rail: RailConfig {
            depth: requested.depth,
            peers: requested.peers,
            uses_wait: requested.uses_wait,
            reports_peer_loss: spec.error_handling() == UcxErrorHandling::Peer,
        },
        counts_protocols: requested.counts_protocols,
        allowed: std::env::var(NET_DEVICES).ok(),
    };
    // Only the devices differ between rails.
    let first = configuration.rails.first();
    let emulation_conditions = Conditions {
        protocols: Protocols::from_configuration(first.map_or("", |rail| rail.printed.as_str())),
        reports_peer_loss: opening.rail.reports_peer_loss,
        library_memory: spec.allocation == UcxAllocation::Library,
    };
    let settings = first.map(|rail| &rail.settings).into_iter().flatten();
    let mut settings: BTreeMap<_, _> = settings
        .map(|setting| (setting.name.clone(), setting.value.clone()))
        .collect();
    let mut opened = Vec::with_capacity(rails.len());
    let mut devices = Vec::with_capacity(rails.len());
    for (number, RailDevice { device, config, .. }) in rails.into_iter().enumerate() {
        let (rail, unused) = opening.open_rail(number, device.as_deref(), config)?;
        settings.retain(|name, _| !unused.contains(name));
        opened.push(rail);
        devices.push(device);
    }
    let addresses = EndpointAddresses {
        rails: opened.iter().map(|rail| rail.name().to_vec()).collect(),
    };
    let facts = FabricFacts {
        library: Some(library_facts(&library)),
        provider: provider(&spec),
        fabric: "ucx".to_owned(),
        rails: devices
            .iter()
            .map(|device| rail_facts(device.as_deref()))
            .collect(),
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
            devices,
            emulation_conditions,
            peers: Vec::with_capacity(requested.peers),
            spec,
        },
        addresses,
        facts,
    })
}

fn effective_configuration(rails: &[RailDevice], files: &[PathBuf]) -> EffectiveConfiguration {
    let rails = rails.iter().map(|rail| RailConfiguration {
        printed: rail.config.print(),
        settings: rail.settings.clone(),
    });
    EffectiveConfiguration {
        rails: rails.collect(),
        variables: discovery::variables(),
        files: files.iter().map(|file| discovery::read_bounded(file)).collect(),
    }
}

/// What all rails have in common.
struct Opening<'a> {
    library: &'a Arc<Library>,
    spec: &'a Ucx,
    rail: RailConfig,
    counts_protocols: bool,
    /// Value of the variable that limits the devices.
    allowed: Option<String>,
}

impl Opening<'_> {
    /// Opens rail `number`. Also returns the names of the settings that UCX does not use.
    ///
    /// # Errors
    /// Returns an error if the rail cannot be opened, or if UCX does not use a setting in the spec.
    fn open_rail(
        &self,
        number: usize,
        device: Option<&str>,
        mut config: Config,
    ) -> Result<(Rail, Vec<String>), TransportError> {
        let version = self.library.identity().version;
        if self.counts_protocols {
            count_protocols(&mut config, version);
        }
        let (opened, unused) =
            open_and_collect_unused_settings(self.spec, || Rail::open(self.library, &config, self.rail));
        let (rail, resources) = opened.map_err(|error| open_error(number, error, self.spec))?;
        let mut settings = self.spec.settings.iter();
        if let Some(setting) = settings.find(|setting| unused.contains(&setting.name)) {
            return Err(refused(
                "ucp_worker_create",
                format!(
                    "rail {number}: UCX {version} does not use spec.transport.ucx.settings {}: it has no setting with this \
                     name, or the setting belongs to a transport that is not used; `ucx_info -cf` lists the settings",
                    setting.name
                ),
            ));
        }
        lanes::check_resources(self.spec, device, self.allowed.as_deref(), &resources)
            .map_err(|message| no_device("ucp_init", format!("rail {number}: {message}")))?;
        Ok((rail, unused))
    }
}

/// Runs `open`. Returns its result, and the names of the settings that UCX reports as unused.
fn open_and_collect_unused_settings<T>(spec: &Ucx, open: impl FnOnce() -> T) -> (T, Vec<String>) {
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

fn open_error(rail: usize, error: super::ffi::CallError, spec: &Ucx) -> TransportError {
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
fn provider(spec: &Ucx) -> String {
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
