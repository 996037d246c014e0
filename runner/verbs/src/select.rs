//! Adds verbs to the built-in transports.

use crate::Verbs;
use crds::v1alpha1::TransportSpec;
use runner::instrument::select::{ArmRank, BuiltInTransports, TransportFunctions, TransportSelector};
use runner::transport::TransportError;

/// The built-in transports and verbs.
#[derive(Clone, Copy, Debug, Default)]
pub struct WithVerbs;

impl TransportSelector for WithVerbs {
    fn select(&self, arm: ArmRank<'_>, spec: &TransportSpec) -> Result<TransportFunctions, TransportError> {
        match spec {
            TransportSpec::Verbs(_) => Ok(TransportFunctions::for_transport::<Verbs>()),
            other => BuiltInTransports.select(arm, other),
        }
    }
}
