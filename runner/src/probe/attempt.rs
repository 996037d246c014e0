//! Tries to open a transport or to allocate memory. Runs in a separate process. Performs I/O.

use std::sync::Arc;

use crds::record::CaseFailure;
use crds::v1alpha1::{MemoryKind, TransportSpec};

use super::Target;
use crate::instrument::select::{ArmRank, TransportSelector};
use crate::memory::Memory;
use crate::transport::OpenConfig;

/// Number of bytes to allocate: one huge page.
const MEMORY_BYTES: usize = 2 * 1024 * 1024;

/// Tries `target`, and returns a description of the transport or memory that it provides.
///
/// # Errors
/// Returns an error if the target is unavailable. The failure message gives the reason and a fix.
pub fn attempt(selector: &dyn TransportSelector, target: &Target) -> Result<String, CaseFailure> {
    match target {
        Target::Transport(spec) => open_transport(selector, spec, None),
        Target::TransportWithCuda(spec) => {
            let memory = Memory::allocate(MemoryKind::Cuda, MEMORY_BYTES)?;
            open_transport(selector, spec, Some(memory))
        }
        Target::Memory(kind) => allocate_memory(*kind),
    }
}

/// Opens the transport that `spec` specifies, and registers `memory` if it is not `None`.
fn open_transport(
    selector: &dyn TransportSelector,
    spec: &TransportSpec,
    memory: Option<Arc<Memory>>,
) -> Result<String, CaseFailure> {
    let config = OpenConfig {
        device_memory: memory.is_some(),
        ..OpenConfig::polled(spec.clone(), 16)
    };
    let at = ArmRank {
        arm: "probe",
        rank: 0,
    };
    let functions = selector.select(at, spec);
    let opened = functions.and_then(|functions| (functions.try_to_open)(&config, memory));
    opened.map_err(|error| CaseFailure {
        reason: error.reason,
        message: error.to_string(),
    })
}

fn allocate_memory(kind: MemoryKind) -> Result<String, CaseFailure> {
    let allocated = Memory::allocate(kind, MEMORY_BYTES)?;
    let node = allocated
        .numa_node()
        .map(|node| format!(" on NUMA node {node}"))
        .unwrap_or_default();
    Ok(format!("{} bytes{node}", allocated.length()))
}
