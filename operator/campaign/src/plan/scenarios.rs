//! Plans the scenarios: their comparisons, the number of rounds that verdicts require, and their cells.

use super::{Arm, PlanError, PlannedScenario, cells};
use crate::stats::Family;
use crate::validate::{ValidatedRun, ValidatedScenario};

/// Plans the scenarios of `run` with the cells of `arms`.
pub(super) fn plan(run: &ValidatedRun, arms: &[Arm]) -> Result<Vec<PlannedScenario>, PlanError> {
    run.scenarios
        .iter()
        .map(|scenario| plan_one(run, scenario, arms))
        .collect()
}

fn plan_one(
    run: &ValidatedRun,
    scenario: &ValidatedScenario,
    arms: &[Arm],
) -> Result<PlannedScenario, PlanError> {
    let comparisons = run.variants.len().saturating_sub(1) * scenario.sizes.len();
    let comparisons = u32::try_from(comparisons).unwrap_or(u32::MAX);
    Ok(PlannedScenario {
        assignment: scenario.assignment.clone(),
        sizes: scenario.sizes.clone(),
        primary: scenario.primary,
        comparisons,
        minimum_rounds: family(run, comparisons)?.minimum_rounds(),
        integrity: scenario.integrity,
        cells: cells::plan(scenario, run.transport.rails(), arms, run.baseline),
    })
}

/// Number of rounds at which a single outlier cannot decide a verdict in any scenario.
pub(super) fn recommended_rounds(
    run: &ValidatedRun,
    scenarios: &[PlannedScenario],
) -> Result<u32, PlanError> {
    let comparisons = scenarios
        .iter()
        .map(|scenario| scenario.comparisons)
        .max()
        .unwrap_or(0);
    Ok(family(run, comparisons)?.recommended_rounds())
}

/// Family of the comparisons of a scenario. If the baseline is the only variant, the family consists of its comparison
/// with the control arm.
fn family(run: &ValidatedRun, comparisons: u32) -> Result<Family, PlanError> {
    Family::new(comparisons.max(1), run.sampling.confidence_percent.into()).map_err(|error| {
        PlanError::Confidence {
            reason: error.to_string(),
        }
    })
}
