//! Libraries and transports that are measured.

use crds::v1alpha1::{
    Libfabric, LibfabricProvider, TransportSpec, Ucx, UcxAllocation, UcxEmulation, UcxTransport,
};

/// A library with one transport on this machine.
#[derive(Clone, Copy)]
pub enum Fabric {
    Libfabric(LibfabricProvider),
    Ucx(UcxTransport),
}

pub const LIBFABRIC: [Fabric; 2] = [
    Fabric::Libfabric(LibfabricProvider::Tcp),
    Fabric::Libfabric(LibfabricProvider::Shm),
];
pub const UCX: [Fabric; 2] = [Fabric::Ucx(UcxTransport::Tcp), Fabric::Ucx(UcxTransport::Sm)];

impl Fabric {
    /// Specification for the runner.
    pub fn spec(self) -> TransportSpec {
        match self {
            Self::Libfabric(provider) => TransportSpec::Libfabric(Libfabric { provider, rails: 1 }),
            Self::Ucx(transport) => TransportSpec::Ucx(Ucx {
                emulation: UcxEmulation::Allow,
                // ucx_perftest also uses memory that UCX allocates.
                allocation: UcxAllocation::Library,
                ..Ucx::new(vec![transport], 1)
            }),
        }
    }

    /// Source address of each rail; empty for shared memory.
    pub fn rails(self) -> Vec<String> {
        match self.spec().uses_nics() {
            true => vec!["127.0.0.1".to_owned()],
            false => Vec::new(),
        }
    }
}
