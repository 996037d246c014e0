//! The one dynamic choice: from a specification to a transport's type. Nothing is ever chosen instead of something
//! else.

use crds::record::FailureReason;
use crds::v1alpha1::TransportSpec;

use super::libfabric::{self, Libfabric};
use super::loopback::Loopback;
use super::{Transport, TransportError};

/// Something that is done with a transport, whichever it is.
pub trait WithTransport {
    /// What comes of it.
    type Output;

    /// Does it with transport `T`.
    fn with<T: Transport + 'static>(self) -> Self::Output;
}

/// Whose transport is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArmAt<'a> {
    /// Name of the arm.
    pub arm: &'a str,
    /// Rank of the worker.
    pub rank: u32,
}

/// How an instrument finds the transport of an arm.
pub trait TransportChoice {
    /// Does `work` with the transport that `spec` names, for the arm and worker `at`.
    ///
    /// # Errors
    /// `NotCompiled` when this program has no such transport.
    fn choose<W: WithTransport>(
        &self,
        at: ArmAt<'_>,
        spec: &TransportSpec,
        work: W,
    ) -> Result<W::Output, TransportError>;
}

/// The transports of this program.
#[derive(Clone, Copy, Debug, Default)]
pub struct BuiltIn;

impl TransportChoice for BuiltIn {
    fn choose<W: WithTransport>(
        &self,
        _at: ArmAt<'_>,
        spec: &TransportSpec,
        work: W,
    ) -> Result<W::Output, TransportError> {
        match spec {
            TransportSpec::Loopback(_) => Ok(work.with::<Loopback>()),
            TransportSpec::Libfabric(_) => Ok(work.with::<Libfabric>()),
            TransportSpec::Ucx(_) | TransportSpec::Nixl(_) | TransportSpec::Verbs(_) => {
                Err(not_compiled(spec))
            }
        }
    }
}

/// Variables, with their values, that an instrument process must be started with for `spec` and `peers` peers, unless
/// its user has set them.
pub fn required_environment(spec: &TransportSpec, peers: usize) -> Vec<(&'static str, String)> {
    match spec {
        TransportSpec::Libfabric(spec) => libfabric::required_environment(spec.provider, peers),
        _ => Vec::new(),
    }
}

fn not_compiled(spec: &TransportSpec) -> TransportError {
    TransportError {
        reason: FailureReason::NotCompiled,
        operation: "choosing the transport",
        message: format!(
            "this runner has no transport {}; it has loopback and libfabric. Set spec.transport to one of these",
            spec.library()
        ),
    }
}
