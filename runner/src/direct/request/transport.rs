//! Library and transports that a client requests. Performs no I/O.

use crds::v1alpha1::{Libfabric, LibfabricProvider, TransportSpec, Ucx, UcxTransport};
use serde::{Deserialize, Serialize};

use super::bounds::{self, RequestError, check_within};

/// Library and transports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum RequestedTransport {
    /// UCX.
    Ucx {
        /// Transports that UCX may use.
        transports: Vec<UcxTransport>,
        /// Number of rails.
        rails: u32,
    },
    /// libfabric.
    Libfabric {
        /// Provider.
        provider: LibfabricProvider,
        /// Number of rails.
        rails: u32,
    },
}

impl RequestedTransport {
    /// Transport of the Starway benchmark suite if neither `--tls` nor `UCX_TLS` is set: UCX chooses.
    pub fn suite_default(rails: u32) -> Self {
        Self::Ucx {
            transports: vec![UcxTransport::All],
            rails,
        }
    }

    /// Transport of a segment if no flag selects one. It is the same on every machine, so that the two roles always
    /// agree, and it needs no device.
    pub fn segment_default(rails: u32) -> Self {
        Self::Libfabric {
            provider: LibfabricProvider::Tcp,
            rails,
        }
    }

    /// Library and provider as a transport spec, with default settings.
    pub fn spec(&self) -> TransportSpec {
        match self {
            Self::Ucx { transports, rails } => TransportSpec::Ucx(Ucx::new(transports.clone(), *rails)),
            Self::Libfabric { provider, rails } => TransportSpec::Libfabric(Libfabric {
                provider: *provider,
                rails: *rails,
            }),
        }
    }

    /// The flag that selects the transport and its value, such as `--tls rc,sm` or `--provider tcp`.
    pub fn flag(&self) -> String {
        match self {
            Self::Ucx { transports, .. } => format!("--tls {}", transport_names(transports)),
            Self::Libfabric { provider, .. } => format!("--provider {}", provider.name()),
        }
    }

    /// Whether `other` selects the same library and transports, in any order.
    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Ucx { transports: own, .. }, Self::Ucx { transports, .. }) => {
                own.iter().all(|transport| transports.contains(transport))
                    && transports.iter().all(|transport| own.contains(transport))
            }
            (Self::Libfabric { provider: own, .. }, Self::Libfabric { provider, .. }) => own == provider,
            _ => false,
        }
    }

    /// Number of rails.
    pub fn rails(&self) -> u32 {
        match self {
            Self::Ucx { rails, .. } | Self::Libfabric { rails, .. } => *rails,
        }
    }

    /// Checks the bounds of the transport, and that it is the same as `accepted`. `None` accepts every transport.
    ///
    /// # Errors
    /// Returns an error for the first value that is out of bounds or not accepted.
    pub(super) fn check(&self, accepted: Option<&Self>) -> Result<(), RequestError> {
        check_within("--rails", self.rails(), bounds::RAILS)?;
        if let Self::Ucx { transports, .. } = self {
            check_within("--tls", transports.len() as u64, 1..=8)
                .map_err(|_| RequestError::new("--tls", "is empty or too long: specify 1 to 8 transports"))?;
        }
        match accepted {
            Some(accepted) if !accepted.is_same(self) => Err(RequestError::new(
                "the transport",
                format!(
                    "is `{}`, but the server uses `{}`: start both sides with the same flag",
                    self.flag(),
                    accepted.flag()
                ),
            )),
            _ => Ok(()),
        }
    }
}

/// Names of `transports`, in the format of `UCX_TLS`.
pub fn transport_names(transports: &[UcxTransport]) -> String {
    let names: Vec<_> = transports.iter().map(|transport| transport.name()).collect();
    names.join(",")
}
