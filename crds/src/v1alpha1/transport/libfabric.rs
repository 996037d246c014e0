//! libfabric with one provider.

use serde::{Deserialize, Serialize};

use super::rails::default_rails;

/// libfabric with one provider.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Libfabric {
    /// Name of the provider in libfabric 2.x.
    pub provider: LibfabricProvider,
    /// Number of rails. Each rail is one endpoint, on a separate NIC if the fabric has NICs. Defaults to 1.
    #[serde(default = "default_rails")]
    #[cfg_attr(feature = "crd", schemars(range(min = 1, max = 64)))]
    pub rails: u32,
}

/// libfabric provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
pub enum LibfabricProvider {
    /// Native TCP. This provider is called `net` in libfabric versions before 1.18.
    #[serde(rename = "tcp")]
    Tcp,
    /// Native TCP under the name `net`, which exists only in libfabric versions before 1.18.
    #[serde(rename = "net")]
    Net,
    /// Reliable-datagram layer over TCP message endpoints.
    #[serde(rename = "tcp;ofi_rxm")]
    TcpRxm,
    /// Shared memory between processes on the same host.
    #[serde(rename = "shm")]
    Shm,
    /// Reliable-datagram layer over verbs message endpoints on InfiniBand, RoCE or iWARP.
    #[serde(rename = "verbs;ofi_rxm", alias = "verbs")]
    Verbs,
    /// AWS EFA with the provider's software protocol.
    #[serde(rename = "efa")]
    Efa,
    /// AWS EFA without a software protocol on top of the device.
    #[serde(rename = "efa-direct")]
    EfaDirect,
}

impl LibfabricProvider {
    /// All providers.
    pub const ALL: [Self; 7] = [
        Self::Tcp,
        Self::Net,
        Self::TcpRxm,
        Self::Shm,
        Self::Verbs,
        Self::Efa,
        Self::EfaDirect,
    ];

    /// Name of the provider in manifests.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Net => "net",
            Self::TcpRxm => "tcp;ofi_rxm",
            Self::Shm => "shm",
            Self::Verbs => "verbs;ofi_rxm",
            Self::Efa => "efa",
            Self::EfaDirect => "efa-direct",
        }
    }
}
