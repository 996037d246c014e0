//! Reports of an evaluation: text for a terminal, JSON, CSV and OpenMetrics for other programs, HTML for a browser,
//! Markdown for a pull request and JUnit XML for CI. Performs no I/O.
//!
//! Each format has its own file. The formats share labels and sentences ([`labels`], [`comparison`], [`overview`]).
//! Formats for human readers start with a summary of the run, followed by the changes with their intervals or the
//! reasons for missing results.

mod arm_values;
mod comparison;
pub mod csv;
pub mod differences;
pub mod factors;
pub mod html;
pub mod imported;
pub mod isolated;
pub mod json;
pub mod junit;
pub mod labels;
mod lost_rounds;
pub mod markdown;
pub mod noise;
pub mod observations;
pub mod openmetrics;
pub mod overview;
pub mod plan;
mod result_table;
pub mod runs;
pub mod serving;
pub mod stopping;
pub mod sweep;
pub mod text;

use campaign::Evaluation;
use campaign::plan::{Arm, HashedPlan};

/// Input to every report format.
#[derive(Clone, Copy, Debug)]
pub struct Report<'a> {
    /// Plan of the run.
    pub plan: &'a HashedPlan,
    /// Evaluation of the run's records.
    pub evaluation: &'a Evaluation,
}

impl<'a> Report<'a> {
    /// Arms that are compared with the baseline, with their indexes in the plan. Excludes the baseline and the control
    /// arms.
    pub fn variants(&self) -> impl Iterator<Item = (usize, &'a Arm)> + use<'a> {
        let plan = self.plan;
        let arms = plan.arms.iter().enumerate();
        arms.filter(|(index, arm)| *index != plan.baseline && arm.control.is_none())
    }
}
