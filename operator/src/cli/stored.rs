//! A finished run, evaluated anew: everything is computed from its spec and its records. I/O in [`folder`] and
//! [`cluster`].

mod cluster;
mod folder;

use std::fmt::Display;

use crds::v1alpha1::BenchmarkRun;

use super::Failure;
use super::source::Source;
use crate::campaign::collect::Collector;
use crate::campaign::plan::{self, Plan};
use crate::campaign::validate::validate;
use crate::campaign::{Evaluation, RunOutcome, evaluate};

/// A run, read and evaluated.
#[derive(Debug)]
pub struct StoredRun {
    /// The run as it was found.
    pub run: BenchmarkRun,
    /// Its plan, made anew from its spec.
    pub plan: Plan,
    /// Hash of the plan.
    pub plan_hash: String,
    /// What its records say.
    pub evaluation: Evaluation,
    /// Why its records are not those that were measured.
    pub doubt: Option<String>,
}

impl StoredRun {
    /// Reads and evaluates the run at `source`.
    ///
    /// # Errors
    /// When it is missing or wrong; says what and what to do.
    pub fn load(source: &Source) -> Result<Self, Failure> {
        match source {
            Source::Folder(path) => folder::load(path),
            Source::Cluster(key) => cluster::load(key),
        }
    }

    /// The same of a run that others are held against.
    ///
    /// # Errors
    /// When it is not complete, too.
    pub fn load_complete(source: &Source) -> Result<Self, Failure> {
        let stored = Self::load(source)?;
        if let Some(doubt) = stored.doubt {
            return Err(Failure::incomplete(doubt));
        }
        if stored.evaluation.outcome() == RunOutcome::Incomplete {
            return Err(Failure::incomplete(format!(
                "{source}: the run is not complete ({} of {} blocks)",
                stored.evaluation.summary.blocks_done, stored.evaluation.summary.blocks_total
            )));
        }
        Ok(stored)
    }

    /// The same, with `doubt` in every report of it.
    fn doubted(mut self, doubt: String) -> Self {
        self.evaluation.summary.warnings.insert(0, doubt.clone());
        self.doubt = Some(doubt);
        self
    }
}

/// A run whose records are to be read.
struct Unread {
    run: BenchmarkRun,
    uid: String,
    /// Where it was found, for messages.
    place: String,
    plan: Plan,
    plan_hash: String,
}

impl Unread {
    /// Plans `run`, which was found at `place`.
    fn new(run: BenchmarkRun, place: String) -> Result<Self, Failure> {
        let wrong = |what: &dyn Display| Failure::wrong_file(format!("{place}: {what}"));
        let uid = run.metadata.uid.clone();
        let uid = uid.ok_or_else(|| wrong(&"metadata.uid is missing: the records could be of any run"))?;
        let valid = validate(&run).map_err(|problems| {
            let problems: Vec<String> = problems.0.iter().map(ToString::to_string).collect();
            wrong(&problems.join("; "))
        })?;
        let plan = plan::plan(&valid).map_err(|error| wrong(&error))?;
        let plan_hash = plan::hash(&plan);
        let measured = run.status.as_ref().and_then(|status| status.plan_hash.as_ref());
        if let Some(measured) = measured.filter(|measured| **measured != plan_hash) {
            return Err(wrong(&format!(
                "status.planHash is {measured}, its spec plans to {plan_hash}: the spec was changed, or another version of \
                 fabricbench measured it. Use that version"
            )));
        }
        Ok(Self {
            run,
            uid,
            place,
            plan,
            plan_hash,
        })
    }

    fn collector(&self) -> Collector {
        Collector::new(&self.plan, &self.uid, &self.plan_hash)
    }

    /// What the records say that `collector` was fed with.
    fn evaluated(self, collector: Collector) -> Result<StoredRun, Failure> {
        let reports = collector.finish();
        let evaluation = evaluate(&self.plan, &reports)
            .map_err(|error| Failure::wrong_file(format!("{}: {error}", self.place)))?;
        Ok(StoredRun {
            run: self.run,
            plan: self.plan,
            plan_hash: self.plan_hash,
            evaluation,
            doubt: None,
        })
    }
}
