//! Library and provider that transfer the data.

mod libfabric;
mod nixl;
mod rails;
mod ucx;
mod ucx_transport;
mod verbs;

use serde::{Deserialize, Serialize};

pub use libfabric::{Libfabric, LibfabricProvider};
pub use nixl::{Nixl, NixlBackend, NixlDescriptors, NixlParameter, NixlRequests};
pub use ucx::{
    Ucx, UcxAllocation, UcxEmulation, UcxErrorHandling, UcxMessages, UcxPreset, UcxSetting,
    UcxWriteCompletion,
};
pub use ucx_transport::{UcxTransport, readers_of_variable, tls_value, unrequested_lane, uses_memory_lane};
pub use verbs::{Verbs, VerbsSignaling};

use rails::default_rails;

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
    /// NIXL, with one of its backend plugins.
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

    /// Whether the library allocates the payload memory.
    pub fn allocates_memory(&self) -> bool {
        matches!(self, Self::Ucx(ucx) if ucx.allocation == UcxAllocation::Library)
    }

    /// Whether a write completes when its source memory can be reused, before its data has arrived.
    pub fn completes_writes_locally(&self) -> bool {
        matches!(self, Self::Ucx(ucx) if ucx.write_completion == UcxWriteCompletion::Local)
    }

    /// Whether each rail uses an EFA device.
    pub fn uses_efa(&self) -> bool {
        use LibfabricProvider::{Efa, EfaDirect};
        matches!(self, Self::Libfabric(libfabric) if matches!(libfabric.provider, Efa | EfaDirect))
    }

    /// Whether each rail uses an IP address.
    pub fn uses_ip(&self) -> bool {
        use LibfabricProvider::{Net, Tcp, TcpRxm};
        match self {
            Self::Libfabric(libfabric) => matches!(libfabric.provider, Tcp | Net | TcpRxm),
            Self::Ucx(ucx) => ucx.uses(UcxTransport::Tcp) && !ucx.uses_rdma() && !ucx.uses_all(),
            // The library chooses the devices, unless rail sources name them.
            Self::Loopback(_) | Self::Nixl(_) | Self::Verbs(_) => false,
        }
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
            Self::Ucx(ucx) => ucx.uses_network(),
            Self::Nixl(_) | Self::Verbs(_) => true,
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
