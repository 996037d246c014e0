//! Selects the device and the source address of each rail. Reads sysfs, and opens the devices.

use crate::ffi::{Device, PortAttributes};
use crate::rules::gid::{self, Entry, Protocol};
use crate::rules::rails::{RailSource, first_devices};
use crds::v1alpha1::{TransportSpec, Verbs};
use runner::topology::{self, Machine, SystemRoots};
use runner::transport::failures::{check_sources, no_device, on_rail, other_transport};
use runner::transport::{OpenConfig, TransportError};
use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

/// Directory where the kernel lists the RDMA devices.
const DEVICES: &str = "/sys/class/infiniband";
/// Maximum number of entries that are read from a GID table. Real tables are shorter.
const MAX_ENTRIES: u16 = 256;

const REQUIREMENTS: &str = "Required: an RDMA device with an active port, its device file in the container \
                            (/dev/infiniband), and its provider library (Debian package ibverbs-providers). Try: ibv_devinfo";

/// Device that a rail is opened on.
pub(super) struct RailDevice {
    pub name: String,
    pub device: Device,
    pub port: PortAttributes,
    pub source: Entry,
}

/// Opens the device of each rail.
///
/// # Errors
///
/// Returns `NoDevice` or `OperationRejected`.
pub(super) fn discover(config: &OpenConfig) -> Result<(Verbs, Vec<RailDevice>), TransportError> {
    let TransportSpec::Verbs(spec) = &config.spec else {
        return Err(other_transport("verbs", config));
    };
    let rails = check_sources(config, spec.rails)?;
    let devices = if config.rails.is_empty() {
        let names = first_devices(&usable_devices(config)?, rails)
            .map_err(|message| no_device("ibv_get_device_list", format!("{message}. {REQUIREMENTS}")))?;
        let opened = names
            .iter()
            .enumerate()
            .map(|(rail, name)| open(rail, name, None));
        opened.collect::<Result<Vec<_>, _>>()?
    } else {
        let sources = config.rails.iter().map(RailSource::from).enumerate();
        let opened = sources.map(|(rail, source)| match source {
            RailSource::Device(name) => open(rail, &name, None),
            RailSource::Address(address) => open(rail, &device_at_address(rail, address)?, Some(address)),
        });
        opened.collect::<Result<Vec<_>, _>>()?
    };
    Ok((spec.clone(), devices))
}

/// Names of the devices with an active port, in the order in which rails use them: the devices nearest to the memory
/// come first.
fn usable_devices(config: &OpenConfig) -> Result<Vec<String>, TransportError> {
    let mut names = device_names()?;
    names.sort_unstable();
    if let Some(location) = &config.location {
        let machine = Machine::read(&SystemRoots::default());
        let drivers: Vec<&str> = machine
            .devices
            .iter()
            .filter(|device| names.contains(&device.name))
            .filter_map(|device| device.driver.as_deref())
            .collect();
        let nearest: Vec<&str> = topology::nearest(&machine, &drivers, location)
            .iter()
            .map(|device| device.name.as_str())
            .collect();
        names.sort_by_key(|name| {
            let position = nearest.iter().position(|near| near == name);
            position.unwrap_or(usize::MAX)
        });
    }
    names.retain(|name| {
        let state = fs::read_to_string(port(name).join("state"));
        state.is_ok_and(|state| state.contains("ACTIVE"))
    });
    Ok(names)
}

fn device_names() -> Result<Vec<String>, TransportError> {
    Device::names().map_err(|error| no_device(error.call, format!("{error}. {REQUIREMENTS}")))
}

/// Name of the device that has `address`.
fn device_at_address(rail: usize, address: IpAddr) -> Result<String, TransportError> {
    let names = device_names()?;
    let found = names.into_iter().find(|name| {
        let table = gid_table(&port(name));
        gid::select(&table, Some(address)).is_some()
    });
    found.ok_or_else(|| {
        let message = format!(
            "rail {rail}: no RDMA device has the address {address}; `ibv_devinfo -v` lists the addresses"
        );
        no_device("ibv_get_device_list", message)
    })
}

fn open(rail: usize, name: &str, address: Option<IpAddr>) -> Result<RailDevice, TransportError> {
    let device = Device::open(name).map_err(|error| on_rail(rail, error))?;
    let device = device.ok_or_else(|| {
        let names = Device::names().unwrap_or_default().join(", ");
        let message =
            format!("rail {rail}: no RDMA device {name}; available devices: {names}. {REQUIREMENTS}");
        no_device("ibv_open_device", message)
    })?;
    let attributes = device.port().map_err(|error| on_rail(rail, error))?;
    if !attributes.is_active {
        let message =
            format!("rail {rail}: port 1 of {name} is not active; connect it or bring its interface up");
        return Err(no_device("ibv_query_port", message));
    }
    let table = gid_table(&port(name));
    let source = gid::select(&table, address).ok_or_else(|| {
        let message = format!(
            "rail {rail}: port 1 of {name} has no usable address (GID){}; assign an IP address to its interface",
            address.map_or_else(String::new, |address| format!(" {address}"))
        );
        no_device("ibv_query_gid", message)
    })?;
    Ok(RailDevice {
        name: name.to_owned(),
        device,
        port: attributes,
        source,
    })
}

fn port(device: &str) -> PathBuf {
    Path::new(DEVICES).join(device).join("ports/1")
}

/// Entries of a port's GID table. The kernel fails to read the attributes of an empty entry.
fn gid_table(port: &Path) -> Vec<Entry> {
    let entry = |index: u16| {
        let read = |directory: &str| fs::read_to_string(port.join(directory).join(index.to_string())).ok();
        Some(Entry {
            index: u8::try_from(index).ok()?,
            gid: gid::parse(&read("gids")?)?,
            protocol: Protocol::parse(&read("gid_attrs/types")?)?,
        })
    };
    (0..MAX_ENTRIES).filter_map(entry).collect()
}
