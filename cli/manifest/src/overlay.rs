//! Overlays, which adapt a run to other hardware. Performs no I/O.

use crds::v1alpha1::{Alignment, BenchmarkRunSpec, Devices, MemoryKind, Resources, TransportSpec};
use serde::Deserialize;

/// Fields that adapt a run to other hardware: the transport, the memory of all scenarios, the devices with their
/// alignment, and the resources. Each field replaces the entire value in the run. Variants, sizes and sampling do not
/// change.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Overlay {
    /// Replaces `spec.transport`.
    #[serde(default)]
    pub transport: Option<TransportSpec>,
    /// Replaces `spec.scenarios[].memory`, and removes `spec.scenarios[].targetMemory`.
    #[serde(default)]
    pub memory: Option<MemoryKind>,
    /// Replaces `spec.devices`.
    #[serde(default)]
    pub devices: Option<Devices>,
    /// Replaces `spec.placement.align`.
    #[serde(default)]
    pub align: Option<Alignment>,
    /// Replaces `spec.resources`.
    #[serde(default)]
    pub resources: Option<Resources>,
}

impl Overlay {
    /// Whether the overlay sets the field `path`, or a field around it.
    pub fn replaces(&self, path: &str) -> bool {
        let is_below = |root: &str| {
            path.strip_prefix(root)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        };
        let is_memory = path.starts_with("spec.scenarios[")
            && (path.ends_with("].memory") || path.ends_with("].targetMemory"));
        self.transport.is_some() && is_below("spec.transport")
            || self.memory.is_some() && is_memory
            || self.devices.is_some() && is_below("spec.devices")
            || self.align.is_some() && is_below("spec.placement.align")
            || self.resources.is_some() && is_below("spec.resources")
    }

    /// Whether a problem at `path` can result from a field of the overlay and a field of a variant together.
    pub fn conflicts_with(&self, path: &str) -> bool {
        let is_of_variant = |field: &str| path.starts_with("spec.variants[") && path.contains(field);
        self.transport.is_some() && is_of_variant("].transport")
            || self.resources.is_some() && is_of_variant("].claims")
    }

    /// Applies the overlay to `spec`.
    pub fn apply(&self, spec: &mut BenchmarkRunSpec) {
        if let Some(transport) = &self.transport {
            spec.transport = transport.clone();
        }
        if let Some(memory) = self.memory {
            for scenario in &mut spec.scenarios {
                scenario.memory = memory;
                scenario.target_memory = None;
                if let Some(segment) = &mut scenario.segment_transfer {
                    segment.use_vram = false;
                }
            }
        }
        if let Some(devices) = &self.devices {
            spec.devices = devices.clone();
        }
        if let Some(align) = self.align {
            spec.placement.align = align;
        }
        if let Some(resources) = &self.resources {
            spec.resources = resources.clone();
        }
    }
}
