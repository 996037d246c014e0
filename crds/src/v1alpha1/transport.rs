//! Library and provider that transfer the data.

use serde::{Deserialize, Serialize};

/// Library that transfers the data. Exactly one must be set. fabricbench never falls back to another library.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum TransportSpec {
    /// Built-in transport over shared memory between processes on the same machine, for tests.
    Loopback(Loopback),
    /// libfabric, loaded at run time.
    Libfabric(Libfabric),
    /// UCX (UCP), loaded at run time.
    Ucx(Ucx),
    /// NIXL agents.
    Nixl(Nixl),
    /// ibverbs, used directly.
    Verbs(Verbs),
}

impl TransportSpec {
    /// Name of the library in manifests.
    pub fn library(&self) -> &'static str {
        match self {
            Self::Loopback(_) => "loopback",
            Self::Libfabric(_) => "libfabric",
            Self::Ucx(_) => "ucx",
            Self::Nixl(_) => "nixl",
            Self::Verbs(_) => "verbs",
        }
    }

    /// Number of endpoints per worker over which a transfer can be striped.
    pub fn rails(&self) -> u32 {
        match self {
            Self::Loopback(Loopback { rails })
            | Self::Libfabric(Libfabric { rails, .. })
            | Self::Ucx(Ucx { rails, .. })
            | Self::Nixl(Nixl { rails, .. })
            | Self::Verbs(Verbs { rails, .. }) => *rails,
        }
    }

    /// Whether each rail uses an EFA device.
    pub fn uses_efa(&self) -> bool {
        use LibfabricProvider::{Efa, EfaDirect};
        matches!(self, Self::Libfabric(libfabric) if matches!(libfabric.provider, Efa | EfaDirect))
    }

    /// Whether each rail uses an IP address.
    pub fn uses_ip(&self) -> bool {
        use LibfabricProvider::{Net, Tcp, TcpRxm};
        matches!(self, Self::Libfabric(libfabric) if matches!(libfabric.provider, Tcp | Net | TcpRxm))
    }

    /// Whether rails use RDMA devices, whose hardware counters the kernel caches.
    pub fn uses_rdma_devices(&self) -> bool {
        self.uses_nics() && !self.uses_ip()
    }

    /// Whether rails use NICs. Rails over shared memory do not.
    pub fn uses_nics(&self) -> bool {
        match self {
            Self::Loopback(_) => false,
            Self::Libfabric(libfabric) => libfabric.provider != LibfabricProvider::Shm,
            Self::Ucx(_) | Self::Nixl(_) | Self::Verbs(_) => true,
        }
    }
}

/// Built-in shared memory transport.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Loopback {
    /// Number of rails. Defaults to 1.
    #[serde(default = "default_rails")]
    #[cfg_attr(feature = "crd", schemars(range(min = 1, max = 64)))]
    pub rails: u32,
}

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

/// UCX with a list of allowed transports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Ucx {
    /// Transports that UCX may use (`UCX_TLS`).
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 8)))]
    pub transports: Vec<UcxTransport>,
    /// Number of rails. Defaults to 1.
    #[serde(default = "default_rails")]
    #[cfg_attr(feature = "crd", schemars(range(min = 1, max = 64)))]
    pub rails: u32,
}

/// UCX transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "UCX's own names")]
pub enum UcxTransport {
    Tcp,
    Sm,
    Rc,
    Ud,
    Dc,
    CudaCopy,
    CudaIpc,
}

/// NIXL agents with one backend.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Nixl {
    /// Backend plugin that transfers the data.
    pub backend: NixlBackend,
    /// Number of rails. Defaults to 1.
    #[serde(default = "default_rails")]
    #[cfg_attr(feature = "crd", schemars(range(min = 1, max = 64)))]
    pub rails: u32,
}

/// NIXL backend plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "UPPERCASE")]
#[allow(missing_docs, reason = "NIXL's own names")]
pub enum NixlBackend {
    Ucx,
    Libfabric,
}

/// ibverbs reliable connections.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Verbs {
    /// Number of rails. Each rail is one queue pair on a separate NIC. Defaults to 1.
    #[serde(default = "default_rails")]
    #[cfg_attr(feature = "crd", schemars(range(min = 1, max = 64)))]
    pub rails: u32,
}

fn default_rails() -> u32 {
    1
}
