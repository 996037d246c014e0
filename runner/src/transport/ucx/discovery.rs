//! Opens the library, and determines the device and the configuration of each rail. Reads the environment, the list of
//! network interfaces, and UCX's configuration files.

use super::error::{cannot_open_library, no_device, rail_refused, refused};
use super::ffi::Config;
use super::rules::devices;
use super::rules::environment;
use super::rules::settings::{Setting, settings};
use crate::topology;
use crate::transport::{OpenConfig, TransportError};
use crds::v1alpha1::{TransportSpec, Ucx};
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use ucx_sys::{Library, Source};

/// File that UCX reads from several directories.
const CONFIGURATION_FILE: &str = "ucx.conf";

/// Device and configuration of a rail.
pub(super) struct RailDevice {
    /// Device as UCX names it; `None` if UCX chooses the devices.
    pub device: Option<String>,
    pub config: Config,
    /// Settings that were applied to the configuration.
    pub settings: Vec<Setting>,
}

/// The opened library, and the configuration of each rail.
pub(super) struct DiscoveredDevices {
    pub library: Arc<Library>,
    pub spec: Ucx,
    pub rails: Vec<RailDevice>,
}

/// Opens the library and configures each rail.
///
/// # Errors
///
/// `LibraryNotFound`, `NoDevice` or `OperationRejected`.
pub(super) fn discover(config: &OpenConfig) -> Result<DiscoveredDevices, TransportError> {
    let TransportSpec::Ucx(spec) = &config.spec else {
        return Err(refused(
            "open",
            format!(
                "the UCX transport received the configuration of another transport: {}",
                config.spec.library()
            ),
        ));
    };
    let rails = usize::try_from(spec.rails).unwrap_or(usize::MAX);
    if !config.rails.is_empty() && config.rails.len() != rails {
        return Err(refused(
            "open",
            format!(
                "{rails} rails requested, but {} rail sources given",
                config.rails.len()
            ),
        ));
    }
    if !config.rails.is_empty() && !spec.uses_network() {
        let message = "shared memory has neither an address nor a device: leave the rail sources empty";
        return Err(refused("open", message.to_owned()));
    }
    environment::check_variables(spec, |name| std::env::var(name).ok()).map_err(|m| refused("open", m))?;
    let source = config.library.clone().map_or(Source::Search, Source::Path);
    let library = Arc::new(Library::open(&source).map_err(|e| cannot_open_library(&e))?);
    let rails = (0..rails)
        .map(|rail| configure(&library, spec, rail, config.rails.get(rail)))
        .collect::<Result<_, _>>()?;
    Ok(DiscoveredDevices {
        library,
        spec: spec.clone(),
        rails,
    })
}

fn configure(
    library: &Arc<Library>,
    spec: &Ucx,
    rail: usize,
    source: Option<&String>,
) -> Result<RailDevice, TransportError> {
    let device = source.map(|source| device_name(spec, rail, source)).transpose()?;
    let version = library.identity().version;
    let is_set = |name: &str| std::env::var_os(name).is_some();
    let settings =
        settings(spec, device.as_deref(), version, is_set).map_err(|message| refused("open", message))?;
    let mut config = Config::read(library).map_err(|error| rail_refused(rail, &error))?;
    for setting in &settings {
        config.modify(setting).map_err(|error| {
            let mut failure = rail_refused(rail, &error);
            failure.message += &format!(
                ": UCX {version} does not accept {}={}; `ucx_info -cf` lists its settings",
                setting.name, setting.value
            );
            failure
        })?;
    }
    Ok(RailDevice {
        device,
        config,
        settings,
    })
}

/// UCX's name of the device that a rail source denotes: the interface of an IP address, or the given device.
fn device_name(spec: &Ucx, rail: usize, source: &str) -> Result<String, TransportError> {
    let Ok(address) = source.parse::<IpAddr>() else {
        return Ok(devices::ucx_name(spec, source));
    };
    topology::interface_with(address).ok_or_else(|| {
        let message = format!(
            "rail {rail}: no network interface has the address {address}; `ip address` lists the interfaces"
        );
        no_device("getifaddrs", message)
    })
}

/// Configuration files that exist where UCX looks for them: its installation, the home directory, the directory in
/// `UCX_CONFIG_DIR`, and the current directory.
pub(super) fn configuration_files(library: &Library) -> Vec<String> {
    let installation = library.identity().path.parent().and_then(|lib| lib.parent());
    let directories = [
        installation.map(|prefix| prefix.join("etc/ucx")),
        Some(PathBuf::from("/etc/ucx")),
        std::env::var_os("HOME").map(PathBuf::from),
        std::env::var_os("UCX_CONFIG_DIR").map(PathBuf::from),
        std::env::current_dir().ok(),
    ];
    let mut files: Vec<_> = directories
        .into_iter()
        .flatten()
        .map(|directory| directory.join(CONFIGURATION_FILE))
        .filter(|file| file.exists())
        .map(|file| file.display().to_string())
        .collect();
    files.sort_unstable();
    files.dedup();
    files
}
