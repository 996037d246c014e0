//! Memory requirements of a scenario, used by the planner for estimates and by the runner for allocation.

use super::ScenarioAssignment;
use crate::v1alpha1::MemoryKind;

/// Maximum size of a memory area in bytes, unless a single message is larger or the workload has segments. The limit
/// exceeds the cache sizes of most CPUs, so that large transfers are read from main memory, but still allows one area
/// per thread.
pub const AREA_BUDGET_BYTES: u64 = 128 * 1024 * 1024;
/// Largest area in bytes that scenarios of the same memory kind share. A scenario that needs more has separate memory,
/// so that the other scenarios still run if this memory does not fit.
pub const MAX_SHARED_AREA_BYTES: u64 = 2 * AREA_BUDGET_BYTES;
/// Size of a control message in bytes. The information is carried in the immediate data.
pub const CONTROL_BYTES: u64 = 8;
/// Number of receives posted on each rail for control messages, in addition to those for the messages in flight.
pub const SPARE_RECEIVES: u32 = 4;
/// Maximum number of receives posted on each rail. Libraries buffer messages that arrive when no receive is posted.
pub const MAX_RECEIVES: u32 = 512;
/// Maximum number of ping-pong messages whose buffers are in use at the same time. It is greater than 1 because the
/// echo can arrive before the send completion has been read.
pub const PING_PONG_WINDOW: u32 = 4;

/// Sizes in bytes of the source areas of `kind` that one thread with `rails` rails needs for `scenarios`, in the order of
/// [`scenarios_by_area`]. A size is absent if no scenario shares the area.
pub fn area_sizes<'a>(
    scenarios: impl Iterator<Item = &'a ScenarioAssignment> + Clone,
    kind: MemoryKind,
    rails: u64,
) -> [Option<u64>; 2] {
    scenarios_by_area(scenarios, kind, rails)
        .map(|sharing| sharing.iter().map(|scenario| scenario.area_bytes(rails)).max())
}

/// The scenarios that share each of the two areas of `kind`: those that need at most [`MAX_SHARED_AREA_BYTES`], and all
/// others. An area that no scenario needs has no scenarios.
///
/// If the two sides of any scenario use different kinds, the areas of all kinds have the same scenarios and therefore the
/// same sizes, because an offset that one side computes must also apply to the other side's memory.
pub fn scenarios_by_area<'a>(
    scenarios: impl Iterator<Item = &'a ScenarioAssignment> + Clone,
    kind: MemoryKind,
    rails: u64,
) -> [Vec<&'a ScenarioAssignment>; 2] {
    let is_mixed = scenarios.clone().any(ScenarioAssignment::has_different_kinds);
    [false, true].map(|is_large| {
        let of_size = scenarios
            .clone()
            .filter(|scenario| (scenario.area_bytes(rails) > MAX_SHARED_AREA_BYTES) == is_large);
        if !of_size.clone().any(|scenario| scenario.uses(kind)) {
            return Vec::new();
        }
        of_size
            .filter(|scenario| is_mixed || scenario.uses(kind))
            .collect()
    })
}

impl ScenarioAssignment {
    /// Kinds of memory of the initiator's and the target's buffers, except for threads with a
    /// [second kind](crate::assignment::WorkloadProperties::second_memory).
    pub fn memory_kinds(&self) -> [MemoryKind; 2] {
        [self.memory, self.target_memory.unwrap_or(self.memory)]
    }

    /// Kinds of memory of the initiator's and the target's buffers of thread `thread` of a pair.
    pub fn memory_kinds_of(&self, thread: u32) -> [MemoryKind; 2] {
        match self.workload.second_memory() {
            Some((kind, first)) if thread >= first => [kind; 2],
            _ => self.memory_kinds(),
        }
    }

    /// Kinds of memory that either side uses on any thread: the initiator's, the target's, and the second kind.
    pub fn distinct_memory_kinds(&self) -> impl Iterator<Item = MemoryKind> {
        let [initiator, target] = self.memory_kinds();
        let other = (initiator != target).then_some(target);
        let second = self.workload.second_memory().map(|(kind, _)| kind);
        let second = second.filter(|kind| ![initiator, target].contains(kind));
        [initiator].into_iter().chain(other).chain(second)
    }

    /// Whether thread `thread` of a pair needs memory of `kind` on either side. If the threads do not use different kinds,
    /// every thread has the memory, including threads that only other scenarios use.
    pub fn uses_on_thread(&self, kind: MemoryKind, thread: u32) -> bool {
        match self.workload.second_memory() {
            None => self.uses(kind),
            Some(_) => thread < self.workload.threads() && self.memory_kinds_of(thread).contains(&kind),
        }
    }

