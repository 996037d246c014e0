//! Numbers of operations of the measured cases, determined from the pilot cases of this and earlier attempts. Performs no
//! I/O.

use std::collections::BTreeMap;

use crds::assignment::{Assignment, BlockAssignment, Extent, Pass, Workload, pilot};
use crds::record::CaseResult;

/// Number of operations per thread, by scenario and size.
#[derive(Debug, Default)]
pub struct OperationCounts(BTreeMap<(u32, u64), u32>);

impl OperationCounts {
    /// Starts with the numbers from earlier legs and attempts.
    pub fn new(assignment: &Assignment) -> Self {
        let counts = assignment.operation_counts.iter();
        Self(
            counts
                .map(|count| ((count.scenario, count.size_bytes), count.iterations))
                .collect(),
        )
    }

    /// Raises the number for the scenario and size of `block` to what the worker with the higher rate needs in this
    /// case. Has no effect unless `block` belongs to the pilot.
    pub fn add(&mut self, block: &BlockAssignment, workload: &Workload, result: &CaseResult) {
        let (Pass::Pilot, CaseResult::Measured(measurement)) = (block.pass, result) else {
            return;
        };
        for side in [&measurement.initiator, &measurement.target] {
            let needed = side
                .posted
                .as_ref()
                .and_then(|posted| pilot::iterations(workload, posted.operations, posted.elapsed_nanos));
            if let Some(needed) = needed {
                let count = self.0.entry((block.scenario, block.size_bytes)).or_default();
                *count = needed.max(*count);
            }
        }
    }

    /// Number or duration of the measured operations in the cases of `block`.
    pub fn extent(&self, block: &BlockAssignment, workload: &Workload) -> Extent {
        let determined = match block.pass {
            Pass::Integrity => None,
            Pass::Pilot => pilot::extent(workload),
            Pass::Measure => self
                .0
                .get(&(block.scenario, block.size_bytes))
                .map(|count| Extent::Iterations(*count)),
        };
        determined.unwrap_or_else(|| workload.measured())
    }
}
