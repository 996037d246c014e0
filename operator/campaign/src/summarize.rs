//! What the records say before anything is compared: which cases can be trusted, what each arm did at each size,
//! whether its optimizations took part, and whether the bytes used the fabric that was asked for. Pure, no I/O.

mod cell;
mod cold;
mod endpoints;
mod environment;
mod evidence;
mod fabric;
mod limits;
mod notes;
mod pairs;
mod spread;
mod statistic;
mod validity;

use crds::v1alpha1::Metric;
use serde::Serialize;

pub use cell::{CellSummary, ExclusiveMedians, InvalidCases};
pub use cold::{COLD_METRICS, ColdMetric, ColdSummary};
pub use endpoints::EndpointIndex;
pub use environment::{Environment, Worker};
pub use evidence::Evidence;
pub use fabric::{COVERAGE, CaseProof, FabricEvidence};
pub use limits::{FLOOR_INTERFACE_NANOS, FLOOR_MEMORY_NANOS, LINE_RATE_TOLERANCE};
pub use pairs::{MIN_PAIRS, NodeDeviation, PairDeviation};
pub use spread::{POINT_LEVEL, Spread};
pub use statistic::{METRICS, statistic};
pub use validity::{Invalid, Judgement};

use super::collect::Reports;
use super::plan::Plan;

/// Everything the records say before anything is compared.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// Blocks that count.
    pub blocks_done: u32,
    /// Blocks of the plan.
    pub blocks_total: u32,
    /// What each arm did at each size: by scenario, size and arm, in the order of the plan.
    pub cells: Vec<CellSummary>,
    /// What each arm cost before its first measured operation.
    pub cold: Vec<ColdSummary>,
    /// Which fabric carried the bytes; nothing before the first measured case.
    pub fabric: Option<FabricEvidence>,
    /// How far each pair of nodes is from the others, those that deviate most first.
    pub pairs: Vec<PairDeviation>,
    /// Every node of them, the worst first.
    pub nodes: Vec<NodeDeviation>,
    /// What the workers ran on.
    pub environment: Environment,
    /// The evidence lines of the optimizations, each once.
    pub evidence_lines: Vec<String>,
    /// What a reader must know before trusting the numbers, each once.
    pub warnings: Vec<String>,
    /// Whether each case can be trusted, in the order of [`Reports::cases`].
    #[serde(skip)]
    pub judgements: Vec<Judgement>,
}

impl Summary {
    /// Whether all blocks of the plan count.
    pub fn complete(&self) -> bool {
        self.blocks_done >= self.blocks_total
    }

    /// Where every case of the plan failed: why, in the words of the first.
    pub fn nothing_measured(&self) -> Option<String> {
        let mut reasons = self.cells.iter().map(CellSummary::failure);
        let first = reasons.next()??;
        reasons.all(|reason| reason.is_some()).then_some(first)
    }

    /// What `arm` did in `scenario` at `size_bytes`; indexes as in the plan.
    pub fn cell(&self, scenario: usize, size_bytes: u64, arm: usize) -> Option<&CellSummary> {
        self.cells
            .iter()
            .find(|cell| (cell.scenario, cell.size_bytes, cell.arm) == (scenario, size_bytes, arm))
    }
}

/// Judges every case of `reports` and sums up what each arm of `plan` did.
pub fn summarize(plan: &Plan, reports: &Reports) -> Summary {
    let endpoints = EndpointIndex::new(plan, reports);
    let fabric = fabric::prove(plan, reports, &endpoints);
    let judgements = validity::judge(plan, reports, &endpoints, &fabric);
    let cells = cell::cells(plan, reports, &judgements);
    let pairs = pairs::pairs(plan, reports, &judgements);
    let primary: Vec<Metric> = plan.scenarios.iter().map(|scenario| scenario.primary).collect();
    Summary {
        blocks_done: reports.blocks_done(),
        blocks_total: plan.blocks_total,
        cold: cold::cold(plan, reports),
        fabric: fabric::sum_up(&fabric, &judgements, &endpoints),
        nodes: pairs::node_deviations(&primary, &pairs),
        pairs,
        environment: environment::environment(plan, reports),
        evidence_lines: notes::evidence_lines(reports),
        warnings: notes::warnings(plan, reports),
        cells,
        judgements,
    }
}
