//! Registers memory with every agent.

use super::Nixl;
use super::error::{rail_refused, refused};
use super::ffi::{RailRegion, RegisteredRange};
use super::rules::packing::pack_region;
use crate::memory::Memory;
use crate::transport::{Region, RemoteRegion, TransportError};
use std::sync::Arc;

/// Memory that is registered with every agent.
///
/// After a region is dropped, its memory stays allocated and registered until the agents are destroyed, because a peer
/// may write to it until then. The agents exist while a region exists.
pub struct NixlRegion {
    memory: Arc<Memory>,
    rails: Vec<RailRegion>,
}

impl NixlRegion {
    /// Range of the region on one rail; `None` if the rail does not exist or the range extends beyond the region.
    #[inline]
    pub(super) fn range(&self, rail: usize, offset: u64, length: u64) -> Option<RegisteredRange<'_>> {
        self.rails.get(rail)?.range(offset, length)
    }
}

impl Region for NixlRegion {
    fn remote(&self) -> RemoteRegion {
        RemoteRegion {
            rails: self.rails.iter().map(|rail| rail.remote().clone()).collect(),
            length: self.memory.length() as u64,
        }
    }

    fn memory(&self) -> &Arc<Memory> {
        &self.memory
    }

    fn registration_method(&self) -> &'static str {
        "registerMem"
    }
}

/// Most common cause for which the library rejects the memory.
fn common_cause(memory: &Memory) -> String {
    if memory.is_device() {
        return "; the backend may have been unable to load its CUDA modules, which need the CUDA driver (libcuda.so.1) and \
                the CUDA runtime of the major version that NIXL was built for (libcudart.so.12 for nixl-cu12)"
            .to_owned();
    }
    format!(
        "; registering {} bytes may exceed the locked-memory limit (ulimit -l); the container runtime sets this limit",
        memory.length()
    )
}

/// Registers memory with every agent.
///
/// # Errors
///
/// Returns `OperationRejected` if the backend does not support the kind of memory, or with the most common cause if the
/// library rejects the memory.
pub(super) fn register(transport: &mut Nixl, memory: Arc<Memory>) -> Result<NixlRegion, TransportError> {
    let backend = transport.spec.backend;
    let mut rails = Vec::with_capacity(transport.rails.len());
    for (number, rail) in transport.rails.iter_mut().enumerate() {
        if !rail.accepts(&memory) {
            let message = format!(
                "the {} backend of this NIXL library does not support {:?} memory",
                backend.name(),
                memory.kind()
            );
            return Err(refused("register_mem", message));
        }
        let region = rail.register(Arc::clone(&memory), |location, metadata| {
            pack_region(backend, location, metadata)
        });
        rails.push(region.map_err(|error| {
            let mut failure = rail_refused(number, &error);
            failure.message += &common_cause(&memory);
            failure
        })?);
    }
    Ok(NixlRegion { memory, rails })
}
