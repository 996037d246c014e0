//! Plans the cells: the posts of each arm at each size of a scenario.

use super::{Arm, Cell, Separation};
use crate::posting::{Posting, Tuning, optimizations};
use crate::validate::ValidatedScenario;

/// Plans the cells of `scenario`, by size, then by arm.
pub(super) fn plan(scenario: &ValidatedScenario, rails: u32, arms: &[Arm], baseline: usize) -> Vec<Cell> {
    let burst = scenario.burst();
    let sizes = scenario.sizes.iter();
    let cells = sizes.flat_map(|size| {
        arms.iter().enumerate().map(move |(index, arm)| {
            let posting = Posting::new(arm.tuning(), burst, *size, rails);
            let reference = arms.get(baseline).filter(|_| index != baseline);
            let same_as_baseline = reference.is_some_and(|reference| {
                arm.control.is_some()
                    || (same_endpoints(arm, reference)
                        && posting == Posting::new(reference.tuning(), burst, *size, rails))
            });
            Cell {
                size_bytes: *size,
                arm: index,
                rails: posting.stripes.rails,
                chunk_bytes: posting.stripes.chunk_bytes,
                last_chunk_bytes: posting.stripes.last_chunk_bytes,
                posts_per_burst: posting.posts_per_burst,
                more_per_burst: posting.more_per_burst(),
                optimizations: optimizations(arm.tuning(), burst, *size, rails),
                same_as_baseline,
            }
        })
    });
    cells.collect()
}

/// Whether both arms open endpoints with the same attributes in one process. The inject limit is such an attribute. It
/// changes what a provider inlines and the depth of its queue even for messages above the limit, so an arm with a
/// different inject limit is never a negative control.
fn same_endpoints(arm: &Arm, baseline: &Arm) -> bool {
    arm.separation == Separation::Tuning && arm.inject_max_bytes == baseline.inject_max_bytes
}

impl Arm {
    /// Settings that determine how the arm posts messages.
    pub fn tuning(&self) -> Tuning {
        Tuning {
            inject_max_bytes: self.inject_max_bytes,
            doorbell_max_batch: self.doorbell_max_batch,
            striping: self.striping,
        }
    }
}
