//! Opens the library, queries the requested provider's devices, and selects a device for each rail. The query
//! initializes the library's providers; no endpoint is opened.

use super::ffi::{self, Info};
use super::rules::absence::{gpu_memory_requirement, missing_device_reason};
use super::rules::attributes::Attributes;
use super::rules::environment;
use super::rules::hints::{Hints, Requirements, hint_candidates};
use super::rules::provider::{RequestedProvider, resolve};
use super::rules::rails::assign_devices;
use crate::topology::{self, Device, Machine, SystemRoots};
use crate::transport::failures::{
    cannot_open_library, check_sources, no_device, on_rail, other_transport, refused,
};
use crate::transport::{OpenConfig, Rail, TransportError};
use crds::record::FailureReason;
use crds::v1alpha1::{Libfabric, LibfabricProvider, TransportSpec};
use libfabric_sys::{Library, Source};
use std::net::IpAddr;
use std::sync::Arc;

/// Device that a rail is opened on.
pub(super) struct RailDevice {
    pub info: Info,
    pub attributes: Attributes,
    /// Address to which the opened endpoint must be bound; `None` if any address is acceptable.
    pub source: Option<IpAddr>,
}

/// The opened library, the requested provider, and one device for each rail.
pub(super) struct DiscoveredDevices {
    pub library: Arc<Library>,
    pub requested: RequestedProvider,
    pub rails: Vec<RailDevice>,
    /// Maximum size of a message that fits inline in a work request, in bytes; `None` if it is unknown.
    pub inline_bytes: Option<u64>,
}

/// Opens the library and selects a device for each rail.
///
/// # Errors
///
/// Returns `LibraryNotFound`, `NoDevice`, `ProviderMismatch` or `OperationRejected`.
pub(super) fn discover(config: &OpenConfig) -> Result<DiscoveredDevices, TransportError> {
    let TransportSpec::Libfabric(Libfabric { provider, rails }) = &config.spec else {
        return Err(other_transport("libfabric", config));
    };
    let rails = check_sources(config, *rails)?;
    let source = config.library.clone().map_or(Source::Search, Source::Path);
    let library = Arc::new(Library::open(&source).map_err(|e| cannot_open_library(&e))?);
    let version = library.identity().version;
    environment::check_variables(*provider, version, |name| std::env::var(name).ok())
        .map_err(|m| refused("open", m))?;
    let requested = resolve(*provider, version).map_err(|m| no_device("fi_getinfo", m))?;
    let search = DeviceSearch {
        library: &library,
        requested,
        config,
    };
    let rails = match requested.provider {
        LibfabricProvider::Efa | LibfabricProvider::EfaDirect => search.by_nic(rails),
        LibfabricProvider::Verbs if config.rails.iter().all(|rail| rail.parse::<IpAddr>().is_err()) => {
            search.by_nic(rails)
        }
        LibfabricProvider::Shm => search.without_source(rails),
        _ => search.by_address(rails),
    }?;
    let inline_bytes = search.inline_bytes(&rails);
    Ok(DiscoveredDevices {
        library,
        requested,
        rails,
        inline_bytes,
    })
}

struct DeviceSearch<'a> {
    library: &'a Arc<Library>,
    requested: RequestedProvider,
    config: &'a OpenConfig,
}

