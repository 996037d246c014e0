//! Reports of runs, imported runs and comparisons. Performs no I/O.
//!
//! A [`Document`] is built once for each subject, and each format of the registry ([`Format`]) renders it. JSON, CSV and
//! OpenMetrics, whose keys are stable, are written from the data of the subject.

pub mod csv;
mod document;
mod format;
pub mod html;
pub mod imported;
pub mod json;
pub mod junit;
mod labels;
pub mod markdown;
pub mod openmetrics;
pub mod plan;
mod plot;
mod run;
pub mod runs;
pub mod text;

use campaign::Evaluation;
use campaign::plan::{Arm, HashedPlan};
use campaign::summarize::CellView;
use crds::v1alpha1::BenchmarkRun;

pub use document::Document;
use document::Fact;
pub use format::{Format, RenderError, Subject};

/// Maximum number of items of a list in text and Markdown. JSON and HTML contain all of them.
const MAX_ITEMS: usize = 20;

/// Item that stands for the omitted ones in a list of `count` items.
fn more_items(count: usize) -> Option<String> {
    let more = count.checked_sub(MAX_ITEMS).filter(|more| *more > 0);
    more.map(|more| format!("{more} more in the JSON and HTML reports"))
}

/// A run and its evaluation.
#[derive(Clone, Copy, Debug)]
pub struct Report<'a> {
    /// Plan of the run.
    pub plan: &'a HashedPlan,
    /// Evaluation of the run's records.
    pub evaluation: &'a Evaluation,
}

impl<'a> Report<'a> {
    /// Document of the run.
    pub fn document(&self) -> Document {
        run::document(self)
    }

    /// Arms that are compared with the baseline, with their indexes in the plan. Excludes the baseline and the control
    /// arms.
    fn variants(&self) -> impl Iterator<Item = (usize, &'a Arm)> + use<'a> {
        let plan = self.plan;
        let arms = plan.arms.iter().enumerate();
        arms.filter(|(index, arm)| *index != plan.baseline && arm.control.is_none())
    }

    /// Results of all arms, by scenario, size and arm.
    fn cells(&self) -> impl Iterator<Item = CellView<'a>> + use<'a> {
        CellView::all(self.plan, &self.evaluation.summary.cells)
    }

    /// Results of all arms in the scenario with index `scenario`, by size and arm.
    fn cells_of(&self, scenario: usize) -> impl Iterator<Item = CellView<'a>> + use<'a> {
        self.cells().filter(move |view| view.cell.scenario == scenario)
    }

    /// Name of the arm with index `arm` in the plan.
    fn arm_name(&self, arm: usize) -> &'a str {
        self.plan.arm_name(arm)
    }
}

/// A run as it is stored.
#[derive(Clone, Copy, Debug)]
pub struct StoredReport<'a> {
    /// The resource.
    pub run: &'a BenchmarkRun,
    /// Plan and evaluation.
    pub report: Report<'a>,
    /// State with its reason and message, if the run is neither running nor complete.
    pub state_summary: Option<&'a str>,
}

impl Subject for StoredReport<'_> {
    fn document(&self) -> Document {
        let mut document = self.report.document();
        let state = self.state_summary.map(|state| Fact::new("state", state));
        document.facts.splice(0..0, state);
        document
    }

    fn json(&self) -> Result<String, RenderError> {
        json::render(&self.report).map_err(RenderError::failed)
    }

    fn csv(&self) -> Result<String, RenderError> {
        csv::render(&self.report).map_err(RenderError::failed)
    }

    fn openmetrics(&self) -> Result<String, RenderError> {
        openmetrics::render(self.run, &self.report).map_err(RenderError::failed)
    }
}
