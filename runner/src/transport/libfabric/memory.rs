//! Registers memory on every rail.

use super::error::rail_refused;
use super::ffi::{Rail, RailRegion, RegisteredRange, registration_call};
use crate::memory::Memory;
use crate::transport::{Region, RemoteRegion, TransportError};
use std::sync::Arc;

/// Memory that is registered on every rail.
///
/// After a region is dropped, its memory stays allocated and registered until the endpoints are closed, because a peer
/// may write to it until then. The endpoints stay open while a region exists.
pub struct LibfabricRegion {
    memory: Arc<Memory>,
    rails: Vec<RailRegion>,
}

impl LibfabricRegion {
    /// Range of the region on one rail; `None` if the rail does not exist or the range extends beyond the region.
    #[inline]
    pub(super) fn range(&self, rail: usize, offset: u64, length: u64) -> Option<RegisteredRange<'_>> {
        self.rails.get(rail)?.range(offset, length)
    }
}

impl Region for LibfabricRegion {
    fn remote(&self) -> RemoteRegion {
        RemoteRegion {
            rails: self.rails.iter().map(|rail| rail.remote().into()).collect(),
            length: self.memory.length() as u64,
        }
    }

    fn memory(&self) -> &Arc<Memory> {
        &self.memory
    }

    fn registration_method(&self) -> &'static str {
        registration_call(&self.memory)
    }
}

/// Registers memory on every rail.
///
/// # Errors
///
/// Returns `OperationRejected` with the most common cause if the library rejects the memory.
pub(super) fn register(rails: &mut [Rail], memory: Arc<Memory>) -> Result<LibfabricRegion, TransportError> {
    let regions = rails
        .iter_mut()
        .enumerate()
        .map(|(number, rail)| {
            rail.register(Arc::clone(&memory)).map_err(|e| {
                let mut failure = rail_refused(number, &e);
                failure.message += &format!(
                    "; registering {} bytes may exceed the locked-memory limit (ulimit -l), which the container \
                     runtime sets",
                    memory.length()
                );
                failure
            })
        })
        .collect::<Result<_, _>>()?;
    Ok(LibfabricRegion {
        memory,
        rails: regions,
    })
}
