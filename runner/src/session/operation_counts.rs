//! Numbers of operations of the measured cases, determined from the pilot cases of this and earlier attempts. Performs no
//! I/O.

use std::collections::BTreeMap;

use crds::assignment::pilot::{self, PilotCount};
use crds::assignment::{Assignment, BlockAssignment, Extent, Pass, Workload};
use crds::record::CaseResult;

/// Number of operations per thread, by scenario and size.
#[derive(Debug)]
pub struct OperationCounts {
    case_deadline_seconds: u32,
    /// Numbers from earlier legs and attempts.
    earlier: BTreeMap<(u32, u64), u32>,
    /// Pilot cases of this attempt.
    pilots: BTreeMap<(u32, u64), PilotCount>,
}

impl OperationCounts {
    /// Starts with the numbers from earlier legs and attempts.
    pub fn new(assignment: &Assignment) -> Self {
        let counts = assignment.operation_counts.iter();
        Self {
            case_deadline_seconds: assignment.case_deadline_seconds,
            earlier: counts
                .map(|count| ((count.scenario, count.size_bytes), count.iterations))
                .collect(),
            pilots: BTreeMap::new(),
        }
    }

    /// Adds the workers of a case. Has no effect unless `block` belongs to the pilot.
    pub fn add(&mut self, block: &BlockAssignment, workload: &Workload, result: &CaseResult) {
        let (Pass::Pilot, CaseResult::Measured(measurement)) = (block.pass, result) else {
            return;
        };
        let workers = [&measurement.initiator, &measurement.target];
        for posted in workers.into_iter().filter_map(|side| side.posted.as_ref()) {
            let count = PilotCount::from_worker(
                workload,
                self.case_deadline_seconds,
                posted.operations,
                posted.elapsed_nanos,
            );
            if let Some(count) = count {
                self.pilots
                    .entry((block.scenario, block.size_bytes))
                    .and_modify(|known| *known = known.merge(count))
                    .or_insert(count);
            }
        }
    }

    /// Number or duration of the measured operations in the cases of `block`.
    pub fn extent(&self, block: &BlockAssignment, workload: &Workload) -> Extent {
        let key = (block.scenario, block.size_bytes);
        let count = || {
            let pilot = self.pilots.get(&key).map(|count| count.iterations(workload));
            self.earlier.get(&key).copied().or(pilot)
        };
        let determined = match block.pass {
            Pass::Integrity => None,
            Pass::Pilot => pilot::extent(workload),
            Pass::Measure => count().map(Extent::Iterations),
        };
        determined.unwrap_or_else(|| workload.measured())
    }
}
