//! Opens the rails, makes peers known, and says what the library returned.

use super::device::{self, Choice, Devices};
use super::error::{mismatch, on_rail, refused};
use super::ffi::{Limits, Rail, RailConfig};
use super::rules::{address, offer};
use super::{Libfabric, ffi};
use crate::transport::{EndpointAddresses, OpenConfig, Peer, TransportError};
use crds::record::{FabricFacts, FailureReason, InjectLimits, LibraryFacts, RailFacts};
use crds::v1alpha1::LibfabricProvider;
use libfabric_sys::Identity;
use libfabric_sys::bindings::FI_EADDRNOTAVAIL;
use std::collections::BTreeSet;
use std::path::Path;

/// Where the kernel lists network interfaces.
const INTERFACES: &str = "/sys/class/net";
/// Where shm endpoints live.
const SHARED_MEMORY: &str = "/dev/shm";

pub(super) fn open(config: &OpenConfig) -> Result<Libfabric, TransportError> {
    if config.depth == 0 || u32::try_from(config.depth).is_err() {
        return Err(refused(
            "open",
            format!("{} posts in flight; 1 to {} are possible", config.depth, u32::MAX),
        ));
    }
    let Devices {
        library,
        wanted,
        rails,
    } = device::find(config)?;
    let rail_config = RailConfig {
        depth: config.depth,
        peers: config.peers,
        sleeps: config.sleeps,
        forbid_shared_memory: wanted.provider == LibfabricProvider::Efa,
    };
    let mut opened = Vec::with_capacity(rails.len());
    let mut facts = Vec::with_capacity(rails.len());
    for (number, Choice { info, offer, source }) in rails.into_iter().enumerate() {
        let source_text = config
            .rails
            .get(number)
            .map_or("chosen by the library", String::as_str);
        let rail = Rail::open(info, rail_config)
            .map_err(|e| explain(number, &e, wanted.provider, config.sleeps, source_text))?;
        let bound = address::ip(rail.name());
        if let (Some(wished), Some(bound)) = (source, bound)
            && wished != bound
        {
            let message = format!("rail {number} was to leave from {wished}, and its endpoint is at {bound}");
            return Err(mismatch("fi_getname", message));
        }
        facts.push((rail_facts(&rail, &offer), offer));
        opened.push(rail);
    }
    let addresses = EndpointAddresses {
        rails: opened.iter().map(|rail| rail.name().to_vec()).collect(),
    };
    let facts = fabric_facts(library.identity(), facts, &opened);
    Ok(Libfabric {
        rails: opened,
        provider: wanted.provider,
        addresses,
        facts,
        next: 0,
        failure: None,
    })
}

/// Adds what is known to be behind a refusal.
fn explain(
    number: usize,
    error: &ffi::CallError,
    provider: LibfabricProvider,
    sleeps: bool,
    source: &str,
) -> TransportError {
    let mut failure = on_rail(number, error);
    if error.number == FI_EADDRNOTAVAIL {
        failure.reason = FailureReason::NoDevice;
        failure.message += &format!(" for the source {source}. {}", device::advice(provider));
    }
    if sleeps && matches!(error.call, "fi_cq_open" | "fi_control(FI_GETWAIT)") {
        failure.message += &format!(
            "; {} cannot sleep on its queue: use polling Spin or Yield",
            provider.name()
        );
    }
    if provider == LibfabricProvider::Verbs && error.call == "fi_enable" {
        failure.message +=
            "; soft-RoCE devices need FI_UNIVERSE_SIZE near the number of peers (16 is enough for most)";
    }
    failure
}

fn rail_facts(rail: &Rail, offer: &offer::Offer) -> RailFacts {
    let nic = offer.nic.as_ref();
    // libfabric calls a TCP domain by the interface it is on.
    let interface = || {
        Path::new(INTERFACES)
            .join(&offer.domain)
            .exists()
            .then(|| offer.domain.clone())
    };
    RailFacts {
        domain: offer.domain.clone(),
        interface: nic
            .map(|nic| nic.name.clone())
            .filter(|name| !name.is_empty())
            .or_else(interface),
        pci: nic.and_then(|nic| nic.pci.clone()),
        address: address::text(rail.name()),
        line_bits_per_second: nic.map(|nic| nic.speed as u64).filter(|speed| *speed > 0),
    }
}

/// The limits of a transport are the smallest of its rails.
fn fabric_facts(identity: &Identity, rails: Vec<(RailFacts, offer::Offer)>, opened: &[Rail]) -> FabricFacts {
    let least = |limit: fn(&Limits) -> usize| {
        opened
            .iter()
            .map(|r| limit(&r.limits()) as u64)
            .min()
            .unwrap_or(0)
    };
    let inject_limits = InjectLimits {
        send_bytes: least(|l| l.inject_send),
        write_bytes: least(|l| l.inject_write),
    };
    let emulated: BTreeSet<_> = opened.iter().flat_map(|rail| rail.emulated().to_vec()).collect();
    let depth = rails
        .iter()
        .map(|(_, offer)| offer.transmit_depth as u64)
        .min()
        .unwrap_or(0);
    let first = rails.first().map(|(_, offer)| offer.clone()).unwrap_or_default();
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
        max_message_bytes: least(|l| l.message.max(l.rma)),
        registration_mode: offer::mr_mode_names(first.mr_mode),
        progress: first.progress(),
        emulated: emulated.into_iter().collect(),
        rails: rails.into_iter().map(|(facts, _)| facts).collect(),
        ..FabricFacts::default()
    }
}

pub(super) fn connect(transport: &mut Libfabric, peer: &EndpointAddresses) -> Result<Peer, TransportError> {
    if peer.rails.len() != transport.rails.len() {
        let message = format!(
            "the peer has {} rails, and this side {}",
            peer.rails.len(),
            transport.rails.len()
        );
        return Err(refused("fi_av_insert", message));
    }
    let mut number = 0;
    for (index, (rail, name)) in transport.rails.iter_mut().zip(&peer.rails).enumerate() {
        let padded = address::padded(name, rail.name()).map_err(|m| refused("fi_av_insert", m))?;
        if transport.provider == LibfabricProvider::Shm {
            shared_memory_is_here(name)?;
        }
        number = rail.connect(&padded).map_err(|e| on_rail(index, &e))?;
    }
    Ok(number)
}

/// shm answers a post to a peer whose memory it cannot open with "try again", for ever.
fn shared_memory_is_here(name: &[u8]) -> Result<(), TransportError> {
    let known = address::shared_memory_file(name).filter(|file| Path::new(SHARED_MEMORY).join(file).exists());
    if known.is_some() {
        return Ok(());
    }
    let message = format!(
        "the peer's endpoint {} is not in this worker's {SHARED_MEMORY}: both must be on one host and share that \
         folder (pods have one each)",
        address::text(name)
    );
    Err(TransportError {
        reason: FailureReason::FabricUnreachable,
        operation: "fi_av_insert",
        message,
    })
}
