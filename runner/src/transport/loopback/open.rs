//! Derives the segment layout from the configuration, and the fabric facts from the layout. Performs no I/O.

use crds::record::{FabricFacts, FailureReason, InjectLimits, RailFacts};
use crds::v1alpha1::{Loopback as LoopbackSpec, TransportSpec};

use super::rules::address::SegmentAddress;
use super::rules::layout::{INLINE_BYTES, Layout, MAX_MESSAGE_BYTES, MAX_PEERS, MAX_RAILS, SLOTS};
use crate::transport::{OpenConfig, TransportError};

/// Segment layout for a configuration.
///
/// # Errors
/// Returns `OperationRejected`, `NoDevice`, `LibraryNotFound` or `Internal` if this transport does not support the
/// configuration.
pub(super) fn segment_layout(config: &OpenConfig) -> Result<Layout, TransportError> {
    let refused = |reason, message| TransportError {
        reason,
        operation: "open",
        message,
    };
    let TransportSpec::Loopback(LoopbackSpec { rails }) = &config.spec else {
        let message = format!(
            "the loopback transport received a configuration for another transport: {}",
            config.spec.library()
        );
        return Err(refused(FailureReason::Internal, message));
    };
    if let Some(library) = &config.library {
        let message = format!(
            "loopback does not use a library, but the library directory {} is set: remove it",
            library.display()
        );
        return Err(refused(FailureReason::LibraryNotFound, message));
    }
    if !config.rails.is_empty() {
        let message = format!(
            "loopback has no devices or addresses, but rail sources are set: {}. Remove them",
            config.rails.join(", ")
        );
        return Err(refused(FailureReason::NoDevice, message));
    }
    let layout = Layout {
        rails: *rails as usize,
        peers: config.peers.max(1),
        slots: config
            .depth
            .clamp(*SLOTS.start(), *SLOTS.end())
            .next_power_of_two(),
    };
    if !layout.is_valid() || config.depth > *SLOTS.end() {
        let message = format!(
            "requested {rails} rails (1 to {MAX_RAILS} are supported), {} peers (at most {MAX_PEERS}) and {} posts in \
             flight (at most {})",
            config.peers,
            config.depth,
            SLOTS.end()
        );
        return Err(refused(FailureReason::OperationRejected, message));
    }
    Ok(layout)
}

/// Facts about the opened endpoints.
pub(super) fn fabric_facts(layout: Layout, address: SegmentAddress) -> FabricFacts {
    let rail = |rail| RailFacts {
        domain: "loopback".to_owned(),
        address: format!(
            "process {} segment {} rail {rail}",
            address.process, address.descriptor
        ),
        ..RailFacts::default()
    };
    FabricFacts {
        provider: "loopback".to_owned(),
        fabric: "loopback".to_owned(),
        rails: (0..layout.rails).map(rail).collect(),
        inject_limits: InjectLimits {
            send_bytes: INLINE_BYTES,
            write_bytes: INLINE_BYTES,
        },
        transmit_depth: layout.slots as u64,
        max_message_bytes: MAX_MESSAGE_BYTES,
        progress: "manual".to_owned(),
        ..FabricFacts::default()
    }
}
