//! Opens the library, and determines the device and the configuration of each rail. Reads the environment, the list of
//! network interfaces, and UCX's configuration files.

use super::ffi::Config;
use super::rules::devices;
use super::rules::environment;
use super::rules::settings::{Setting, settings};
use crate::topology;
use crate::transport::failures::{
    cannot_open_library, check_sources, no_device, on_rail, other_transport, refused,
};
use crate::transport::{OpenConfig, TransportError};
use crds::v1alpha1::{TransportSpec, Ucx};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use ucx_sys::{Library, Source};

/// Configuration file that UCX reads from several directories.
const CONFIGURATION_FILE: &str = "ucx.conf";
/// Maximum number of bytes of a configuration file that are compared. Real files are a few kilobytes in size.
const MAX_FILE_BYTES: u64 = 1 << 20;
/// Prefix of the environment variables that UCX reads.
const VARIABLE_PREFIX: &str = "UCX_";

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
/// Returns `LibraryNotFound`, `NoDevice` or `OperationRejected`.
pub(super) fn discover(config: &OpenConfig) -> Result<DiscoveredDevices, TransportError> {
    let TransportSpec::Ucx(spec) = &config.spec else {
        return Err(other_transport("UCX", config));
    };
    let rails = check_sources(config, spec.rails)?;
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
    if let Some(device) = &device {
        environment::check_device(device, |name| std::env::var(name).ok()).map_err(|m| refused("open", m))?;
    }
    let version = library.identity().version;
    let is_set = |name: &str| std::env::var_os(name).is_some();
    let settings =
        settings(spec, device.as_deref(), version, is_set).map_err(|message| refused("open", message))?;
    let mut config = Config::read(library).map_err(|error| {
        let mut failure = on_rail(rail, error);
        failure.message += ": a UCX_* environment variable or a ucx.conf file has an invalid value, which the \
                            library's output names";
        failure
    })?;
    for setting in &settings {
        config.modify(setting).map_err(|error| {
            let mut failure = on_rail(rail, error);
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

/// UCX's name for the device that a rail source denotes: the interface that has this IP address, or the given device.
fn device_name(spec: &Ucx, rail: usize, source: &str) -> Result<String, TransportError> {
    let Ok(address) = source.parse::<IpAddr>() else {
        let is_interface = |name: &str| Path::new("/sys/class/net").join(name).exists();
        return Ok(devices::ucx_name(spec, source, is_interface));
    };
    topology::interface_with(address).ok_or_else(|| {
        let message = format!(
            "rail {rail}: no network interface has the address {address}; `ip address` lists the interfaces"
        );
        no_device("getifaddrs", message)
    })
}

/// Configuration files in the directories that UCX searches: its installation, the home directory, the directory in
/// `UCX_CONFIG_DIR`, and the current directory.
pub(super) fn configuration_files(library: &Library) -> Vec<PathBuf> {
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
        .collect();
    files.sort_unstable();
    files.dedup();
    files
}

/// Environment variables that start with `UCX_`.
pub(super) fn variables() -> BTreeMap<String, String> {
    let all = std::env::vars_os();
    let text = all.filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    text.filter(|(name, _)| name.starts_with(VARIABLE_PREFIX))
        .collect()
}

/// First [`MAX_FILE_BYTES`] of a file; empty if it cannot be read, because then UCX cannot read it either.
pub(super) fn read_bounded(file: &Path) -> Vec<u8> {
    let mut content = Vec::new();
    let read = File::open(file).and_then(|file| file.take(MAX_FILE_BYTES).read_to_end(&mut content));
    if let Err(error) = read {
        tracing::warn!(file = %file.display(), %error, "a UCX configuration file cannot be read");
        content.clear();
    }
    content
}
