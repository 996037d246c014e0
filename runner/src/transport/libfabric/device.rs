//! Opens the library, asks what it has for the provider, and chooses an offer for each rail. Loads the library and
//! runs its providers' initialization; opens no endpoint.

use super::error::{library as library_error, mismatch, no_device, on_rail, refused};
use super::ffi::{self, Info};
use super::rules::environment;
use super::rules::hints::{Hints, Wishes, attempts};
use super::rules::offer::Offer;
use super::rules::provider::{Wanted, wanted};
use super::rules::rails::choose;
use crate::transport::{OpenConfig, Rail, TransportError};
use crds::v1alpha1::{Libfabric, LibfabricProvider, TransportSpec};
use libfabric_sys::{Library, Source};
use std::net::IpAddr;
use std::sync::Arc;

/// What a rail will be opened from.
pub(super) struct Choice {
    pub info: Info,
    pub offer: Offer,
    /// Address that the endpoint must then have.
    pub source: Option<IpAddr>,
}

/// The library, the provider by its names, and one choice for each rail.
pub(super) struct Devices {
    pub library: Arc<Library>,
    pub wanted: Wanted,
    pub rails: Vec<Choice>,
}

/// # Errors
///
/// `LibraryNotFound`, `NoDevice`, `ProviderMismatch`, `Refused`.
pub(super) fn find(config: &OpenConfig) -> Result<Devices, TransportError> {
    let TransportSpec::Libfabric(Libfabric { provider, rails }) = &config.spec else {
        return Err(refused(
            "open",
            format!("libfabric was asked to open {}", config.spec.library()),
        ));
    };
    let rails = usize::try_from(*rails).unwrap_or(usize::MAX);
    if !config.rails.is_empty() && config.rails.len() != rails {
        return Err(refused(
            "open",
            format!("{rails} rails, but sources for {}", config.rails.len()),
        ));
    }
    let source = config.library.clone().map_or(Source::Search, Source::Path);
    let library = Arc::new(Library::open(&source).map_err(|e| library_error(&e))?);
    let version = library.identity().version;
    environment::check(*provider, version, |name| std::env::var(name).ok())
        .map_err(|m| refused("open", m))?;
    let wanted = wanted(*provider, version).map_err(|m| no_device("fi_getinfo", m))?;
    let search = Search {
        library: &library,
        wanted,
        config,
    };
    let rails = match wanted.provider {
        LibfabricProvider::Efa | LibfabricProvider::EfaDirect => search.by_nic(rails),
        LibfabricProvider::Verbs if config.rails.iter().all(|rail| rail.parse::<IpAddr>().is_err()) => {
            search.by_nic(rails)
        }
        LibfabricProvider::Shm => search.without_source(rails),
        _ => search.by_address(rails),
    }?;
    Ok(Devices {
        library,
        wanted,
        rails,
    })
}

struct Search<'a> {
    library: &'a Arc<Library>,
    wanted: Wanted,
    config: &'a OpenConfig,
}

