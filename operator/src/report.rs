//! What an evaluation looks like: for a terminal, for programs, for a browser. Pure, no I/O.
//!
//! One file a format. All of them say the same, in the same words ([`words`]): first what changed, by how much and
//! how surely, then why a cell has no answer, then where the rest is.

pub mod csv;
pub mod html;
pub mod json;
pub mod junit;
pub mod markdown;
pub mod openmetrics;
pub mod plan;
pub mod runs;
pub mod text;
pub mod words;

use crate::campaign::Evaluation;
use crate::campaign::plan::{Arm, Plan};

/// Everything a report is made of.
#[derive(Clone, Copy, Debug)]
pub struct Report<'a> {
    /// The plan of the run.
    pub plan: &'a Plan,
    /// Hash of the plan.
    pub plan_hash: &'a str,
    /// What the records say.
    pub evaluation: &'a Evaluation,
}

impl<'a> Report<'a> {
    /// The arms that are compared with the baseline, with their indexes in the plan: neither it nor a control.
    pub fn variants(&self) -> impl Iterator<Item = (usize, &'a Arm)> + use<'a> {
        let plan = self.plan;
        let arms = plan.arms.iter().enumerate();
        arms.filter(|(index, arm)| *index != plan.baseline && arm.control.is_none())
    }
}
