//! Where the transfers of one case come from and go to, and how many are in flight. Pure, and the same at both sides.

use crds::assignment::{Pass, ScenarioAssignment, Workload};
use crds::striping::Stripes;
use crds::v1alpha1::{PingPongOperation, TransferOperation};

use crate::arm_endpoints::layout::{self, Layout, ReceiveLayout, Slots};

/// Places and numbers of one case at one thread.
#[derive(Clone, Debug)]
pub struct Geometry {
    /// What is posted.
    pub operation: TransferOperation,
    /// Bytes of a transfer.
    pub size: u64,
    /// Its chunks.
    pub stripes: Stripes,
    /// Most transfers in flight.
    pub window: u32,
    /// Transfers posted together.
    pub batch: u32,
    /// Offset of each slot of the source area, in the memory.
    pub source: Box<[u64]>,
    /// Offset of each slot of the landing area, in the memory; of transfers that go into posted receives, nothing.
    pub landing: Box<[u64]>,
    /// Offset of the landing area, in the memory.
    pub landing_base: u64,
    /// Receives, where the payload goes into them.
    pub receives: Option<ReceiveLayout>,
}

impl Geometry {
    /// Places of transfers of `size` bytes, cut into `stripes`, on `rails` rails.
    pub fn new(
        scenario: &ScenarioAssignment,
        pass: Pass,
        size: u64,
        stripes: Stripes,
        layout: Layout,
        rails: u64,
    ) -> Self {
        let operation = operation(&scenario.workload);
        let wanted = layout::window(&scenario.workload);
        let checked = pass == Pass::Integrity;
        // As in the field's tools, every message of a ping-pong has the same place, and so finds it in the caches.
        let one_place = !checked && matches!(scenario.workload, Workload::PingPong(_));
        let places = if one_place { 1 } else { u64::from(wanted) };
        let slots = Slots::fit(layout.area_bytes, size, places);
        // While bytes are checked, no two transfers in flight may share a slot.
        let mut window = if checked {
            wanted.min(slots.count as u32)
        } else {
            wanted
        };
        let mut receives = None;
        if operation == TransferOperation::Send {
            let in_flight = match scenario.workload {
                Workload::PingPong(_) => 1,
                Workload::Transfer(_) => window,
            };
            let layout_of = |in_flight| ReceiveLayout::new(layout, stripes, in_flight, rails);
            let mut receive = layout_of(in_flight);
            if checked && !receive.exclusive {
                window = 1;
                receive = layout_of(1);
            }
            receive.exclusive &= !one_place;
            receives = Some(receive);
        }
        let batch = match &scenario.workload {
            Workload::PingPong(_) => 1,
            Workload::Transfer(transfer) => transfer.batch.min(window),
        };
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

    /// Whether a transfer is only complete when the target's credit covers it.
    pub fn needs_credit(&self) -> bool {
        matches!(
            self.operation,
            TransferOperation::Send | TransferOperation::WriteImmediate
        )
    }
}

fn operation(workload: &Workload) -> TransferOperation {
    match workload {
        Workload::Transfer(transfer) => transfer.operation,
        Workload::PingPong(ping_pong) => match ping_pong.operation {
            PingPongOperation::Send => TransferOperation::Send,
            PingPongOperation::WriteImmediate => TransferOperation::WriteImmediate,
        },
    }
}
