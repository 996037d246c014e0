//! What is opened for what is asked for. Pure.

use crds::record::{FabricFacts, FailureReason, InjectLimits, RailFacts};
use crds::v1alpha1::{Loopback as LoopbackSpec, TransportSpec};

use super::layout::{INLINE_BYTES, Layout, MAX_MESSAGE_BYTES, MAX_PEERS, MAX_RAILS, SLOTS};
use super::name::SegmentName;
use crate::transport::{OpenConfig, TransportError};

/// Sizes of the segment for a configuration.
///
/// # Errors
/// When the configuration is not one of this transport or out of its bounds.
pub(super) fn layout_of(config: &OpenConfig) -> Result<Layout, TransportError> {
    let refused = |reason, message| TransportError {
        reason,
        operation: "open",
        message,
    };
    let TransportSpec::Loopback(LoopbackSpec { rails }) = &config.spec else {
        let message = format!("{} was asked for and loopback opened", config.spec.library());
        return Err(refused(FailureReason::Internal, message));
    };
    if let Some(library) = &config.library {
        let message = format!(
            "loopback has no library that could be taken from {}",
            library.display()
        );
        return Err(refused(FailureReason::LibraryNotFound, message));
    }
    if !config.rails.is_empty() {
        let message = format!(
            "loopback has no devices or addresses: {}",
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
            "{rails} rails, {} peers and {} posts in flight: at most {}, {MAX_PEERS} and {}",
            config.peers,
            config.depth,
            MAX_RAILS,
            SLOTS.end()
        );
        return Err(refused(FailureReason::Refused, message));
    }
    Ok(layout)
}

/// What the endpoints really are.
pub(super) fn facts_of(layout: Layout, name: SegmentName) -> FabricFacts {
    let rail = |rail| RailFacts {
        domain: "loopback".to_owned(),
        address: format!("process {} segment {} rail {rail}", name.process, name.descriptor),
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
