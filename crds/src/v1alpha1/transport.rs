//! The library and provider that carry the bytes.

use serde::{Deserialize, Serialize};

/// Exactly one library. None is ever substituted for another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum TransportSpec {
    /// No library: shared memory between processes of one machine, for tests of everything above it.
    Loopback(Loopback),
    /// libfabric, opened at run time.
    Libfabric(Libfabric),
    /// UCX (UCP), opened at run time.
    Ucx(Ucx),
    /// NIXL agents.
    Nixl(Nixl),
    /// ibverbs directly.
    Verbs(Verbs),
}

impl TransportSpec {
    /// Name of the library, as it is written in a manifest.
    pub fn library(&self) -> &'static str {
        match self {
            Self::Loopback(_) => "loopback",
            Self::Libfabric(_) => "libfabric",
            Self::Ucx(_) => "ucx",
            Self::Nixl(_) => "nixl",
            Self::Verbs(_) => "verbs",
        }
    }

    /// Endpoints a transfer can be spread over, at each worker.
    pub fn rails(&self) -> u32 {
        match self {
            Self::Loopback(Loopback { rails })
            | Self::Libfabric(Libfabric { rails, .. })
            | Self::Ucx(Ucx { rails, .. })
            | Self::Nixl(Nixl { rails, .. })
            | Self::Verbs(Verbs { rails, .. }) => *rails,
        }
    }
}

/// The built-in transport.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Loopback {
    /// Number of rails.
    #[serde(default = "one_rail")]
    #[cfg_attr(feature = "crd", schemars(range(min = 1, max = 64)))]
    pub rails: u32,
}

/// libfabric with one of its providers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Libfabric {
    /// Provider, by its name in libfabric 2.x.
    pub provider: LibfabricProvider,
    /// Number of rails: one endpoint each, on a NIC of its own where the fabric has NICs.
    #[serde(default = "one_rail")]
    #[cfg_attr(feature = "crd", schemars(range(min = 1, max = 64)))]
    pub rails: u32,
}

/// Providers of libfabric, as asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
pub enum LibfabricProvider {
    /// Native TCP; before 1.18 the library calls it `net`.
    #[serde(rename = "tcp")]
    Tcp,
    /// The name `net` itself, which only releases before 1.18 have.
    #[serde(rename = "net")]
    Net,
    /// TCP messages under the reliable-datagram layer.
    #[serde(rename = "tcp;ofi_rxm")]
    TcpRxm,
    /// Shared memory of one host.
    #[serde(rename = "shm")]
    Shm,
    /// InfiniBand, RoCE and iWARP under the reliable-datagram layer.
    #[serde(rename = "verbs;ofi_rxm", alias = "verbs")]
    Verbs,
    /// AWS EFA with the provider's own protocol.
    #[serde(rename = "efa")]
    Efa,
    /// AWS EFA without a software protocol above the device.
    #[serde(rename = "efa-direct")]
    EfaDirect,
}

impl LibfabricProvider {
    /// The name as it is written in a manifest.
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

/// UCX with its transports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Ucx {
    /// What may carry the bytes (`UCX_TLS`).
    #[cfg_attr(feature = "crd", schemars(length(min = 1, max = 8)))]
    pub transports: Vec<UcxTransport>,
    /// Number of rails.
    #[serde(default = "one_rail")]
    #[cfg_attr(feature = "crd", schemars(range(min = 1, max = 64)))]
    pub rails: u32,
}

/// Transports of UCX.
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
    /// The plug-in that carries the bytes.
    pub backend: NixlBackend,
    /// Number of rails.
    #[serde(default = "one_rail")]
    #[cfg_attr(feature = "crd", schemars(range(min = 1, max = 64)))]
    pub rails: u32,
}

/// Plug-ins of NIXL.
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
    /// Number of rails: one queue pair each, on a NIC of its own.
    #[serde(default = "one_rail")]
    #[cfg_attr(feature = "crd", schemars(range(min = 1, max = 64)))]
    pub rails: u32,
}

fn one_rail() -> u32 {
    1
}
