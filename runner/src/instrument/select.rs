//! Selects the transport type for a specification. Only this module chooses a transport at run time, and it never
//! replaces the requested transport with another. Performs no I/O.

use std::sync::Arc;

use crds::record::FailureReason;
use crds::v1alpha1::TransportSpec;

use super::arm::Arm;
use super::open_arm::{OpenArm, open_arm};
use crate::memory::Memory;
use crate::transport::libfabric::Libfabric;
use crate::transport::loopback::Loopback;
use crate::transport::nixl::Nixl;
use crate::transport::try_to_open::try_to_open;
use crate::transport::ucx::Ucx;
use crate::transport::{OpenConfig, Transport, TransportError};

/// One arm on one worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArmRank<'a> {
    /// Arm name.
    pub arm: &'a str,
    /// Worker rank.
    pub rank: u32,
}

/// The functions of an instrument that depend on the transport type. A selector returns functions instead of taking a
/// generic visitor, so that the scenarios are compiled only once for each built-in transport, in this crate, rather
/// than in each binary.
#[derive(Clone, Copy)]
pub struct TransportFunctions {
    pub(super) load: fn(&OpenConfig) -> Result<(), TransportError>,
    pub(super) open: for<'a> fn(OpenArm<'a>) -> Result<Box<dyn Arm>, TransportError>,
    /// Opens the transport, registers the memory if it is not `None`, and describes the transport.
    pub try_to_open: fn(&OpenConfig, Option<Arc<Memory>>) -> Result<String, TransportError>,
}

impl TransportFunctions {
    /// Returns the functions of transport `T`.
    pub fn for_transport<T: Transport + 'static>() -> Self {
        Self {
            load: T::load,
            open: open_arm::<T>,
            try_to_open: try_to_open::<T>,
        }
    }
}

/// Set of transports from which an instrument selects the transport for an arm.
pub trait TransportSelector {
    /// Returns the functions of the transport that `spec` specifies for `arm`.
    ///
    /// # Errors
    /// Returns `TransportNotCompiled` if the transport is not compiled into this binary.
    fn select(&self, arm: ArmRank<'_>, spec: &TransportSpec) -> Result<TransportFunctions, TransportError>;
}

/// Transports that are compiled into this binary.
#[derive(Clone, Copy, Debug, Default)]
pub struct BuiltInTransports;

impl TransportSelector for BuiltInTransports {
    fn select(&self, _arm: ArmRank<'_>, spec: &TransportSpec) -> Result<TransportFunctions, TransportError> {
        match spec {
            TransportSpec::Loopback(_) => Ok(TransportFunctions::for_transport::<Loopback>()),
            TransportSpec::Libfabric(_) => Ok(TransportFunctions::for_transport::<Libfabric>()),
            TransportSpec::Ucx(_) => Ok(TransportFunctions::for_transport::<Ucx>()),
            TransportSpec::Nixl(_) => Ok(TransportFunctions::for_transport::<Nixl>()),
            TransportSpec::Verbs(_) => Err(not_compiled(spec)),
        }
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
