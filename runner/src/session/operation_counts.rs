//! Determines the number of operations in measured cases from the pilot cases of this attempt and of earlier legs and
//! attempts. Performs no I/O.

use std::collections::BTreeMap;

use crds::assignment::pilot::{self, PilotCounts};
use crds::assignment::{Assignment, BlockAssignment, Extent, Pass, Workload};
use crds::record::CaseResult;

/// Number of operations per thread, by scenario and size.
#[derive(Debug)]
pub struct OperationCounts {
    case_deadline_seconds: u32,
    /// Counts from earlier legs and attempts.
    earlier: BTreeMap<(u32, u64), u32>,
    /// Pilot cases of this attempt.
    pilots: PilotCounts,
}

impl OperationCounts {
    /// Creates the counts, starting with the counts from earlier legs and attempts.
    pub fn new(assignment: &Assignment) -> Self {
        let counts = assignment.operation_counts.iter();
        Self {
            case_deadline_seconds: assignment.case_deadline_seconds,
            earlier: counts
                .map(|count| ((count.scenario, count.size_bytes), count.iterations))
                .collect(),
            pilots: PilotCounts::default(),
        }
    }

    /// Adds the result of a pilot case. Has no effect unless `block` belongs to the pilot.
    pub fn add(&mut self, block: &BlockAssignment, workload: &Workload, result: &CaseResult) {
        let (Pass::Pilot, CaseResult::Measured(measurement)) = (block.pass, result) else {
            return;
        };
        let target = workload.is_bidirectional().then_some(&measurement.target);
        let workers = [Some(&measurement.initiator), target].into_iter().flatten();
        let posted = workers.filter_map(|side| side.posted.as_ref());
        self.pilots.add(
            (block.scenario, block.size_bytes),
            workload,
            self.case_deadline_seconds,
            posted.map(|posted| (posted.operations, posted.elapsed_nanos)),
        );
    }

    /// Number or duration of the measured operations in the cases of `block`.
    pub fn extent(&self, block: &BlockAssignment, workload: &Workload) -> Extent {
        let key = (block.scenario, block.size_bytes);
        let count = || {
            let pilot = self.pilots.get(block.scenario, block.size_bytes);
            let pilot = pilot.map(|count| count.iterations(workload));
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
