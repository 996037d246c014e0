//! Tries to open a transport.

use std::sync::Arc;

use super::{OpenConfig, Region, Transport, TransportError};
use crate::memory::Memory;

/// Opens transport `T`, registers `memory` if it is not `None`, and describes the transport.
///
/// # Errors
/// Returns an error if the transport cannot be opened as configured, or cannot register the memory.
pub fn try_to_open<T: Transport>(
    config: &OpenConfig,
    memory: Option<Arc<Memory>>,
) -> Result<String, TransportError> {
    let mut transport = T::open(config)?;
    let region = memory.map(|memory| transport.register(memory)).transpose()?;
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
