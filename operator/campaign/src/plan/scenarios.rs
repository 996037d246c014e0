//! Plans the scenarios: their comparisons, the number of rounds that verdicts require, and their cells.

use super::{Arm, Cell, PlanError, PlannedScenario, Role, cells};
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
    let cells = cells::plan(scenario, run.transport.rails(), arms, run.baseline);
    let comparisons = count(&cells, |role| role == Role::Variant);
    Ok(PlannedScenario {
        assignment: scenario.assignment.clone(),
        sizes: scenario.sizes.clone(),
        primary: scenario.primary,
        comparisons,
        minimum_rounds: family(run, comparisons)?.minimum_rounds(),
        integrity: scenario.integrity,
        cells,
    })
}

/// Number of controls in all scenarios.
pub(super) fn controls(scenarios: &[PlannedScenario]) -> u32 {
    let controls = scenarios
        .iter()
        .map(|scenario| count(&scenario.cells, Role::is_control));
    controls.fold(0, u32::saturating_add)
}

fn count(cells: &[Cell], has_role: impl Fn(Role) -> bool) -> u32 {
    let found = cells.iter().filter(|cell| cell.role.is_some_and(&has_role));
    u32::try_from(found.count()).unwrap_or(u32::MAX)
}

/// Number of rounds at which a single outlier can decide neither a verdict in any scenario nor whether one of the
/// run's `controls` shows a change.
pub(super) fn recommended_rounds(
    run: &ValidatedRun,
    scenarios: &[PlannedScenario],
    controls: u32,
) -> Result<u32, PlanError> {
    let families = scenarios.iter().map(|scenario| scenario.comparisons);
    let largest = families.chain([controls]).max().unwrap_or(0);
    Ok(family(run, largest)?.recommended_rounds())
}

/// Family of the comparisons of a scenario, or of the controls of a run. An empty family has the level of a single
/// comparison: its intervals are only descriptive.
fn family(run: &ValidatedRun, comparisons: u32) -> Result<Family, PlanError> {
    Family::new(comparisons.max(1), run.sampling.confidence_percent.into()).map_err(|error| {
        PlanError::Confidence {
            reason: error.to_string(),
        }
    })
}
