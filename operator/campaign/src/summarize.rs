//! Summarizes the records before the comparison. Performs no I/O.
//!
//! Each directory may use those above it in this list:
//!
//! - `workers`: facts about the workers that took part
//! - `validity`: whether each case is valid, and whether its bytes used the requested fabric
//! - `evidence`: whether what distinguishes an arm took effect
//! - `values`: the values of each arm, from the valid cases
//! - `notes`: evidence lines and warnings for the reader

mod evidence;
mod notes;
mod statistic;
mod summary;
mod validity;
mod values;
mod workers;

use crds::v1alpha1::Metric;

pub use evidence::difference_evidence::{DifferenceEvidence, DifferenceFinding};
pub(crate) use evidence::differences::are_inert;
pub use evidence::optimizations::Evidence;
pub use evidence::settings::SettingsEvidence;
pub use statistic::{METRICS, bounded_statistic, statistic};
pub use summary::Summary;
pub use validity::case_check::{CaseCheck, CaseProof, Invalid, MIN_SPAN_SHARE};
pub use validity::fabric::FabricEvidence;
pub use validity::limits::{FLOOR_INTERFACE_NANOS, FLOOR_MEMORY_NANOS};
pub(crate) use validity::section::SectionOutcome;
pub use values::bounds::{BoundingResource, UpperBound};
pub use values::cell::{CellSummary, ExclusiveMedians, InvalidCases};
pub use values::cell_view::CellView;
pub use values::cold::{SETUP_STEPS, SetupCostSummary, SetupStep};
pub use values::disturbance::Disturbance;
pub use values::flows::{FlowRate, FlowsSummary, ReceiverRate};
pub use values::load::MIN_COMPLETED_SHARE;
pub use values::observations::{Directions, Observations};
pub use values::pairs::{MIN_PAIRS, NodeDeviation, PairDeviation};
pub use values::round_summary::{POINT_LEVEL, RoundSummary};
pub use values::rounds::Rounds;
pub use values::sweep::{Knee, MAX_LATENCY_RATIO, RatePoint, SweepSummary};
pub use values::variance::{Deviations, VarianceSplit};
pub(crate) use workers::claims::ObtainedDevices;
pub use workers::endpoints::EndpointIndex;
pub use workers::environment::{ArmFacts, Environment, Worker};

use validity::fabric;
use values::{bounds, cell, cold, disturbance, pairs, sweep, variance};
use workers::configurations::ConfigurationIndex;
use workers::environment;

pub use crate::workload::footprint::summary::{FootprintMedians, FootprintSummary};
pub use crate::workload::parameter_serving::summary::{Serving, ServingWorker, WorkerLags};
pub use crate::workload::rpc::summary::{CallSummary, Moments};

use super::collect::Reports;
use super::plan::Plan;
use super::stopping::Stopping;

/// Checks every case of `reports` and summarizes the results of each arm of `plan`. `stopping` determines which blocks
/// are needed.
pub fn summarize(plan: &Plan, reports: &Reports, stopping: &Stopping) -> Summary {
    let progress = stopping.progress(plan, reports);
    let endpoints = EndpointIndex::new(plan, reports);
    let fabric = fabric::prove(plan, reports, &endpoints);
    let validities = validity::cases::check_cases(plan, reports, &endpoints, &fabric);
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
    let mut warnings = notes::records::warnings(plan, reports, &endpoints, &configurations, &progress);
    let sweeps = sweep::sweeps(plan, &cells);
    warnings.extend(fabric::log_lines::warnings(plan, reports));
    warnings.extend(notes::warnings(
        plan,
        &CellView::all(plan, &cells).collect::<Vec<_>>(),
        &sweeps,
    ));
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
        evidence_lines: notes::records::evidence_lines(reports),
        warnings,
        cells,
        validities,
    }
}
