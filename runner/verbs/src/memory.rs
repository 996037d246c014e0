//! Registers memory on every rail.

use crate::Verbs;
use crate::error::rail_refused;
use crate::ffi::{RailRegion, RegisteredRange};
use runner::memory::Memory;
use runner::transport::{Region, RemoteRegion, TransportError};
use std::sync::Arc;

/// Memory that is registered on every rail.
pub struct VerbsRegion {
    memory: Arc<Memory>,
    rails: Vec<RailRegion>,
}

impl VerbsRegion {
    /// Range of the region on one rail; `None` if the rail does not exist, the range extends beyond the region, or the
    /// range is longer than a message can be.
    #[inline]
    pub(super) fn range(&self, rail: usize, offset: u64, length: u64) -> Option<RegisteredRange<'_>> {
        self.rails.get(rail)?.range(offset, length)
    }
}

impl Region for VerbsRegion {
    fn remote(&self) -> RemoteRegion {
        RemoteRegion {
            rails: self.rails.iter().map(|rail| rail.key().into()).collect(),
            length: self.memory.length() as u64,
        }
    }

    fn memory(&self) -> &Arc<Memory> {
        &self.memory
    }

    fn registration_method(&self) -> &'static str {
        "ibv_reg_mr"
    }
}

/// Registers memory on every rail.
///
/// # Errors
///
/// Returns `OperationRejected` with the most common cause if the device rejects the memory.
pub(super) fn register(transport: &mut Verbs, memory: Arc<Memory>) -> Result<VerbsRegion, TransportError> {
    let registered = transport.rails.iter().enumerate().map(|(number, rail)| {
        rail.register(&memory).map_err(|error| {
            let mut failure = rail_refused(number, &error);
            failure.message += &match memory.is_device() {
                true => "; registering GPU memory requires the nvidia-peermem module".to_owned(),
                false => format!(
                    "; registering {} bytes may exceed the locked-memory limit (ulimit -l), which the container runtime \
                     sets",
                    memory.length()
                ),
            };
            failure
        })
    });
    let rails = registered.collect::<Result<_, _>>()?;
    Ok(VerbsRegion { memory, rails })
}
