//! Source and landing offsets of the transfers in one case, and the number of transfers in flight. Performs no I/O.
//! Both sides compute the same values.

use crds::assignment::{Pass, ScenarioAssignment};
use crds::striping::Stripes;
use crds::v1alpha1::TransferOperation;

use crate::arm_endpoints::layout::{Layout, ReceiveLayout, Slots};

/// Offsets and counts of one case on one thread.
#[derive(Clone, Debug)]
pub struct Geometry {
    /// Operation to post.
    pub operation: TransferOperation,
    /// Size of a transfer in bytes.
    pub size: u64,
    /// Division of a transfer into chunks.
    pub stripes: Stripes,
    /// Maximum number of transfers in flight.
    pub window: u32,
    /// Number of transfers posted together.
    pub batch: u32,
    /// Memory offset of each slot in the source area.
    pub source: Box<[u64]>,
    /// Memory offset of each slot in the landing area. Not used for transfers into posted receives.
    pub landing: Box<[u64]>,
    /// Memory offset of the landing area.
    pub landing_base: u64,
    /// Layout of the posted receives; `None` if the payload does not arrive in receives.
    pub receives: Option<ReceiveLayout>,
}

impl Geometry {
    /// Computes the geometry of transfers of `size` bytes, divided into `stripes`, on `rails` rails.
    pub fn new(
        scenario: &ScenarioAssignment,
        pass: Pass,
        size: u64,
        stripes: Stripes,
        layout: Layout,
        rails: u64,
    ) -> Self {
        let operation = scenario.workload.operation();
        let checked = pass == Pass::Integrity;
        let shared = scenario.workload.shares_buffers();
        let full_window = if checked && shared {
            1
        } else {
            scenario.workload.window()
        };
        // As in common benchmark tools, all messages of a ping-pong or of calls use the same memory, so that it stays
        // in the cache. Transfers use the same memory only on request.
        let single_slot = !checked && (shared || !scenario.workload.is_pipelined());
        let slot_count = if single_slot { 1 } else { u64::from(full_window) };
        let slots = Slots::fit(layout.area_bytes, size, slot_count);
        // In an integrity pass, no two transfers in flight may share a slot.
        let mut window = if checked {
            full_window.min(slots.count as u32)
        } else {
            full_window
        };
        let mut receives = None;
        if operation == TransferOperation::Send {
            let in_flight = if scenario.workload.is_pipelined() {
                window
            } else {
                1
            };
            let layout_of = |in_flight| ReceiveLayout::new(layout, stripes, in_flight, rails);
            let mut receive = layout_of(in_flight);
            if checked && !receive.exclusive {
                window = 1;
                receive = layout_of(1);
            }
            receive.exclusive &= !single_slot;
            receives = Some(receive);
        }
        let batch = scenario.workload.batch().min(window);
        let offsets = |base: u64| {
            (0..u64::from(window))
                .map(|slot| base + slots.offset(slot))
                .collect()
        };
        Self {
            operation,
            size,
            stripes,
            window,
            batch,
            source: offsets(0),
            landing: offsets(layout.landing_offset()),
            landing_base: layout.landing_offset(),
            receives,
        }
    }

    /// Whether a transfer is complete only after a credit from the target has confirmed its arrival.
    pub fn needs_credit(&self) -> bool {
        matches!(
            self.operation,
            TransferOperation::Send | TransferOperation::WriteImmediate
        )
    }
}
