//! Loads a run and evaluates its records. I/O is in [`directory`] and [`cluster`].

mod cluster;
mod directory;
mod status_check;

use std::fmt::Display;

use campaign::collect::Collector;
use campaign::plan::{self, HashedPlan};
use campaign::validate::validate;
use campaign::{Evaluation, RunOutcome, evaluate};
use crds::v1alpha1::BenchmarkRun;

use super::Failure;
use super::source::Source;
use crate::imported::directory::is_imported;

/// Run with its evaluation.
#[derive(Debug)]
pub(super) struct StoredRun {
    /// Run, as read from its source.
    pub run: BenchmarkRun,
    /// Location of the run: a file, or the run in a cluster.
    pub location: String,
    /// Plan, computed from the run's spec.
    pub plan: HashedPlan,
    /// Evaluation of the records.
    pub evaluation: Evaluation,
}

impl StoredRun {
    /// Reads and evaluates the run at `source`.
    ///
    /// # Errors
    /// Returns an error if the run is missing or invalid.
    pub(super) fn load(source: &Source) -> Result<Self, Failure> {
        match source {
            Source::Directory(path) if is_imported(path) => Err(Failure::invalid_input(format!(
                "{source} is an imported run: it has no plan, no rounds and no verdicts. It can be used only with \
                 `fabricbench report` and `fabricbench compare`"
            ))),
            Source::Directory(path) => directory::load(path),
            Source::Cluster(key) => cluster::load(key),
        }
    }

    /// Reads and evaluates a run that must be complete and intact.
    ///
    /// # Errors
    /// Returns an error if the run is missing, invalid or incomplete, or its records may differ from the measured
    /// records.
    pub(super) fn load_complete(source: &Source) -> Result<Self, Failure> {
        let stored = Self::load(source)?;
        if let Some(change) = stored.evaluation.changed_records {
            return Err(Failure::incomplete(change));
        }
        if stored.evaluation.outcome() == RunOutcome::Incomplete {
            return Err(Failure::incomplete(format!(
                "{source}: the run is not complete ({} of {} blocks)",
                stored.evaluation.summary.blocks_done, stored.evaluation.summary.blocks_total
            )));
        }
        Ok(stored)
    }

    /// Adds the description of a change of the records, which all reports of the run show, also before the verdict.
    fn with_changed_records(mut self, change: String) -> Self {
        self.evaluation.summary.warnings.insert(0, change.clone());
        let verdict = &mut self.evaluation.comparisons.verdict;
        *verdict = format!("not trusted, because the records were changed: {verdict}");
        self.evaluation.changed_records = Some(change);
        self
    }
}

/// Run whose records have not been read yet.
struct UnreadRun {
    run: BenchmarkRun,
    uid: String,
    /// Location of the run, for error messages.
    location: String,
    plan: HashedPlan,
}

impl UnreadRun {
    /// Plans `run`, which was read from `location`.
    fn new(run: BenchmarkRun, location: String) -> Result<Self, Failure> {
        let failure = |what: &dyn Display| Failure::invalid_input(format!("{location}: {what}"));
        let uid = run.metadata.uid.clone();
        let uid = uid.ok_or_else(|| {
            failure(&"metadata.uid is missing, so the records cannot be matched to the run")
        })?;
        let valid = validate(&run).map_err(|problems| {
            let problems: Vec<String> = problems.0.iter().map(ToString::to_string).collect();
            failure(&problems.join("; "))
        })?;
        let plan = plan::plan(&valid).map_err(|error| failure(&error))?;
        let measured = run.status.as_ref().and_then(|status| status.plan_hash.as_ref());
        if let Some(measured) = measured.filter(|measured| **measured != plan.hash()) {
            return Err(failure(&format!(
                "status.planHash is {measured}, but the spec yields plan hash {}: either the spec was changed, or \
                 a different version of fabricbench measured the run. Restore the spec, or use that version",
                plan.hash()
            )));
        }
        Ok(Self {
            run,
            uid,
            location,
            plan,
        })
    }

    fn collector(&self) -> Collector {
        Collector::new(&self.plan, &self.uid)
    }

    /// Evaluates the records that `collector` has read.
    fn evaluate(self, collector: Collector) -> Result<StoredRun, Failure> {
        let reports = collector.finish();
        let evaluation = evaluate(&self.plan, &reports)
            .map_err(|error| Failure::invalid_input(format!("{}: {error}", self.location)))?;
        Ok(StoredRun {
            run: self.run,
            location: self.location,
            plan: self.plan,
            evaluation,
        })
    }
}
