//! Plans a run: its legs, rounds, blocks, rails and chunks, in an order drawn from the seed. Performs no I/O.
//!
//! A plan leaves no decision to its executor. It is immutable and identified by its hash ([`HashedPlan`]).

mod arms;
mod assignment;
mod cells;
mod draw;
mod estimate;
mod gangs;
mod hash;
mod legs;
mod library_settings;
mod model;
mod purpose;
mod role;
mod scenarios;

use crds::v1alpha1::Sampling;

use super::validate::ValidatedRun;
pub use assignment::{AssignmentInputs, assignment};
pub use estimate::{Assumption, Estimate, case_limit_seconds, case_seconds, estimate, leg_estimate};
pub use hash::HashedPlan;
pub use model::{Arm, Cell, LIBRARY_NOT_USED, Leg, Plan, PlanError, PlannedScenario, Separation};
pub use role::Role;
use scenarios::PlannedScenarios;

/// Current version of the rules by which analyses end comparisons.
const STOPPING_RULES: u32 = 1;

/// Plans a run.
///
/// # Errors
/// Returns an error if a block or the whole run is too large, or if no interval exists at the requested confidence.
pub fn plan(run: &ValidatedRun) -> Result<HashedPlan, PlanError> {
    let arms = arms::plan(run);
    let PlannedScenarios {
        scenarios,
        controls,
        analyses,
    } = scenarios::plan(run, &arms)?;
    let rounds = analyses.last().copied().unwrap_or_default();
    let mut plan = Plan {
        run: run.name.clone(),
        transport: run.transport.clone(),
        workers: run.workers,
        many_to_many: run.many_to_many,
        devices: run.devices.clone(),
        align: run.align,
        sampling: Sampling {
            rounds: Some(rounds),
            ..run.sampling
        },
        reserves_nodes: run.exclusive,
        seed: run.seed,
        rounds,
        stopping_rules: (analyses.len() > 1).then_some(STOPPING_RULES),
        analyses,
        arms,
        baseline: run.baseline,
        factors: run.factors.clone(),
        scenarios,
        expectations: run.expectations.clone(),
        legs: Vec::new(),
        controls,
        blocks_total: 0,
        active_deadline_seconds: run.active_deadline_seconds,
        case_deadline_seconds: run.case_deadline_seconds,
    };
    plan.legs = legs::plan(&plan)?;
    let blocks = plan
        .legs
        .iter()
        .flat_map(|leg| &leg.rounds)
        .map(|round| round.blocks.len());
    plan.blocks_total = u32::try_from(blocks.sum::<usize>()).unwrap_or(u32::MAX);
    Ok(plan.into())
}

#[cfg(test)]
mod tests;
