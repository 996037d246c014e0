//! Summarizes the records before the comparison: which cases are valid, the results of each arm at each size, whether
//! its optimizations engaged, and whether the bytes used the requested fabric. Performs no I/O.

mod bounds;
mod calls;
mod case_check;
mod cell;
mod claims;
mod cold;
mod configurations;
mod contradictions;
mod device_pairs;
mod difference_evidence;
mod differences;
mod disturbance;
mod endpoints;
mod environment;
mod evidence;
mod fabric;
mod flow_limits;
mod flows;
mod footprint;
mod limits;
mod load;
mod notes;
mod observations;
mod offload;
mod pairs;
mod reported_rate;
mod round_summary;
mod rounds;
mod serving;
mod settings;
mod statistic;
mod sweep;
mod validity;
mod values;
mod variance;
mod warnings;
mod windows;

use crds::v1alpha1::Metric;
use serde::Serialize;

pub use bounds::{BoundingResource, UpperBound};
pub use calls::{CallSummary, Moments};
pub use case_check::{CaseCheck, CaseProof, Invalid, MIN_SPAN_SHARE};
pub use cell::{CellSummary, ExclusiveMedians, InvalidCases};
pub(crate) use claims::ObtainedDevices;
pub use cold::{SETUP_STEPS, SetupCostSummary, SetupStep};
pub use difference_evidence::{DifferenceEvidence, DifferenceFinding};
pub(crate) use differences::are_inert;
pub use disturbance::Disturbance;
pub use endpoints::EndpointIndex;
pub use environment::{ArmFacts, Environment, Worker};
pub use evidence::Evidence;
pub use fabric::{COVERAGE, FabricEvidence};
pub use flows::{FlowRate, FlowsSummary, ReceiverRate};
pub use footprint::{FootprintMedians, FootprintSummary};
pub use limits::{FLOOR_INTERFACE_NANOS, FLOOR_MEMORY_NANOS};
pub use load::MIN_COMPLETED_SHARE;
pub use observations::{Directions, Observations};
pub use pairs::{MIN_PAIRS, NodeDeviation, PairDeviation};
pub use round_summary::{POINT_LEVEL, RoundSummary};
pub use serving::{Serving, ServingWorker, WorkerLags};
pub use settings::SettingsEvidence;
pub use statistic::{METRICS, bounded_statistic, statistic};
pub use sweep::{Knee, MAX_LATENCY_RATIO, RatePoint, SweepSummary};
pub use variance::{Deviations, VarianceSplit};

use configurations::ConfigurationIndex;

use super::collect::Reports;
use super::plan::Plan;
use super::stopping::Stopping;

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

/// Checks every case of `reports` and summarizes the results of each arm of `plan`. `stopping` determines which blocks
/// are needed.
pub fn summarize(plan: &Plan, reports: &Reports, stopping: &Stopping) -> Summary {
    let progress = stopping.progress(plan, reports);
    let endpoints = EndpointIndex::new(plan, reports);
    let fabric = fabric::prove(plan, reports, &endpoints);
    let validities = validity::check_cases(plan, reports, &endpoints, &fabric);
    let configurations = ConfigurationIndex::new(plan, reports);
    let mut cells = cell::cells(plan, reports, &validities, &endpoints, &configurations);
    let disturbances = disturbance::disturbances(plan, reports, &validities, &fabric.foreign_bytes);
    for cell in &mut cells {
        let key = (cell.scenario, cell.size_bytes, cell.arm);
        cell.disturbance = disturbances.get(&key).copied();
    }
    let pairs = pairs::pairs(plan, reports, &validities);
    let environment = environment::environment(plan, reports, &endpoints);
    let primary: Vec<Metric> = plan.scenarios.iter().map(|scenario| scenario.primary).collect();
    let mut warnings = notes::warnings(plan, reports, &endpoints, &configurations, &progress);
    let sweeps = sweep::sweeps(plan, &cells);
    warnings.extend(fabric::log_warnings(plan, reports));
    warnings.extend(warnings::warnings(plan, &cells, &sweeps));
    Summary {
        blocks_done: progress.done,
        blocks_total: progress.total,
        blocks_skipped: progress.skipped,
        saved_percent: (plan.analyses.len() > 1).then_some(progress.saved_percent),
        sweeps,
        cold: cold::cold(plan, reports),
        fabric: fabric::run_evidence(&fabric, &validities, &endpoints),
        nodes: pairs::node_deviations(&primary, &pairs),
        pairs,
        variances: variance::splits(plan, reports, &validities),
        upper_bounds: bounds::bounds(plan, &environment),
        environment,
        evidence_lines: notes::evidence_lines(reports),
        warnings,
        cells,
        validities,
    }
}
