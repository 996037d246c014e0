//! Memory layout of a case. Performs no I/O. Both sides compute the same layout from the assignment, so they need not
//! exchange offsets.
//!
//! The memory of one kind for one thread has two areas of equal size: transfers are read from the source area and
//! written to the landing area. An area is divided into slots, one for each transfer in flight if the memory budget is
//! sufficient. Otherwise, transfers in flight share slots in a measured pass, whereas an integrity pass keeps fewer
//! transfers in flight.

use crds::assignment::memory::area_sizes;
pub use crds::assignment::memory::{
    CONTROL_BYTES, MAX_RECEIVES, PING_PONG_WINDOW, SPARE_RECEIVES, receives_per_rail,
};
use crds::assignment::{Assignment, SLOT_ALIGNMENT};
use crds::striping::Stripes;
use crds::v1alpha1::MemoryKind;

/// Maximum number of control messages in flight on a rail, in addition to the posts for transfers.
pub const CONTROL_TOKENS: usize = 16;

/// Layout of one thread's memory of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Size of the source area, and of the landing area, in bytes.
    pub area_bytes: u64,
}

/// Slots of equal size in an area.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slots {
    /// Distance between two slots, in bytes.
    pub stride: u64,
    /// Number of slots, at least 1.
    pub count: u64,
}

impl Slots {
    /// Creates up to `wanted` slots of `bytes` bytes, as many as fit into `area_bytes`.
    pub fn fit(area_bytes: u64, bytes: u64, wanted: u64) -> Self {
        let stride = bytes.max(1).next_multiple_of(SLOT_ALIGNMENT);
        Self {
            stride,
            count: (area_bytes / stride).clamp(1, wanted.max(1)),
        }
    }

    /// Offset of slot `index` in the area; indexes beyond the last slot wrap around.
    pub fn offset(self, index: u64) -> u64 {
        index % self.count * self.stride
    }
}

impl Layout {
    /// Layouts of the memory of `kind` that each thread needs, in ascending order of their [sizes](area_sizes).
    pub fn of_kind(assignment: &Assignment, kind: MemoryKind) -> Vec<Self> {
        let rails = u64::from(assignment.transport.rails());
        area_sizes(assignment.scenarios.iter(), kind, rails)
            .into_iter()
            .flatten()
            .map(|area_bytes| Self { area_bytes })
            .collect()
    }

    /// Total size of the two areas, in bytes.
    pub fn total_bytes(self) -> u64 {
        2 * self.area_bytes
    }

    /// Offset of the landing area.
    pub fn landing_offset(self) -> u64 {
        self.area_bytes
    }
}

/// Index in `layouts` of the smallest memory of `kind` with areas of at least `area_bytes` bytes. `layouts` contains the
/// smaller layouts of a kind first.
pub fn position(layouts: &[(MemoryKind, Layout)], kind: MemoryKind, area_bytes: u64) -> Option<usize> {
    let mut layouts = layouts.iter();
    layouts.position(|(found, layout)| *found == kind && layout.area_bytes >= area_bytes)
}

/// Maximum number of posts in flight on an endpoint, across all scenarios.
pub fn depth(assignment: &Assignment) -> usize {
    let windows = assignment
        .scenarios
        .iter()
        .map(|scenario| scenario.workload.window());
    windows.max().unwrap_or(1) as usize + CONTROL_TOKENS
}

/// Number of measuring threads of the worker with this rank. Each of its flows has separate threads.
pub fn thread_count(assignment: &Assignment, rank: u32) -> u32 {
    let flows = assignment
        .many_to_many
        .map_or(1, |pattern| pattern.flows_of(rank));
    max_threads(assignment).saturating_mul(flows)
}

/// Whether workers measure on the main thread of an instrument process, which then starts no other thread itself. The C
/// library therefore omits the locks and cancellation points that it needs between threads, which shortens a message over
/// TCP by about 0.1 us. This depends on the whole assignment, because a process that has once started a thread keeps these
/// costs, so cases that ran before and after that moment would differ.
///
/// Workloads that start processes are excluded for another reason as well: an extension uses the CPUs of its host's main
/// thread, which must not be pinned.
pub fn uses_main_thread(assignment: &Assignment) -> bool {
    let mut scenarios = assignment.scenarios.iter();
    assignment.many_to_many.is_none()
        && max_threads(assignment) == 1
        && !scenarios.any(|scenario| scenario.workload.starts_processes())
}

/// Maximum number of threads of a pair or flow across all scenarios.
pub fn max_threads(assignment: &Assignment) -> u32 {
    let threads = assignment
        .scenarios
        .iter()
        .map(|scenario| scenario.workload.threads());
    threads.max().unwrap_or(1).max(1)
}

/// Layout of the receives of one case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiveLayout {
    /// Number of receives posted on each rail.
    pub per_rail: u32,
    /// Length of each receive, in bytes.
    pub length: u64,
    /// Slots in the landing area.
    pub slots: Slots,
    /// Whether every receive has a separate slot. Otherwise, the receives of a rail share one slot.
    pub exclusive: bool,
}

impl ReceiveLayout {
    /// Creates the layout of the receives for `in_flight` messages, each divided into `stripes`, on `rails` rails.
    pub fn new(layout: Layout, stripes: Stripes, in_flight: u32, rails: u64) -> Self {
        let length = stripes
            .last_chunk_bytes
            .max(stripes.chunk_bytes)
            .max(CONTROL_BYTES);
        let per_rail = receives_per_rail(in_flight);
        let wanted = rails * u64::from(per_rail);
        let slots = Slots::fit(layout.area_bytes, length, wanted);
        Self {
            per_rail,
            length,
            slots,
            exclusive: slots.count == wanted,
        }
    }

    /// Offset of receive `token` on `rail` in the landing area.
    pub fn offset(self, rail: usize, token: u32) -> u64 {
        let index = if self.exclusive {
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
    fn aligns_slots_and_wraps_around_if_memory_is_insufficient() {
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
    fn gives_each_receive_a_separate_slot_if_memory_is_sufficient() {
        let layout = Layout { area_bytes: 1 << 20 };
        let sufficient = ReceiveLayout::new(layout, RULE.stripes(4096, 2), 16, 2);
        assert!(sufficient.exclusive);
        let mut offsets: Vec<u64> = (0..2)
            .flat_map(|rail| (0..sufficient.per_rail).map(move |token| sufficient.offset(rail, token)))
            .collect();
        offsets.sort_unstable();
        assert!(
            offsets
                .windows(2)
                .all(|pair| pair[1] - pair[0] >= sufficient.length)
        );
    }

    #[test]
    fn separates_chunks_of_a_message_if_memory_is_insufficient() {
        let layout = Layout {
            area_bytes: (1 << 20) + 4 * SLOT_ALIGNMENT,
        };
        let insufficient = ReceiveLayout::new(layout, RULE.stripes(1 << 20, 4), 1, 4);
        assert!(!insufficient.exclusive);
        let offsets: Vec<u64> = (0..4).map(|rail| insufficient.offset(rail, 3)).collect();
        assert!(
            offsets
                .windows(2)
                .all(|pair| pair[1] - pair[0] >= insufficient.length),
            "{offsets:?}"
        );
        assert!(offsets[3] + insufficient.length <= layout.area_bytes);
    }

    #[test]
    fn receives_are_large_enough_for_control_messages() {
        let layout = Layout { area_bytes: 1 << 20 };
        assert_eq!(
            ReceiveLayout::new(layout, RULE.stripes(1, 4), 1, 4).length,
            CONTROL_BYTES
        );
    }
}
