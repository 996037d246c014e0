//! An overlay: the same run on other hardware.

use crds::v1alpha1::{BenchmarkRunSpec, MemoryKind, Resources, TransportSpec};
use serde::Deserialize;

/// What may change where a run moves to other hardware: the transport, the memory of all scenarios, and the resources.
/// Each replaces the run's value as a whole. What is compared, at which sizes and how often stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Overlay {
    /// Replaces `spec.transport`.
    #[serde(default)]
    pub transport: Option<TransportSpec>,
    /// Replaces `spec.scenarios[].memory`.
    #[serde(default)]
    pub memory: Option<MemoryKind>,
    /// Replaces `spec.resources`.
    #[serde(default)]
    pub resources: Option<Resources>,
}

impl Overlay {
    /// Lays the overlay over `spec`.
    pub fn apply(&self, spec: &mut BenchmarkRunSpec) {
        if let Some(transport) = &self.transport {
            spec.transport = transport.clone();
        }
        if let Some(memory) = self.memory {
            for scenario in &mut spec.scenarios {
                scenario.memory = memory;
            }
        }
        if let Some(resources) = &self.resources {
            spec.resources = resources.clone();
        }
    }
}
