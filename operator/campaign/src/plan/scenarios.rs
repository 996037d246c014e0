//! Plans the scenarios: their comparisons, the number of rounds that verdicts require, and their cells.

use crds::v1alpha1::Stop;

use super::cells;
use super::model::{Arm, Cell, PlanError, PlannedScenario};
use super::role::Role;
use crate::stats::{Family, MAX_ROUNDS, analysis_rounds, contrast};
use crate::validate::{ValidatedRun, ValidatedScenario};

/// A run's scenarios and the values derived from their comparisons.
pub(super) struct PlannedScenarios {
    /// The scenarios with the cells of all arms.
    pub scenarios: Vec<PlannedScenario>,
    /// Number of controls in all scenarios.
    pub controls: u32,
    /// Numbers of rounds after which the run is analyzed.
    pub analyses: Vec<u32>,
}

/// Plans the scenarios of `run` with the cells of `arms`.
pub(super) fn plan(run: &ValidatedRun, arms: &[Arm]) -> Result<PlannedScenarios, PlanError> {
    let planned = run.scenarios.iter().map(|scenario| plan_one(run, scenario, arms));
    let mut scenarios: Vec<PlannedScenario> = planned.collect();
    let controls = scenarios
        .iter()
        .map(|scenario| count(&scenario.cells, Role::is_control))
        .fold(0, u32::saturating_add);
    // The largest family determines the number of rounds, so that a single outlier can decide neither a verdict in any
    // scenario nor whether a control shows a change.
    let families = scenarios
        .iter()
        .flat_map(|scenario| [scenario.comparisons, scenario.factor_effects]);
    let largest = family(run, families.chain([controls]).max().unwrap_or(0))?;
    let rounds = run.sampling.rounds.unwrap_or(match run.sampling.stop {
        Stop::Fixed => largest.recommended_rounds(),
        Stop::Settled => MAX_ROUNDS,
    });
    let analyses = match run.sampling.stop {
        Stop::Fixed => vec![rounds],
        Stop::Settled => analysis_rounds(rounds, &largest),
    };
    for scenario in &mut scenarios {
        let family = family(run, scenario.comparisons.max(scenario.factor_effects))?;
        scenario.minimum_rounds = family.with_analyses(analyses.len()).minimum_rounds();
    }
    Ok(PlannedScenarios {
        scenarios,
        controls,
        analyses,
    })
}

/// Plans a scenario, except its minimum number of rounds.
fn plan_one(run: &ValidatedRun, scenario: &ValidatedScenario, arms: &[Arm]) -> PlannedScenario {
    let cells = cells::plan(scenario, &run.transport, arms, run.baseline);
    PlannedScenario {
        assignment: scenario.assignment.clone(),
        sweep: scenario.sweep.clone(),
        several_counts: scenario.several_counts.clone(),
        sizes: scenario.sizes.clone(),
        primary: scenario.primary,
        rate_format: scenario.rate_format,
        comparisons: count(&cells, |role| role == Role::Variant),
        factor_effects: factor_effects(run, scenario),
        minimum_rounds: 0,
        integrity: scenario.integrity,
        operation_counts: scenario.operation_counts.clone(),
        cells,
    }
}

fn factor_effects(run: &ValidatedRun, scenario: &ValidatedScenario) -> u32 {
    let effects = contrast::effect_count(run.factors.len()) * scenario.sizes.len();
    u32::try_from(effects).unwrap_or(u32::MAX)
}

fn count(cells: &[Cell], has_role: impl Fn(Role) -> bool) -> u32 {
    let found = cells.iter().filter(|cell| cell.role.is_some_and(&has_role));
    u32::try_from(found.count()).unwrap_or(u32::MAX)
}

/// Family of `comparisons` comparisons of a scenario, or of the controls of a run. If `comparisons` is 0, the level is
/// that of a single comparison: without verdicts, intervals are only descriptive.
fn family(run: &ValidatedRun, comparisons: u32) -> Result<Family, PlanError> {
    Family::new(comparisons.max(1), run.sampling.confidence_percent.into()).map_err(|error| {
        PlanError::Confidence {
            reason: error.to_string(),
        }
    })
}
