//! Adds verbs to the built-in transports.

use crate::Verbs;
use crds::v1alpha1::TransportSpec;
use runner::transport::TransportError;
use runner::transport::select::{ArmRank, BuiltInTransports, TransportSelector, TransportVisitor};

/// The built-in transports and verbs.
#[derive(Clone, Copy, Debug, Default)]
pub struct WithVerbs;

impl TransportSelector for WithVerbs {
    fn select<W: TransportVisitor>(
        &self,
        arm: ArmRank<'_>,
        spec: &TransportSpec,
        visitor: W,
    ) -> Result<W::Output, TransportError> {
        match spec {
            TransportSpec::Verbs(_) => Ok(visitor.visit::<Verbs>()),
            other => BuiltInTransports.select(arm, other, visitor),
        }
    }
}
