//! Where the bytes of a case lie in memory. Pure, and the same at both sides: it is computed from the assignment, so
//! a peer's offsets need not be told.
//!
//! The memory of one kind at one thread has two areas of the same size: transfers leave from the source area and
//! arrive in the landing area. An area is cut into slots, one for each transfer in flight, as far as the budget
//! allows; where it does not, transfers in flight share slots when times are taken, and fewer are in flight when
//! bytes are checked.

use crds::assignment::Assignment;
pub use crds::assignment::memory::{
    AREA_BUDGET_BYTES, CONTROL_BYTES, MAX_RECEIVES, PING_PONG_WINDOW, SLOT_ALIGNMENT, SPARE_RECEIVES,
    is_send, receives_on_a_rail, threads, window,
};
use crds::striping::Stripes;
use crds::v1alpha1::MemoryKind;

/// Control messages in flight on a rail.
pub const CONTROL_TOKENS: usize = 16;

/// Memory of one kind at one thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Bytes of the source area, and of the landing area.
    pub area_bytes: u64,
}

/// Equal pieces of an area.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slots {
    /// Bytes from one to the next.
    pub stride: u64,
    /// How many there are, at least 1.
    pub count: u64,
}

impl Slots {
    /// Slots for `wanted` pieces of `bytes`, or as many as fit into `area_bytes`.
    pub fn fit(area_bytes: u64, bytes: u64, wanted: u64) -> Self {
        let stride = bytes.max(1).next_multiple_of(SLOT_ALIGNMENT);
        Self {
            stride,
            count: (area_bytes / stride).clamp(1, wanted.max(1)),
        }
    }

    /// Offset of slot `index` in the area; indexes beyond the slots there are start again.
    pub fn offset(self, index: u64) -> u64 {
        index % self.count * self.stride
    }
}

impl Layout {
    /// Memory that the scenarios of `kind` need at each thread; `None` where there are no such scenarios.
    pub fn new(assignment: &Assignment, kind: MemoryKind) -> Option<Self> {
        let rails = u64::from(assignment.transport.rails());
        let of_kind = assignment
            .scenarios
            .iter()
            .filter(|scenario| scenario.memory == kind);
        let area_bytes = of_kind.map(|scenario| scenario.area_bytes(rails)).max()?;
        Some(Self { area_bytes })
    }

    /// Bytes of both areas.
    pub fn total_bytes(self) -> u64 {
        2 * self.area_bytes
    }

    /// Offset of the landing area.
    pub fn landing_offset(self) -> u64 {
        self.area_bytes
    }
}

/// Posts in flight that an endpoint must take for every scenario.
pub fn depth(assignment: &Assignment) -> usize {
    let windows = assignment
        .scenarios
        .iter()
        .map(|scenario| window(&scenario.workload));
    windows.max().unwrap_or(1) as usize + CONTROL_TOKENS
}

/// Most threads of any scenario.
pub fn most_threads(assignment: &Assignment) -> u32 {
    let threads = assignment
        .scenarios
        .iter()
        .map(|scenario| threads(&scenario.workload));
    threads.max().unwrap_or(1).max(1)
}

/// Where the messages of one case are received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiveLayout {
    /// Receives posted on each rail.
    pub per_rail: u32,
    /// Bytes of each.
    pub length: u64,
    /// Slots in the landing area.
    pub slots: Slots,
    /// Whether every receive has a slot of its own; otherwise those of a rail share one.
    pub apart: bool,
}

impl ReceiveLayout {
    /// Receives for `in_flight` messages of these chunks on any of `rails` rails.
    pub fn new(layout: Layout, stripes: Stripes, in_flight: u32, rails: u64) -> Self {
        let length = stripes
            .last_chunk_bytes
            .max(stripes.chunk_bytes)
            .max(CONTROL_BYTES);
        let per_rail = receives_on_a_rail(in_flight);
        let wanted = rails * u64::from(per_rail);
        let slots = Slots::fit(layout.area_bytes, length, wanted);
        Self {
            per_rail,
            length,
            slots,
            apart: slots.count == wanted,
        }
    }

    /// Offset in the landing area of receive `token` on `rail`.
    pub fn offset(self, rail: usize, token: u32) -> u64 {
        let index = if self.apart {
            rail as u64 * u64::from(self.per_rail) + u64::from(token)
        } else {
            rail as u64
        };
        self.slots.offset(index)
    }
}

#[cfg(test)]
mod tests {
    use crds::striping::{StripingPolicy, StripingRule};

    use super::*;

    const RULE: StripingRule = StripingRule {
        policy: StripingPolicy::Nixl,
        threshold_bytes: 16 * 1024,
        min_chunk_bytes: 16 * 1024,
    };

    #[test]
    fn slots_are_cache_lines_apart_and_start_again_when_there_are_too_few() {
        let slots = Slots::fit(1000, 65, 16);
        assert_eq!(
            slots,
            Slots {
                stride: 128,
                count: 7
            }
        );
        assert_eq!((slots.offset(6), slots.offset(7)), (768, 0));
        assert_eq!(Slots::fit(100, 1 << 20, 4).count, 1);
    }

    #[test]
    fn receives_are_apart_where_there_is_room() {
        let layout = Layout { area_bytes: 1 << 20 };
        let roomy = ReceiveLayout::new(layout, RULE.stripes(4096, 2), 16, 2);
        assert!(roomy.apart);
        let mut offsets: Vec<u64> = (0..2)
            .flat_map(|rail| (0..roomy.per_rail).map(move |token| roomy.offset(rail, token)))
            .collect();
        offsets.sort_unstable();
        assert!(offsets.windows(2).all(|pair| pair[1] - pair[0] >= roomy.length));
    }

    #[test]
    fn the_chunks_of_one_message_are_apart_even_without_room() {
        let layout = Layout {
            area_bytes: (1 << 20) + 4 * SLOT_ALIGNMENT,
        };
        let tight = ReceiveLayout::new(layout, RULE.stripes(1 << 20, 4), 1, 4);
        assert!(!tight.apart);
        let offsets: Vec<u64> = (0..4).map(|rail| tight.offset(rail, 3)).collect();
        assert!(
            offsets.windows(2).all(|pair| pair[1] - pair[0] >= tight.length),
            "{offsets:?}"
        );
        assert!(offsets[3] + tight.length <= layout.area_bytes);
    }

    #[test]
    fn a_small_message_still_takes_a_control_message() {
        let layout = Layout { area_bytes: 1 << 20 };
        assert_eq!(
            ReceiveLayout::new(layout, RULE.stripes(1, 4), 1, 4).length,
            CONTROL_BYTES
        );
    }
}
