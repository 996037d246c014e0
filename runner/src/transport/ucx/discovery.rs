//! Opens the library, and determines the device and the configuration of each rail. Reads the environment, the list of
//! network interfaces, and UCX's configuration files.

use super::error::{cannot_open_library, no_device, rail_refused, refused};
use super::ffi::Config;
use super::rules::devices;
use super::rules::environment;
use super::rules::settings::{Setting, settings};
use crate::topology;
use crate::transport::{OpenConfig, TransportError};
use crds::v1alpha1::{TransportSpec, Ucx, UcxConnection};
use std::net::{IpAddr, SocketAddr};
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
    /// Address on which the rail listens for the connections of peers; `None` if none is needed.
    pub listen: Option<SocketAddr>,
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
        listen: listen_address(spec, rail, source)?,
        device,
        config,
        settings,
    })
}

/// Address on which a rail listens, with port 0: the IP address that the rail source names, or that of the interface.
fn listen_address(
    spec: &Ucx,
    rail: usize,
    source: Option<&String>,
) -> Result<Option<SocketAddr>, TransportError> {
    if spec.connection == UcxConnection::WorkerAddress {
        return Ok(None);
    }
    let of_source = |source: &String| source.parse().ok().or_else(|| topology::address_of(source));
    match source.and_then(of_source) {
        Some(ip) => Ok(Some(SocketAddr::new(ip, 0))),
        None => {
            let source = source.map_or("none".to_owned(), |source| format!("{source:?}"));
            let message = format!(
                "rail {rail}: connection Listener needs an IP address, but the rail source ({source}) is neither an IP \
                 address nor a network interface with one; name such an interface, or use connection WorkerAddress"
            );
            Err(no_device("ucp_listener_create", message))
        }
    }
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
