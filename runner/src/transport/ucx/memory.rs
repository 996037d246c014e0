//! Registers memory on every rail.

use super::error::rail_refused;
use super::ffi::{Rail, RailRegion, RegisteredRange};
use crate::memory::Memory;
use crate::transport::{Region, RemoteRegion, TransportError};
use std::sync::Arc;

/// Memory that is registered on every rail.
///
/// After a region is dropped, its memory stays allocated and registered until the workers are destroyed, because a peer
/// may write to it until then. The workers exist while a region exists.
pub struct UcxRegion {
    memory: Arc<Memory>,
    rails: Vec<RailRegion>,
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
        "ucp_mem_map"
    }
}

/// Registers memory on every rail.
///
/// # Errors
///
/// `OperationRejected` with the most common cause, if the library refuses the memory.
pub(super) fn register(rails: &mut [Rail], memory: Arc<Memory>) -> Result<UcxRegion, TransportError> {
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
    Ok(UcxRegion {
        memory,
        rails: regions,
    })
}
