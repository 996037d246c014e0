//! Registration of memory on every rail.

use super::error::on_rail;
use super::ffi::{Part, Rail, Span, registration};
use crate::memory::Memory;
use crate::transport::{Region, RemoteRegion, TransportError};
use std::sync::Arc;

/// Memory that is registered on every rail. It stays registered, and the memory stays, until the endpoints are
/// closed, for until then a peer may write into it; and the endpoints stay open while this lives.
pub struct LibfabricRegion {
    memory: Arc<Memory>,
    parts: Vec<Part>,
}

impl LibfabricRegion {
    /// A range of it as one rail knows it; nothing where the range or the rail does not exist.
    #[inline]
    pub(super) fn span(&self, rail: usize, offset: u64, length: u64) -> Option<Span<'_>> {
        self.parts.get(rail)?.span(offset, length)
    }
}

impl Region for LibfabricRegion {
    fn remote(&self) -> RemoteRegion {
        RemoteRegion {
            rails: self.parts.iter().map(Part::remote).collect(),
            length: self.memory.length() as u64,
        }
    }

    fn memory(&self) -> &Arc<Memory> {
        &self.memory
    }

    fn registration(&self) -> &'static str {
        registration(&self.memory)
    }
}

/// # Errors
///
/// `Refused`, with the usual cause.
pub(super) fn register(rails: &mut [Rail], memory: Arc<Memory>) -> Result<LibfabricRegion, TransportError> {
    let parts = rails
        .iter_mut()
        .enumerate()
        .map(|(number, rail)| {
            rail.register(Arc::clone(&memory)).map_err(|e| {
                let mut failure = on_rail(number, &e);
                failure.message += &format!(
                    "; {} bytes were to be registered: look at the limit of locked memory (ulimit -l), which the \
                     container runtime sets",
                    memory.length()
                );
                failure
            })
        })
        .collect::<Result<_, _>>()?;
    Ok(LibfabricRegion { memory, parts })
}
