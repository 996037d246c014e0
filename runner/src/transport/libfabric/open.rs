//! Opens the rails and collects facts about the endpoints that the library returned. Reads the list of network
//! interfaces.

use super::discovery::{self, DiscoveredDevices, RailDevice};
use super::ffi;
use super::ffi::{Limits, Rail, RailConfig};
use super::rules::address;
use super::rules::attributes::{Attributes, mr_mode_names};
use super::rules::offload::{ReportedProperties, offload, requires_peer_to_peer};
use crate::transport::failures::{on_rail, provider_mismatch};
use crate::transport::rail_set::OpenedRails;
use crate::transport::{EndpointAddresses, OpenConfig, TransportError};
use crds::record::{FabricFacts, FailureReason, InjectLimits, LibraryFacts, OffloadFacts, RailFacts};
use crds::v1alpha1::LibfabricProvider;
use libfabric_sys::Identity;
use libfabric_sys::bindings::FI_EADDRNOTAVAIL;
use std::path::Path;

/// Directory where the kernel lists the network interfaces.
const INTERFACES: &str = "/sys/class/net";

pub(super) fn open(config: &OpenConfig) -> Result<OpenedRails<Rail>, TransportError> {
    let DiscoveredDevices {
        library,
        requested,
        rails,
        inline_bytes,
    } = discovery::discover(config)?;
    let rail_config = RailConfig {
        depth: config.depth,
        peers: config.peers,
        uses_wait: config.uses_wait,
        forbid_shared_memory: requested.provider == LibfabricProvider::Efa,
        require_peer_to_peer: requires_peer_to_peer(requested.provider, config.device_memory),
    };
    let mut opened = Vec::with_capacity(rails.len());
    let mut facts = Vec::with_capacity(rails.len());
    for (number, device) in rails.into_iter().enumerate() {
        let RailDevice {
            info,
            attributes,
            source,
        } = device;
        let source_text = config
            .rails
            .get(number)
            .map_or("chosen by the library", String::as_str);
        let rail = Rail::open(info, rail_config)
            .map_err(|e| open_error(number, e, requested.provider, config.uses_wait, source_text))?;
        let bound = address::ip_address(rail.name());
        if let (Some(source), Some(bound)) = (source, bound)
            && source != bound
        {
            let message =
                format!("rail {number} has the source address {source}, but its endpoint is at {bound}");
            return Err(provider_mismatch("fi_getname", message));
        }
        facts.push((rail_facts(&rail, &attributes), attributes));
        opened.push(rail);
    }
    let addresses = EndpointAddresses {
        rails: opened.iter().map(|rail| rail.name().to_vec()).collect(),
    };
    let facts = FabricFacts {
        offload: offload_facts(config, requested.provider, inline_bytes, &opened),
        ..fabric_facts(library.identity(), facts, &opened)
    };
    Ok(OpenedRails {
        rails: opened,
        shared: requested.provider,
        addresses,
        facts,
    })
}

/// Error for a rail that cannot be opened, with the cause if it is known.
fn open_error(
    rail: usize,
    error: ffi::CallError,
    provider: LibfabricProvider,
    uses_wait: bool,
    source: &str,
) -> TransportError {
    let (call, errno) = (error.call, error.number);
    let mut failure = on_rail(rail, error);
    if errno == FI_EADDRNOTAVAIL {
        failure.reason = FailureReason::NoDevice;
        failure.message += &format!(" for the source {source}. {}", discovery::requirements(provider));
    }
    if uses_wait && matches!(call, "fi_cq_open" | "fi_control(FI_GETWAIT)") {
        failure.message += &format!(
            "; {} does not support waiting on its completion queue: use polling: Spin or Yield",
            provider.name()
        );
    }
    if call == ffi::PEER_TO_PEER_CALL {
        failure.message += "; the provider would copy GPU memory through host memory. Required: GPUDirect RDMA, via \
                            the nvidia-peermem module or dmabuf (a CUDA runtime and a libfabric with dmabuf support)";
    }
    if provider == LibfabricProvider::Verbs && call == "fi_enable" {
        failure.message +=
            "; soft-RoCE devices need FI_UNIVERSE_SIZE close to the number of peers (16 is usually enough)";
    }
    failure
}

fn rail_facts(rail: &Rail, attributes: &Attributes) -> RailFacts {
    let nic = attributes.nic.as_ref();
    // libfabric names a TCP domain after its network interface.
    let interface = || {
        Path::new(INTERFACES)
            .join(&attributes.domain)
            .exists()
            .then(|| attributes.domain.clone())
    };
    RailFacts {
        domain: attributes.domain.clone(),
        interface: nic
            .map(|nic| nic.name.clone())
            .filter(|name| !name.is_empty())
            .or_else(interface),
        pci: nic.and_then(|nic| nic.pci.clone()),
        address: address::display(rail.name()),
        line_bits_per_second: nic.map(|nic| nic.speed as u64).filter(|speed| *speed > 0),
        ..RailFacts::default()
    }
}

/// Combined offload facts of all rails: RMA counts as emulated if any rail emulates it.
fn offload_facts(
    config: &OpenConfig,
    provider: LibfabricProvider,
    inline_bytes: Option<u64>,
    opened: &[Rail],
) -> OffloadFacts {
    let reported = || opened.iter().map(Rail::reported_offload);
    // If a rail does not report whether it emulates RMA, the combined answer is unknown unless another rail reports
    // emulation.
    let any = |get: fn(&ReportedProperties) -> Option<bool>| {
        let answers = || reported().map(|reported| get(&reported));
        answers()
            .any(|answer| answer == Some(true))
            .then_some(true)
            .or_else(|| {
                let all: Option<Vec<bool>> = answers().collect();
                all.map(|_| false)
            })
    };
    let reported = ReportedProperties {
        emulates_reads: any(|reported| reported.emulates_reads),
        emulates_writes: any(|reported| reported.emulates_writes),
        inline_bytes,
    };
    offload(provider, reported, config.device_memory)
}

/// Combined facts of all rails: each limit is the minimum across the rails.
fn fabric_facts(identity: &Identity, rails: Vec<(RailFacts, Attributes)>, opened: &[Rail]) -> FabricFacts {
    let smallest = |limit: fn(&Limits) -> usize| {
        opened
            .iter()
            .map(|r| limit(&r.limits()) as u64)
            .min()
            .unwrap_or(0)
    };
    let inject_limits = InjectLimits {
        send_bytes: smallest(|l| l.inject_send),
        write_bytes: smallest(|l| l.inject_write),
    };
    let depth = rails
        .iter()
        .map(|(_, attributes)| attributes.transmit_depth as u64)
        .min()
        .unwrap_or(0);
    let first = rails
        .first()
        .map(|(_, attributes)| attributes.clone())
        .unwrap_or_default();
    FabricFacts {
        library: Some(LibraryFacts {
            name: "libfabric".to_owned(),
            version: identity.version.to_string(),
            api_version: identity.api.to_string(),
            path: identity.path.display().to_string(),
            build_id: Some(identity.build.clone()),
        }),
        provider: first.provider.clone(),
        fabric: first.fabric.clone(),
        inject_limits,
        transmit_depth: depth,
        max_message_bytes: smallest(|l| l.message.max(l.rma)),
        registration_mode: mr_mode_names(first.mr_mode),
        progress: first.progress_mode(),
        rails: rails.into_iter().map(|(facts, _)| facts).collect(),
        ..FabricFacts::default()
    }
}