    /// Whether a GPU holds the payload of any arm, with or without a transport.
    pub fn needs_gpu(&self) -> bool {
        self.uses(MemoryKind::Cuda) || self.workload.gpu().is_some()
    }

    /// Whether the scenario transfers segments in GPU memory. If no GPUs are named, such segments use all GPUs of a worker,
    /// and other scenarios GPU 0.
    pub fn has_segments_on_gpus(&self) -> bool {
        self.workload.has_segments() && self.uses(MemoryKind::Cuda)
    }

    /// Number of threads of a pair that use GPU memory, if the scenario uses any.
    pub fn threads_on_gpus(&self) -> u32 {
        let first = self.workload.second_memory().map_or(0, |(_, first)| first);
        self.workload.threads().saturating_sub(first)
    }

    /// Whether either side uses memory of `kind` on any thread.
    pub fn uses(&self, kind: MemoryKind) -> bool {
        self.distinct_memory_kinds().any(|used| used == kind)
    }

    /// Whether the two sides use different kinds of memory.
    pub fn has_different_kinds(&self) -> bool {
        let [initiator, target] = self.memory_kinds();
        initiator != target
    }

    /// Size in bytes of the source area of one thread with `rails` rails. The target area has the same size.
    pub fn area_bytes(&self, rails: u64) -> u64 {
        self.workload.area_bytes(self.max_size_bytes, rails)
    }
}

/// Number of receives to post on each rail for `in_flight` messages.
pub fn receives_per_rail(in_flight: u32) -> u32 {
    in_flight.saturating_add(SPARE_RECEIVES).min(MAX_RECEIVES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assignment::{Extent, TransferMode, TransferWorkload, Workload};
    use crate::v1alpha1::TransferOperation;

    fn writes(size: u64, memory: MemoryKind, target_memory: Option<MemoryKind>) -> ScenarioAssignment {
        ScenarioAssignment {
            name: "writes".to_owned(),
            memory,
            target_memory,
            polling: None,
            workload: Workload::Transfer(TransferWorkload::new(
                TransferOperation::Write,
                1,
                Extent::Iterations(1),
            )),
            max_size_bytes: size,
        }
    }

    #[test]
    fn the_last_half_of_the_threads_uses_the_second_kind_on_both_sides() {
        use MemoryKind::{Cuda, Heap, SharedMemory};
        let mut scenario = writes(1 << 20, SharedMemory, None);
        let Workload::Transfer(transfer) = &mut scenario.workload else {
            panic!("not a transfer")
        };
        transfer.threads = 5;
        transfer.mode = TransferMode::Segments {
            read_back: false,
            second_memory: Some(Cuda),
        };
        let kinds: Vec<_> = (0..5).map(|thread| scenario.memory_kinds_of(thread)).collect();
        assert_eq!(kinds[..3], [[SharedMemory; 2]; 3]);
        assert_eq!(kinds[3..], [[Cuda; 2]; 2]);
        assert!(scenario.distinct_memory_kinds().eq([SharedMemory, Cuda]));
        assert!(scenario.needs_gpu() && !scenario.uses(Heap) && !scenario.has_different_kinds());
        let on_gpu: Vec<_> = (0..6)
            .map(|thread| scenario.uses_on_thread(Cuda, thread))
            .collect();
        assert_eq!(on_gpu, [false, false, false, true, true, false]);
        assert!((0..6).all(|thread| writes(1, Heap, Some(Cuda)).uses_on_thread(Cuda, thread)));
    }

    #[test]
    fn kinds_have_areas_of_the_same_size_only_if_the_sides_of_a_scenario_differ() {
        use MemoryKind::{Cuda, Heap, HugePages, SharedMemory};
        let sizes = |scenarios: &[ScenarioAssignment], kind| {
            let areas = area_sizes(scenarios.iter(), kind, 1);
            areas.map(|area| area.map(|bytes| bytes.next_power_of_two() >> 1))
        };
        let mut scenarios = vec![writes(1 << 20, Heap, None), writes(1 << 16, SharedMemory, None)];
        assert_eq!(sizes(&scenarios, Heap), [Some(1 << 20), None]);
        assert_eq!(sizes(&scenarios, SharedMemory), [Some(1 << 16), None]);
        assert_eq!(sizes(&scenarios, Cuda), [None, None]);
        scenarios.push(writes(1 << 12, SharedMemory, Some(Cuda)));
        scenarios.push(writes(1 << 30, Heap, None));
        for kind in [SharedMemory, Cuda] {
            assert_eq!(sizes(&scenarios, kind), [Some(1 << 20), None], "{kind:?}");
        }
        assert_eq!(sizes(&scenarios, Heap), [Some(1 << 20), Some(1 << 30)]);
        assert_eq!(sizes(&scenarios, HugePages), [None, None]);
    }
}
