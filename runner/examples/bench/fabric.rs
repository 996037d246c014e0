//! Libraries and transports to measure.

use crds::v1alpha1::{
    Libfabric, LibfabricProvider, MemoryKind, Nixl, NixlBackend, NixlParameter, TransportSpec, Ucx,
    UcxAllocation, UcxEmulation, UcxMessages, UcxSetting, UcxTransport, UcxWriteCompletion,
};

/// Environment variable with which the C library fills heap memory when it is allocated. ucx_perftest never writes to its
/// send buffer. Without pages of its own, such a buffer would be read from the kernel's page of zeros, which stays in the
/// cache. The runner gets the variable as well, because it also slows down the allocations that UCX makes for messages.
pub const FILL_HEAP: (&str, &str) = ("GLIBC_TUNABLES", "glibc.malloc.perturb=1");

/// A library with one transport on this machine.
#[derive(Clone, Copy)]
pub enum Fabric {
    Libfabric(LibfabricProvider),
    /// UCX, with the API that transfers its messages.
    Ucx(UcxTransport, UcxMessages),
    /// NIXL's UCX backend over tcp.
    Nixl,
}

pub const LIBFABRIC: [Fabric; 2] = [
    Fabric::Libfabric(LibfabricProvider::Tcp),
    Fabric::Libfabric(LibfabricProvider::Shm),
];
pub const UCX: [Fabric; 2] = ucx(UcxMessages::Tag);
pub const UCX_ACTIVE_MESSAGES: [Fabric; 2] = ucx(UcxMessages::ActiveMessage);

const fn ucx(messages: UcxMessages) -> [Fabric; 2] {
    [
        Fabric::Ucx(UcxTransport::Tcp, messages),
        Fabric::Ucx(UcxTransport::Sm, messages),
    ]
}

impl Fabric {
    /// Transport specification for the runner, for transfers of `memory`.
    pub fn spec(self, memory: MemoryKind) -> TransportSpec {
        match self {
            Self::Libfabric(provider) => TransportSpec::Libfabric(Libfabric { provider, rails: 1 }),
            Self::Nixl => TransportSpec::Nixl(Nixl {
                // The runner adds the rail's interface.
                parameters: vec![NixlParameter {
                    name: "engine_config".to_owned(),
                    value: "TLS=tcp".to_owned(),
                }],
                ..Nixl::new(NixlBackend::Ucx, 1)
            }),
            Self::Ucx(transport, messages) => TransportSpec::Ucx(Ucx {
                messages,
                emulation: UcxEmulation::Allow,
                // ucx_perftest counts local completions of its puts, and flushes once at the end.
                write_completion: UcxWriteCompletion::Local,
                // ucx_perftest also uses host memory that UCX allocates. The runner allocates GPU memory itself.
                allocation: match memory {
                    MemoryKind::Cuda => UcxAllocation::Caller,
                    _ => UcxAllocation::Library,
                },
                settings: self.allocation_method(memory).map_or_else(Vec::new, |method| {
                    vec![UcxSetting {
                        name: "ALLOC_PRIO".to_owned(),
                        value: method.to_owned(),
                    }]
                }),
                ..Ucx::new(ucx_transports(transport, memory), 1)
            }),
        }
    }

    /// Method with which UCX allocates `memory` (`UCX_ALLOC_PRIO`); `None` for UCX's default. Over tcp, both tools use the
    /// heap, because the C library can fill it (see [`FILL_HEAP`]).
    pub fn allocation_method(self, memory: MemoryKind) -> Option<&'static str> {
        let is_tcp = matches!(self, Self::Ucx(UcxTransport::Tcp, _));
        (is_tcp && memory != MemoryKind::Cuda).then_some("heap")
    }

    /// Source address of each rail; empty for shared memory.
    pub fn rails(self) -> Vec<String> {
        match self.uses_network() {
            true => vec!["127.0.0.1".to_owned()],
            false => Vec::new(),
        }
    }

    /// Whether the data passes through a network interface.
    pub fn uses_network(self) -> bool {
        self.spec(MemoryKind::Heap).uses_nics()
    }
}

/// UCX transports for transfers of `memory` over `transport`. GPU memory also needs a transport that copies it, and two
/// processes of one machine can copy each other's GPU memory directly.
pub fn ucx_transports(transport: UcxTransport, memory: MemoryKind) -> Vec<UcxTransport> {
    match (memory, transport) {
        (MemoryKind::Cuda, UcxTransport::Sm) => {
            vec![transport, UcxTransport::CudaCopy, UcxTransport::CudaIpc]
        }
        (MemoryKind::Cuda, _) => vec![transport, UcxTransport::CudaCopy],
        _ => vec![transport],
    }
}