impl DeviceSearch<'_> {
    /// Selects one NIC per rail: the configured NICs, or those nearest to the memory.
    fn by_nic(&self, rails: usize) -> Result<Vec<RailDevice>, TransportError> {
        let found = self.query(None)?;
        let candidates: Vec<Attributes> = found.iter().map(|(_, attributes)| attributes.clone()).collect();
        let nearest = self.nearest_devices(&candidates);
        let indexes = assign_devices(&candidates, &self.config.rails, &nearest, rails)
            .map_err(|message| no_device("fi_getinfo", message))?;
        let mut found: Vec<_> = found.into_iter().map(Some).collect();
        let mut devices = Vec::with_capacity(rails);
        for index in indexes {
            // Each index occurs once, so every rail gets a device.
            devices.extend(found[index].take().map(|(info, attributes)| RailDevice {
                info,
                attributes,
                source: None,
            }));
        }
        Ok(devices)
    }

    /// Names of this machine's devices that use the same kernel drivers as the candidates, nearest to the memory first.
    /// Empty if the location of the memory is unknown or rail sources are configured.
    fn nearest_devices(&self, candidates: &[Attributes]) -> Vec<String> {
        let Some(location) = self
            .config
            .location
            .as_ref()
            .filter(|_| self.config.rails.is_empty())
        else {
            return Vec::new();
        };
        let machine = Machine::read(&SystemRoots::default());
        let is_candidate = |device: &&Device| {
            candidates
                .iter()
                .any(|candidate| candidate.matches_device(&device.name))
        };
        let drivers: Vec<&str> = machine
            .devices
            .iter()
            .filter(is_candidate)
            .filter_map(|device| device.driver.as_deref())
            .collect();
        let devices = topology::nearest(&machine, &drivers, location).into_iter();
        devices.map(|device| device.name.clone()).collect()
    }

    /// Selects the device for each source address or network interface.
    ///
    /// If no addresses are configured, all rails use the first device that the library returns, because endpoints of
    /// these providers can share a device.
    fn by_address(&self, rails: usize) -> Result<Vec<RailDevice>, TransportError> {
        (0..rails)
            .map(|rail| {
                let source = self
                    .config
                    .rails
                    .get(rail)
                    .map(|text| source_address(rail, text))
                    .transpose()?;
                self.first_device(source)
            })
            .collect()
    }

    fn without_source(&self, rails: usize) -> Result<Vec<RailDevice>, TransportError> {
        if !self.config.rails.is_empty() {
            let message = "shm endpoints have neither an address nor a device: leave the rail sources empty";
            return Err(refused("open", message.to_owned()));
        }
        (0..rails).map(|_| self.first_device(None)).collect()
    }

    fn first_device(&self, source: Option<IpAddr>) -> Result<RailDevice, TransportError> {
        let Some((info, attributes)) = self.query(source)?.into_iter().next() else {
            return Err(no_device("fi_getinfo", self.no_device_message(source)));
        };
        Ok(RailDevice {
            info,
            attributes,
            source,
        })
    }

    /// Queries the requested provider's usable devices, excluding those of its layered variants. The result is never
    /// empty.
    fn query(&self, source: Option<IpAddr>) -> Result<Vec<(Info, Attributes)>, TransportError> {
        let requirements = Requirements {
            inject_size: usize::try_from(self.config.inject_bytes.unwrap_or(0)).unwrap_or(usize::MAX),
            device_memory: self.config.device_memory,
        };
        let mut mismatches = Vec::new();
        for hints in hint_candidates(&self.requested, requirements) {
            let (matching, others): (Vec<_>, Vec<_>) = self
                .get_info(&hints, source)?
                .into_iter()
                .partition(|(_, attributes)| attributes.matches(&self.requested));
            mismatches.extend(
                others
                    .into_iter()
                    .map(|(_, attributes)| format!("{} ({})", attributes.provider, attributes.fabric)),
            );
            if !matching.is_empty() {
                return self.ensure_depth(matching, &hints, source);
            }
        }
        let found_without_hmem = self.config.device_memory && self.has_devices_for_host_memory(source);
        let reason = missing_device_reason(!mismatches.is_empty(), found_without_hmem);
        Err(TransportError {
            reason,
            operation: "fi_getinfo",
            message: match reason {
                FailureReason::MemoryUnavailable => self.no_device_memory_message(),
                FailureReason::ProviderMismatch => self.other_providers_message(&mismatches),
                _ => self.no_device_message(source),
            },
        })
    }

    /// If the provider's default queue depth is too small, repeats the query with the required depth.
    ///
    /// Otherwise requests no depth, because an explicit depth would override a larger default. Also checks that this
    /// transport supports the devices.
    fn ensure_depth(
        &self,
        mut found: Vec<(Info, Attributes)>,
        hints: &Hints,
        source: Option<IpAddr>,
    ) -> Result<Vec<(Info, Attributes)>, TransportError> {
        let depth = self.config.depth;
        let is_shallow =
            |attributes: &Attributes| attributes.transmit_depth < depth || attributes.receive_depth < depth;
        if let Some((_, attributes)) = found.iter().find(|(_, attributes)| is_shallow(attributes)) {
            let default_depth = attributes.transmit_depth.min(attributes.receive_depth);
            let deeper = Hints {
                depth,
                ..hints.clone()
            };
            found = self.get_info(&deeper, source)?;
            found.retain(|(_, attributes)| attributes.matches(&self.requested) && !is_shallow(attributes));
            if found.is_empty() {
                let message = format!(
                    "{depth} posts in flight were requested, but an endpoint of {} has a default depth of \
                     {default_depth} and does not support more",
                    self.requested.name
                );
                return Err(refused("fi_getinfo", message));
            }
        }
        for (_, attributes) in &found {
            attributes
                .check_supported()
                .map_err(|message| refused("fi_getinfo", message))?;
        }
        Ok(found)
    }

    /// Maximum size of a message that fits inline in a work request on every device of `rails`, in bytes.
    ///
    /// For verbs and efa-direct, this is the inject size. efa's inject size also covers messages that the provider
    /// copies into a packet buffer. For efa, this function therefore returns efa-direct's inject size on the same
    /// device, if the library has the efa-direct fabric.
    fn inline_bytes(&self, rails: &[RailDevice]) -> Option<u64> {
        let smallest = |sizes: Vec<usize>| sizes.into_iter().min().and_then(|size| u64::try_from(size).ok());
        match self.requested.provider {
            LibfabricProvider::Verbs | LibfabricProvider::EfaDirect => {
                smallest(rails.iter().map(|rail| rail.attributes.inject_size).collect())
            }
            LibfabricProvider::Efa => {
                let direct = resolve(LibfabricProvider::EfaDirect, self.library.identity().version).ok()?;
                let requirements = Requirements {
                    inject_size: 0,
                    device_memory: false,
                };
                let hints = hint_candidates(&direct, requirements);
                let found = hints.iter().find_map(|hints| {
                    let found = self.get_info(hints, None).ok()?;
                    (!found.is_empty()).then_some(found)
                })?;
                let rail_inline_bytes = |rail: &RailDevice| {
                    let nic = rail.attributes.nic.as_ref()?;
                    let mut same = found.iter().map(|(_, attributes)| attributes);
                    let same = same.find(|attributes| attributes.matches_device(&nic.name))?;
                    Some(same.inject_size)
                };
                rails
                    .iter()
                    .map(rail_inline_bytes)
                    .collect::<Option<Vec<usize>>>()
                    .and_then(smallest)
            }
            LibfabricProvider::Tcp
            | LibfabricProvider::Net
            | LibfabricProvider::TcpRxm
            | LibfabricProvider::Shm => None,
        }
    }

    fn get_info(
        &self,
        hints: &Hints,
        source: Option<IpAddr>,
    ) -> Result<Vec<(Info, Attributes)>, TransportError> {
        let infos = ffi::get_info(self.library, hints, source).map_err(|e| on_rail(0, e))?;
        Ok(infos
            .into_iter()
            .map(|info| {
                let attributes = info.attributes();
                (info, attributes)
            })
            .collect())
    }

    /// Whether the provider has devices when only host memory is required.
    fn has_devices_for_host_memory(&self, source: Option<IpAddr>) -> bool {
        let requirements = Requirements {
            inject_size: 0,
            device_memory: false,
        };
        hint_candidates(&self.requested, requirements)
            .iter()
            .filter_map(|hints| self.get_info(hints, source).ok())
            .flatten()
            .any(|(_, attributes)| attributes.matches(&self.requested))
    }

    fn other_providers_message(&self, others: &[String]) -> String {
        format!(
            "requested provider {} (in libfabric {}: {}{}), but the library returned only {}",
            self.requested.provider.name(),
            self.library.identity().version,
            self.requested.name,
            self.requested
                .fabric
                .map(|fabric| format!(", fabric {fabric}"))
                .unwrap_or_default(),
            others.join(", ")
        )
    }

    fn no_device_memory_message(&self) -> String {
        let identity = self.library.identity();
        let required = gpu_memory_requirement(self.requested.provider, self.requested.name);
        format!(
            "provider {} of libfabric {} at {} has devices, but none supports GPU memory (FI_HMEM). {required}",
            self.requested.provider.name(),
            identity.version,
            identity.path.display(),
        )
    }

    fn no_device_message(&self, source: Option<IpAddr>) -> String {
        let identity = self.library.identity();
        let providers: Vec<_> = self
            .library
            .providers()
            .unwrap_or_default()
            .into_iter()
            .map(|provider| provider.name)
            .collect();
        let filter = std::env::var("FI_PROVIDER").map(|v| format!(" (filtered by FI_PROVIDER={v})"));
        format!(
            "no device found for provider {}{}: libfabric {} at {} provides {}{}. {}",
            self.requested.provider.name(),
            source.map(|address| format!(" at {address}")).unwrap_or_default(),
            identity.version,
            identity.path.display(),
            providers.join(", "),
            filter.unwrap_or_default(),
            requirements(self.requested.provider),
        )
    }
}

