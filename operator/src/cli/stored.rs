//! A finished run in its folder, evaluated anew: everything is computed from `run.json` and `records.jsonl`. Reads these
//! two.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use super::Failure;
use crate::campaign::collect::Collector;
use crate::campaign::plan::{self, Plan};
use crate::campaign::validate::validate;
use crate::campaign::{Evaluation, evaluate};
use crate::local::RunFolder;

/// A run, read and evaluated.
#[derive(Debug)]
pub struct StoredRun {
    /// Its plan, made anew from its spec.
    pub plan: Plan,
    /// Hash of the plan.
    pub plan_hash: String,
    /// What its records say.
    pub evaluation: Evaluation,
}

impl StoredRun {
    /// Reads and evaluates the run in `path`.
    ///
    /// # Errors
    /// When a file is missing or wrong; says which and what to do.
    pub fn load(path: &Path) -> Result<Self, Failure> {
        if let Some(several) = several_runs(path) {
            return Err(Failure::wrong_file(several));
        }
        let folder = RunFolder::open(path).map_err(Failure::wrong_file)?;
        let run = folder.read_run().map_err(Failure::wrong_file)?;
        let wrong = |what: &dyn Display| Failure::wrong_file(format!("{}: {what}", folder.run().display()));
        let uid = run.metadata.uid.clone();
        let uid = uid.ok_or_else(|| wrong(&"metadata.uid is missing: the records could be of any run"))?;
        let valid = validate(&run).map_err(|problems| {
            let problems: Vec<String> = problems.0.iter().map(ToString::to_string).collect();
            wrong(&problems.join("; "))
        })?;
        let plan = plan::plan(&valid).map_err(|error| wrong(&error))?;
        let plan_hash = plan::hash(&plan);
        let measured = run.status.and_then(|status| status.plan_hash);
        if let Some(measured) = measured.filter(|measured| *measured != plan_hash) {
            return Err(wrong(&format!(
                "status.planHash is {measured}, its spec plans to {plan_hash}: the spec was changed, or another version of \
                 fabricbench measured it. Use that version"
            )));
        }
        let mut collector = Collector::new(&plan, &uid, &plan_hash);
        let read = folder.read_records(|piece| collector.feed(piece));
        read.map_err(Failure::wrong_file)?;
        let reports = collector.finish();
        let evaluation = evaluate(&plan, &reports).map_err(|error| wrong(&error))?;
        Ok(Self {
            plan,
            plan_hash,
            evaluation,
        })
    }
}

/// The runs in `folder`, where it holds runs and is none itself.
fn several_runs(folder: &Path) -> Option<String> {
    let is_run = |path: &Path| RunFolder::open(path).is_ok();
    if is_run(folder) {
        return None;
    }
    let entries = std::fs::read_dir(folder).ok()?.flatten();
    let mut runs: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| is_run(path))
        .collect();
    runs.sort();
    let names: Vec<String> = runs.iter().map(|run| run.display().to_string()).collect();
    let place = folder.display();
    (!names.is_empty()).then(|| format!("{place} holds several runs. Name one: {}", names.join(", ")))
}
