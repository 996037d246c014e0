//! Selects the transport type for a specification. Only this module chooses a transport at run time, and it never
//! replaces the requested transport with another. Performs no I/O.

use crds::record::FailureReason;
use crds::v1alpha1::TransportSpec;

use super::libfabric::{self, Libfabric};
use super::loopback::Loopback;
use super::nixl::Nixl;
use super::ucx::{self, Ucx};
use super::{Transport, TransportError};

/// Work that is generic over the transport type.
pub trait TransportVisitor {
    /// Result of the work.
    type Output;

    /// Performs the work with transport `T`.
    fn visit<T: Transport + 'static>(self) -> Self::Output;
}

/// One arm on one worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArmRank<'a> {
    /// Name of the arm.
    pub arm: &'a str,
    /// Rank of the worker.
    pub rank: u32,
}

/// Set of transports from which an instrument selects the transport for an arm.
pub trait TransportSelector {
    /// Calls `visitor` with the transport type that `spec` specifies for `arm`.
    ///
    /// # Errors
    /// `TransportNotCompiled` if the transport is not compiled into this binary.
    fn select<W: TransportVisitor>(
        &self,
        arm: ArmRank<'_>,
        spec: &TransportSpec,
        visitor: W,
    ) -> Result<W::Output, TransportError>;
}

/// Transports that are compiled into this binary.
#[derive(Clone, Copy, Debug, Default)]
pub struct BuiltInTransports;

impl TransportSelector for BuiltInTransports {
    fn select<W: TransportVisitor>(
        &self,
        _arm: ArmRank<'_>,
        spec: &TransportSpec,
        visitor: W,
    ) -> Result<W::Output, TransportError> {
        match spec {
            TransportSpec::Loopback(_) => Ok(visitor.visit::<Loopback>()),
            TransportSpec::Libfabric(_) => Ok(visitor.visit::<Libfabric>()),
            TransportSpec::Ucx(_) => Ok(visitor.visit::<Ucx>()),
            TransportSpec::Nixl(_) => Ok(visitor.visit::<Nixl>()),
            TransportSpec::Verbs(_) => Err(not_compiled(spec)),
        }
    }
}

/// Environment variables to set for an instrument process that uses `spec` with `peers` peers, with their values.
/// Variables that the user has already set are left unchanged.
pub fn required_environment(spec: &TransportSpec, peers: usize) -> Vec<(&'static str, String)> {
    match spec {
        TransportSpec::Libfabric(spec) => libfabric::required_environment(spec.provider, peers),
        // The UCX backend of NIXL loads its own copy of UCX.
        TransportSpec::Ucx(_) | TransportSpec::Nixl(_) => ucx::required_environment(),
        TransportSpec::Loopback(_) | TransportSpec::Verbs(_) => Vec::new(),
    }
}

fn not_compiled(spec: &TransportSpec) -> TransportError {
    TransportError {
        reason: FailureReason::TransportNotCompiled,
        operation: "selecting the transport",
        message: format!(
            "transport {} is not compiled into this runner: use fabricbench-runner-verbs, which contains it, or set \
             spec.transport to loopback, libfabric, ucx or nixl",
            spec.library()
        ),
    }
}
