//! Opens the library, and determines the device and the parameters of each rail. Reads the list of network interfaces.

use super::rules::parameters::{self, Device};
use crate::topology;
use crate::transport::failures::{cannot_open_library, check_sources, no_device, other_transport, refused};
use crate::transport::{OpenConfig, TransportError};
use crds::v1alpha1::{Nixl, TransportSpec};
use nixl_sys::{Library, Source};
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

/// Device and parameters of a rail.
pub(super) struct RailDevice {
    /// Device that is assigned to the rail; `None` if the backend chooses it.
    pub device: Option<Device>,
    /// Backend parameters.
    pub parameters: Vec<(String, String)>,
}

/// The opened library, and the parameters of each rail.
pub(super) struct DiscoveredDevices {
    pub library: Arc<Library>,
    pub spec: Nixl,
    pub rails: Vec<RailDevice>,
}

/// Opens the library and determines the parameters of each rail.
///
/// # Errors
///
/// Returns `LibraryNotFound`, `NoDevice` or `OperationRejected`.
pub(super) fn discover(config: &OpenConfig) -> Result<DiscoveredDevices, TransportError> {
    let TransportSpec::Nixl(spec) = &config.spec else {
        return Err(other_transport("NIXL", config));
    };
    let rails = check_sources(config, spec.rails)?;
    let source = config.library.clone().map_or(Source::Search, Source::Path);
    let library = Arc::new(Library::open(&source).map_err(|error| cannot_open_library(&error))?);
    let rails = (0..rails)
        .map(|rail| {
            let device = config
                .rails
                .get(rail)
                .map(|source| device(rail, source))
                .transpose()?;
            let parameters =
                parameters::parameters(spec, device.as_ref()).map_err(|message| refused("open", message))?;
            Ok(RailDevice { device, parameters })
        })
        .collect::<Result<_, TransportError>>()?;
    Ok(DiscoveredDevices {
        library,
        spec: spec.clone(),
        rails,
    })
}

/// Device that a rail source denotes: the interface that has this IP address, or the interface or RDMA device that has
/// this name.
fn device(rail: usize, source: &str) -> Result<Device, TransportError> {
    let interface = match source.parse::<IpAddr>() {
        Ok(address) => topology::interface_with(address),
        Err(_) if Path::new("/sys/class/net").join(source).exists() => Some(source.to_owned()),
        Err(_) => return Ok(Device::Rdma(source.to_owned())),
    };
    interface.map(Device::Interface).ok_or_else(|| {
        let message = format!(
            "rail {rail}: no network interface has the address {source}; `ip address` lists the interfaces"
        );
        no_device("getifaddrs", message)
    })
}
