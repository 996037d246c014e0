//! A run that was carried out, read back from its folder. I/O: reads the folder; everything else is computed anew.

use std::path::Path;

use crds::v1alpha1::BenchmarkRun;
use snafu::{OptionExt, ResultExt, Snafu, ensure};

use super::output::{OutputError, RunFolder};
use crate::campaign::collect::{Reports, collect};
use crate::campaign::compare::CompareError;
use crate::campaign::plan::{Plan, PlanError, hash, plan};
use crate::campaign::validate::{Problems, validate};
use crate::campaign::{Evaluation, evaluate};
use crate::report::Report;

/// Why a folder holds no run that can be reported.
#[derive(Debug, Snafu)]
pub enum FinishedError {
    /// The folder cannot be read.
    #[snafu(display("{source}"))]
    Folder {
        /// Why not.
        source: OutputError,
    },
    /// The spec in `run.json` is refused.
    #[snafu(display("{folder}/run.json: {source}"))]
    Spec {
        /// The folder.
        folder: String,
        /// Every problem.
        source: Problems,
    },
    /// The spec in `run.json` cannot be planned.
    #[snafu(display("{folder}/run.json: {source}"))]
    Planning {
        /// The folder.
        folder: String,
        /// Why not.
        source: PlanError,
    },
    /// `run.json` lacks what a run of ours has.
    #[snafu(display("{folder}/run.json has no {field}: it is no run of this program"))]
    Foreign {
        /// The folder.
        folder: String,
        /// The field.
        field: &'static str,
    },
    /// This program plans the spec in another way than the one that measured it.
    #[snafu(display(
        "{folder} was measured by another plan ({found}, now {planned}): its spec or this program changed since"
    ))]
    OtherPlan {
        /// The folder.
        folder: String,
        /// Hash of its plan.
        found: String,
        /// Hash of the plan now.
        planned: String,
    },
    /// The records cannot be evaluated.
    #[snafu(display("{source}"))]
    Evaluating {
        /// Why not.
        source: CompareError,
    },
}

/// A run with everything its records say.
pub struct FinishedRun {
    /// Its plan.
    pub plan: Plan,
    /// Hash of the plan.
    pub plan_hash: String,
    /// Its records.
    pub reports: Reports,
    /// What they say.
    pub evaluation: Evaluation,
}

impl FinishedRun {
    /// Reads the run in the folder `path`.
    ///
    /// # Errors
    /// When the folder holds no run of this program's, or one that it would plan in another way.
    pub fn open(path: &Path) -> Result<Self, FinishedError> {
        let name = path.display().to_string();
        let folder = RunFolder::open(path).context(FolderSnafu)?;
        let run: BenchmarkRun = folder.read_run().context(FolderSnafu)?;
        let uid = run.metadata.uid.clone().context(ForeignSnafu {
            folder: &name,
            field: "metadata.uid",
        })?;
        let found = run.status.as_ref().and_then(|status| status.plan_hash.clone());
        let found = found.context(ForeignSnafu {
            folder: &name,
            field: "status.planHash",
        })?;
        let valid = validate(&run).context(SpecSnafu { folder: &name })?;
        let plan = plan(&valid).context(PlanningSnafu { folder: &name })?;
        let plan_hash = hash(&plan);
        ensure!(
            found == plan_hash,
            OtherPlanSnafu {
                folder: name,
                found,
                planned: plan_hash
            }
        );
        let records = folder.read_records().context(FolderSnafu)?;
        let reports = collect(&plan, &uid, &plan_hash, &records);
        let evaluation = evaluate(&plan, &reports).context(EvaluatingSnafu)?;
        Ok(Self {
            plan,
            plan_hash,
            reports,
            evaluation,
        })
    }

    /// What every format of a report is made of.
    pub fn report(&self) -> Report<'_> {
        Report {
            plan: &self.plan,
            plan_hash: &self.plan_hash,
            reports: &self.reports,
            evaluation: &self.evaluation,
        }
    }
}
