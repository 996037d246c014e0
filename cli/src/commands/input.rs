//! A command's input file, with overrides from the command line.

use std::path::{Path, PathBuf};

use campaign::plan::{HashedPlan, plan};
use campaign::validate::validate;
use clap::Args;
use crds::number::whole_number;
use crds::v1alpha1::BenchmarkRun;
use manifest::{Defect, Manifest, ManifestError};
use uuid::Uuid;

use super::Failure;

/// Input file and overrides.
#[derive(Clone, Debug, Args)]
pub struct Input {
    /// File with one or more BenchmarkRuns as YAML documents.
    pub file: PathBuf,
    /// File with overrides for other hardware: `transport`, `memory` (for all scenarios), `devices`, `align` and
    /// `resources` replace the corresponding fields of every run.
    #[arg(long, value_name = "FILE")]
    pub overlay: Option<PathBuf>,
    /// Number of rounds in every run. Overrides spec.sampling.rounds.
    #[arg(long, allow_negative_numbers = true, value_parser = whole_number(1..=60_u32))]
    pub rounds: Option<u32>,
    /// Seed of every run. Overrides spec.sampling.seed.
    #[arg(long, allow_negative_numbers = true, value_parser = whole_number(0..=9_007_199_254_740_991_u64))]
    pub seed: Option<u64>,
}

/// Run with its plan.
#[derive(Clone, Debug)]
pub struct PlannedRun {
    /// Run with the overlay and the overrides applied.
    pub run: BenchmarkRun,
    /// `metadata.uid` of the run.
    pub uid: String,
    /// Plan of the run.
    pub plan: HashedPlan,
}

impl Input {
    /// Reads, validates and plans every run in the file.
    ///
    /// # Errors
    /// Returns an error if the file or the overlay cannot be read or is invalid. The error identifies the field and
    /// suggests a fix.
    pub fn load(&self) -> Result<Vec<PlannedRun>, Failure> {
        let overlay = self.overlay.as_deref().map(manifest::load_overlay).transpose();
        let overlay = overlay.map_err(Failure::invalid_input)?;
        let mut manifest = Manifest::load(&self.file, overlay.as_ref()).map_err(Failure::invalid_input)?;
        // A manifest that was exported from a cluster may contain the uid of the original run. The new run gets its own
        // uid.
        let mut runs = std::mem::take(&mut manifest.runs);
        runs.iter_mut().for_each(|run| run.metadata.uid = None);
        self.plan_all(runs)
            .map_err(|problems| Failure::invalid_input(manifest.error(problems)))
    }

    /// Validates and plans every run in `text`, the content of `file`, like [`Input::load`].
    ///
    /// # Errors
    /// Returns all defects, each with its field and a remedy.
    pub(super) fn load_text(file: &Path, text: &str) -> Result<Vec<PlannedRun>, Vec<Defect>> {
        let manifest = Manifest::parse(file, text, None)?;
        let input = Self {
            file: file.to_owned(),
            overlay: None,
            rounds: None,
            seed: None,
        };
        let planned = input.plan_all(manifest.runs);
        planned.map_err(|problems| problems.into_iter().map(|(_, defect)| defect).collect())
    }

    /// Validates and plans `run`, which is stored in a cluster or an output directory. A run without a uid gets one,
    /// because its measurement order may be derived from the uid.
    ///
    /// # Errors
    /// Returns an error if the run is invalid. The error identifies the field and suggests a fix.
    pub fn plan(&self, run: BenchmarkRun) -> Result<PlannedRun, Failure> {
        let mut planned = self.plan_all(vec![run]).map_err(|problems| {
            let defects = problems.into_iter().map(|(_, defect)| defect).collect();
            Failure::invalid_input(ManifestError::new(&self.file, defects))
        })?;
        let planned = planned.pop();
        planned.ok_or_else(|| Failure::invalid_input(format!("{}: no run was planned", self.file.display())))
    }

    /// Validates and plans `runs`. Returns all problems, each with the index of its run.
    fn plan_all(&self, runs: Vec<BenchmarkRun>) -> Result<Vec<PlannedRun>, Vec<(usize, Defect)>> {
        let mut planned = Vec::new();
        let mut found = Vec::new();
        for (index, mut run) in runs.into_iter().enumerate() {
            run.spec.sampling.rounds = self.rounds.or(run.spec.sampling.rounds);
            run.spec.sampling.seed = self.seed.or(run.spec.sampling.seed);
            let uid = run.metadata.uid.get_or_insert_with(|| Uuid::new_v4().to_string());
            let uid = uid.clone();
            match validate(&run) {
                Err(problems) => found.extend(problems.0.into_iter().map(|problem| (index, problem.into()))),
                Ok(valid) => match plan(&valid) {
                    Err(error) => found.push((index, plan_defect(&error.to_string()))),
                    Ok(plan) => planned.push(PlannedRun { run, uid, plan }),
                },
            }
        }
        match found.is_empty() {
            true => Ok(planned),
            false => Err(found),
        }
    }
}

/// A defect that the planner found. Its message starts with the path of the field, if it concerns a single one.
fn plan_defect(message: &str) -> Defect {
    match message.split_once(": ") {
        Some((path, message)) if path.starts_with("spec.") => Defect::field(path, message),
        _ => Defect::file(message),
    }
}