impl Search<'_> {
    /// Rails on NICs of their own, by name or in the order of their names.
    fn by_nic(&self, rails: usize) -> Result<Vec<Choice>, TransportError> {
        let found = self.ask(None)?;
        let offers: Vec<Offer> = found.iter().map(|(_, offer)| offer.clone()).collect();
        let chosen =
            choose(&offers, &self.config.rails, rails).map_err(|message| no_device("fi_getinfo", message))?;
        let mut found: Vec<_> = found.into_iter().map(Some).collect();
        let mut taken = Vec::with_capacity(rails);
        for index in chosen {
            // Each index comes once, so nothing is left out.
            taken.extend(found[index].take().map(|(info, offer)| Choice {
                info,
                offer,
                source: None,
            }));
        }
        Ok(taken)
    }

    /// Rails by source address; without addresses all rails share the library's first choice, for a rail over TCP
    /// is an endpoint, not a device.
    fn by_address(&self, rails: usize) -> Result<Vec<Choice>, TransportError> {
        (0..rails)
            .map(|rail| {
                let source = self
                    .config
                    .rails
                    .get(rail)
                    .map(|text| parse_address(rail, text))
                    .transpose()?;
                self.first(source)
            })
            .collect()
    }

    fn without_source(&self, rails: usize) -> Result<Vec<Choice>, TransportError> {
        if !self.config.rails.is_empty() {
            let message = "shm endpoints have neither address nor device: leave the rails' sources empty";
            return Err(refused("open", message.to_owned()));
        }
        (0..rails).map(|_| self.first(None)).collect()
    }

    fn first(&self, source: Option<IpAddr>) -> Result<Choice, TransportError> {
        let Some((info, offer)) = self.ask(source)?.into_iter().next() else {
            return Err(self.nothing(source));
        };
        Ok(Choice { info, offer, source })
    }

    /// Every usable offer of exactly the provider that was asked for; never an empty list.
    fn ask(&self, source: Option<IpAddr>) -> Result<Vec<(Info, Offer)>, TransportError> {
        let wishes = Wishes {
            inject_size: usize::try_from(self.config.inject_bytes.unwrap_or(0)).unwrap_or(usize::MAX),
            device_memory: self.config.device_memory,
        };
        let mut others = Vec::new();
        for hints in attempts(&self.wanted, wishes) {
            let (ours, relatives): (Vec<_>, Vec<_>) = self
                .request(&hints, source)?
                .into_iter()
                .partition(|(_, offer)| offer.is(&self.wanted));
            others.extend(
                relatives
                    .into_iter()
                    .map(|(_, offer)| format!("{} ({})", offer.provider, offer.fabric)),
            );
            if !ours.is_empty() {
                return self.deep_enough(ours, &hints, source);
            }
        }
        if others.is_empty() {
            return Err(self.nothing(source));
        }
        let message = format!(
            "asked for provider {} (in libfabric {}: {}{}), and the library returned only {}",
            self.wanted.provider.name(),
            self.library.identity().version,
            self.wanted.name,
            self.wanted
                .fabric
                .map(|fabric| format!(", fabric {fabric}"))
                .unwrap_or_default(),
            others.join(", ")
        );
        Err(mismatch("fi_getinfo", message))
    }

    /// The provider's own depth where that is enough, for a hint would replace it; else asks for more.
    fn deep_enough(
        &self,
        mut found: Vec<(Info, Offer)>,
        hints: &Hints,
        source: Option<IpAddr>,
    ) -> Result<Vec<(Info, Offer)>, TransportError> {
        let depth = self.config.depth;
        let shallow = |offer: &Offer| offer.transmit_depth < depth || offer.receive_depth < depth;
        if let Some((_, offer)) = found.iter().find(|(_, offer)| shallow(offer)) {
            let most = offer.transmit_depth.min(offer.receive_depth);
            let deeper = Hints {
                depth,
                ..hints.clone()
            };
            found = self.request(&deeper, source)?;
            found.retain(|(_, offer)| offer.is(&self.wanted) && !shallow(offer));
            if found.is_empty() {
                let message = format!(
                    "{depth} posts in flight wanted; an endpoint of {} takes {most} by itself and refuses more",
                    self.wanted.name
                );
                return Err(refused("fi_getinfo", message));
            }
        }
        for (_, offer) in &found {
            offer.check().map_err(|message| refused("fi_getinfo", message))?;
        }
        Ok(found)
    }

    fn request(&self, hints: &Hints, source: Option<IpAddr>) -> Result<Vec<(Info, Offer)>, TransportError> {
        let infos = ffi::request(self.library, hints, source).map_err(|e| on_rail(0, &e))?;
        Ok(infos
            .into_iter()
            .map(|info| {
                let offer = info.offer();
                (info, offer)
            })
            .collect())
    }

    fn nothing(&self, source: Option<IpAddr>) -> TransportError {
        let identity = self.library.identity();
        let providers: Vec<_> = self
            .library
            .providers()
            .unwrap_or_default()
            .into_iter()
            .map(|provider| provider.name)
            .collect();
        let filter = std::env::var("FI_PROVIDER").map(|v| format!(" (FI_PROVIDER={v} filters them)"));
        let message = format!(
            "no {}{}: libfabric {} at {} has the providers {}{}. {}",
            self.wanted.provider.name(),
            source.map(|address| format!(" at {address}")).unwrap_or_default(),
            identity.version,
            identity.path.display(),
            providers.join(", "),
            filter.unwrap_or_default(),
            advice(self.wanted.provider),
        );
        no_device("fi_getinfo", message)
    }
}

fn parse_address(rail: Rail, text: &str) -> Result<IpAddr, TransportError> {
    text.parse().map_err(|_| {
        refused(
            "open",
            format!("the source of rail {rail} must be an IP address, not {text:?}"),
        )
    })
}

/// What usually is the cause.
pub(super) fn advice(provider: LibfabricProvider) -> &'static str {
    match provider {
        LibfabricProvider::Efa | LibfabricProvider::EfaDirect => {
            "Needed: an instance type with EFA, the device in the container (resource vpc.amazonaws.com/efa, \
             /dev/infiniband), and a libfabric with the efa provider. Try: fi_info -p efa"
        }
        LibfabricProvider::Verbs => {
            "Needed: an RDMA device with an IP address, the device in the container (/dev/infiniband), and a libfabric \
             with the verbs provider. Try: fi_info -p verbs, ibv_devinfo"
        }
        LibfabricProvider::Shm => "Needed: a writable /dev/shm. Try: fi_info -p shm",
        LibfabricProvider::Tcp | LibfabricProvider::Net | LibfabricProvider::TcpRxm => {
            "Needed: an interface that is up and has the source address. Try: ip address; fi_info -p tcp"
        }
    }
}
