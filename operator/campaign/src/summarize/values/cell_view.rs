//! Results with the scenario and the arm that they belong to.

use super::cell::CellSummary;
use crate::plan::{Arm, Plan, PlannedScenario};

/// Results of one arm at one size, with the arm and the scenario in the plan.
#[derive(Clone, Copy, Debug)]
pub struct CellView<'a> {
    /// The scenario.
    pub scenario: &'a PlannedScenario,
    /// The arm.
    pub arm: &'a Arm,
    /// The results.
    pub cell: &'a CellSummary,
}

impl<'a> CellView<'a> {
    /// The results in `cells` of scenarios and arms that `plan` has.
    pub fn all(plan: &'a Plan, cells: &'a [CellSummary]) -> impl Iterator<Item = Self> + use<'a> {
        cells.iter().filter_map(|cell| {
            Some(Self {
                scenario: plan.scenarios.get(cell.scenario)?,
                arm: plan.arms.get(cell.arm)?,
                cell,
            })
        })
    }

    /// Whether the arm is a second copy of the baseline.
    pub fn is_control(&self) -> bool {
        self.arm.control.is_some()
    }
}
