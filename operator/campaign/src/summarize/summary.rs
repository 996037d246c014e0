//! The summary of a run's records.

use serde::Serialize;

use super::validity::case_check::CaseCheck;
use super::validity::fabric::FabricEvidence;
use super::values::bounds::UpperBound;
use super::values::cell::CellSummary;
use super::values::cold::SetupCostSummary;
use super::values::pairs::{NodeDeviation, PairDeviation};
use super::values::sweep::SweepSummary;
use super::values::variance::VarianceSplit;
use super::workers::environment::Environment;

/// Summary of a run's records.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// Number of needed blocks that have been verified.
    pub blocks_done: u32,
    /// Number of blocks that are needed: all blocks of the plan, except those that were skipped.
    pub blocks_total: u32,
    /// Number of planned blocks that are not needed, because the comparisons that they would measure have ended.
    pub blocks_skipped: u32,
    /// Percentage of the planned cases that are not needed; `None` if the run has a single analysis.
    pub saved_percent: Option<f64>,
    /// Results of each arm at each size, by scenario, size and arm in plan order.
    pub cells: Vec<CellSummary>,
    /// Results of each arm in the load sweeps, in plan order.
    pub sweeps: Vec<SweepSummary>,
    /// Setup costs of each arm before its first measured operation.
    pub cold: Vec<SetupCostSummary>,
    /// The fabric that carried the bytes; `None` before the first measured case.
    pub fabric: Option<FabricEvidence>,
    /// Deviation of each pair of nodes from the median pair, largest first.
    pub pairs: Vec<PairDeviation>,
    /// Deviation of each node in `pairs`, worst first.
    pub nodes: Vec<NodeDeviation>,
    /// Variance of the baseline for each scenario and size, split into components.
    pub variances: Vec<VarianceSplit>,
    /// Upper bounds on the throughput of each scenario with transfers.
    pub upper_bounds: Vec<UpperBound>,
    /// Environment of the workers.
    pub environment: Environment,
    /// Distinct evidence lines of the optimizations.
    pub evidence_lines: Vec<String>,
    /// Distinct warnings that qualify the results.
    pub warnings: Vec<String>,
    /// Validity of each case, in the order of [`Reports::cases`].
    #[serde(skip)]
    pub validities: Vec<CaseCheck>,
}

impl Summary {
    /// Whether all needed blocks have been verified.
    pub fn is_complete(&self) -> bool {
        self.blocks_done >= self.blocks_total
    }

    /// Reason for the first failure if every case of the plan failed; `None` otherwise.
    pub fn nothing_measured(&self) -> Option<String> {
        let mut reasons = self.cells.iter().map(CellSummary::failure);
        let first = reasons.next()??;
        reasons.all(|reason| reason.is_some()).then_some(first)
    }

    /// Results of `arm` in `scenario` at `size_bytes`. The indexes refer to the plan.
    pub fn cell(&self, scenario: usize, size_bytes: u64, arm: usize) -> Option<&CellSummary> {
        self.cells
            .iter()
            .find(|cell| (cell.scenario, cell.size_bytes, cell.arm) == (scenario, size_bytes, arm))
    }
}
