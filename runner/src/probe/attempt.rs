//! Tries to open a transport or to allocate memory. Runs in a separate process. Performs I/O.

use std::sync::Arc;

use crds::record::CaseFailure;
use crds::v1alpha1::{MemoryKind, TransportSpec};

use super::Target;
use crate::memory::Memory;
use crate::transport::select::{ArmRank, TransportSelector, TransportVisitor};
use crate::transport::{OpenConfig, Region, Transport, TransportError};

/// Number of bytes to allocate: one huge page.
const MEMORY_BYTES: usize = 2 * 1024 * 1024;

/// Tries `target`, and describes the transport or memory that it provides.
///
/// # Errors
/// Fails if the target is unavailable. The failure contains the reason and a remedy.
pub fn attempt(selector: &impl TransportSelector, target: &Target) -> Result<String, CaseFailure> {
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
    selector: &impl TransportSelector,
    spec: &TransportSpec,
    memory: Option<Arc<Memory>>,
) -> Result<String, CaseFailure> {
    struct Open(OpenConfig, Option<Arc<Memory>>);
    impl TransportVisitor for Open {
        type Output = Result<String, TransportError>;

        fn visit<T: Transport + 'static>(self) -> Self::Output {
            let mut transport = T::open(&self.0)?;
            let region = self.1.map(|memory| transport.register(memory)).transpose()?;
            let registered =
                region.map(|region| format!(", memory registered with {}", region.registration_method()));
            let facts = transport.facts();
            let library = facts
                .library
                .as_ref()
                .map(|library| format!("{} {} ({}), ", library.name, library.version, library.path));
            let domains: Vec<_> = facts.rails.iter().map(|rail| rail.domain.as_str()).collect();
            Ok(format!(
                "{}provider {}, domain {}, inject {} B{}",
                library.unwrap_or_default(),
                facts.provider,
                domains.join(" "),
                facts.inject_limits.send_bytes,
                registered.unwrap_or_default()
            ))
        }
    }
    let config = OpenConfig {
        spec: spec.clone(),
        rails: Vec::new(),
        library: None,
        inject_bytes: None,
        depth: 16,
        uses_wait: false,
        device_memory: memory.is_some(),
        location: None,
        rank: 0,
        peers: 1,
        counts_protocols: false,
    };
    let at = ArmRank {
        arm: "probe",
        rank: 0,
    };
    let opened = selector
        .select(at, spec, Open(config, memory))
        .and_then(|opened| opened);
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
