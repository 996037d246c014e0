//! Registers memory on every rail.

use super::error::{rail_refused, refused};
use super::ffi::{CallError, Rail, RailRegion, RegisteredRange};
use crate::memory::{Memory, available};
use crate::transport::{Region, RemoteRegion, TransportError};
use std::sync::Arc;

/// Memory that is registered on every rail.
///
/// After a region is dropped, its memory stays allocated and registered until the workers are destroyed, because a peer
/// may write to it until then. The workers exist while a region exists.
pub struct UcxRegion {
    memory: Arc<Memory>,
    rails: Vec<RailRegion>,
    registration_method: &'static str,
}

impl UcxRegion {
    /// Range of the region on one rail; `None` if the rail does not exist or the range extends beyond the region.
    #[inline]
    pub(super) fn range(&self, rail: usize, offset: u64, length: u64) -> Option<RegisteredRange<'_>> {
        self.rails.get(rail)?.range(offset, length)
    }
}

impl Region for UcxRegion {
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
        self.registration_method
    }
}

/// Registers memory on every rail.
///
/// # Errors
///
/// Returns `OperationRejected` with the most common cause if the library rejects the memory.
pub(super) fn register(rails: &mut [Rail], memory: Arc<Memory>) -> Result<UcxRegion, TransportError> {
    let regions = rails
        .iter_mut()
        .enumerate()
        .map(|(number, rail)| {
            rail.register(Arc::clone(&memory))
                .map_err(|error| mapping_failed(number, &error, memory.length()))
        })
        .collect::<Result<_, _>>()?;
    Ok(UcxRegion {
        memory,
        rails: regions,
        registration_method: "ucp_mem_map",
    })
}

/// Makes UCX allocate and register zeroed memory on the only rail.
///
/// # Errors
///
/// Returns `NotEnoughMemory` if the machine has too little memory, and `OperationRejected` if there are several rails
/// or the library rejects the request.
pub(super) fn allocate(rails: &mut [Rail], bytes: usize) -> Result<UcxRegion, TransportError> {
    let [rail] = rails else {
        let message = format!(
            "UCX allocates memory for only one rail, but there are {} rails: set rails to 1, or remove allocation",
            rails.len()
        );
        return Err(refused("ucp_mem_map", message));
    };
    let _reservation = available::reserve(bytes as u64, "buffers that UCX allocates")?;
    let region = rail
        .allocate(bytes)
        .map_err(|error| mapping_failed(0, &error, bytes))?;
    Ok(UcxRegion {
        memory: Arc::clone(region.memory()),
        rails: vec![region],
        registration_method: "ucp_mem_map (allocated by UCX)",
    })
}

fn mapping_failed(rail: usize, error: &CallError, bytes: usize) -> TransportError {
    let mut failure = rail_refused(rail, error);
    failure.message += &format!(
        "; registering {bytes} bytes may exceed the locked-memory limit (ulimit -l); the container \
         runtime sets this limit"
    );
    failure
}