/// Parses an IP address, or finds the address of a network interface.
fn source_address(rail: Rail, text: &str) -> Result<IpAddr, TransportError> {
    let parsed = text.parse().ok();
    parsed.or_else(|| topology::address_of(text)).ok_or_else(|| {
        let message = format!(
            "rail {rail}: {text:?} is neither an IP address nor the name of a network interface that has one; \
             `ip address` lists the interfaces"
        );
        no_device("getifaddrs", message)
    })
}

/// Returns a provider's requirements and the commands to check them.
pub(super) fn requirements(provider: LibfabricProvider) -> &'static str {
    match provider {
        LibfabricProvider::Efa | LibfabricProvider::EfaDirect => {
            "Required: an instance type with EFA, the device in the container (resource vpc.amazonaws.com/efa, \
             /dev/infiniband), and a libfabric with the efa provider. Try: fi_info -p efa"
        }
        LibfabricProvider::Verbs => {
            "Required: an RDMA device with an IP address, the device in the container (/dev/infiniband), and a \
             libfabric with the verbs provider. Try: fi_info -p verbs, ibv_devinfo"
        }
        LibfabricProvider::Shm => {
            "Required: a writable /dev/shm with about 16 MiB of free space for each CPU. Try: df /dev/shm; fi_info -p shm"
        }
        LibfabricProvider::Tcp | LibfabricProvider::Net | LibfabricProvider::TcpRxm => {
            "Required: an interface that is up and has the source address. Try: ip address; fi_info -p tcp"
        }
    }
}
