//! A command's input file, with overrides from the command line.

use std::path::PathBuf;

use campaign::plan::{HashedPlan, plan};
use campaign::validate::validate;
use clap::Args;
use clap::builder::TypedValueParser;
use crds::v1alpha1::BenchmarkRun;
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
    #[arg(long, allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..=60))]
    pub rounds: Option<u32>,
    /// Seed of every run. Overrides spec.sampling.seed.
    #[arg(
        long,
        allow_negative_numbers = true,
        value_parser = clap::value_parser!(i64).range(0..=9_007_199_254_740_991).map(i64::cast_unsigned)
    )]
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
        let mut runs = manifest::load(&self.file, overlay.as_ref()).map_err(Failure::invalid_input)?;
        // A manifest that was exported from a cluster may contain the uid of the original run. The new run gets its own
        // uid.
        runs.iter_mut().for_each(|run| run.metadata.uid = None);
        self.plan(runs)
    }

    /// Validates and plans `runs`, which were read from [`Self::file`]. A run without a uid gets one, because its
    /// measurement order may be derived from the uid.
    ///
    /// # Errors
    /// Returns an error if a run is invalid. The error identifies the field and suggests a fix.
    pub fn plan(&self, runs: Vec<BenchmarkRun>) -> Result<Vec<PlannedRun>, Failure> {
        let several = runs.len() > 1;
        let mut planned = Vec::new();
        let mut errors = Vec::new();
        for mut run in runs {
            run.spec.sampling.rounds = self.rounds.or(run.spec.sampling.rounds);
            run.spec.sampling.seed = self.seed.or(run.spec.sampling.seed);
            let uid = run.metadata.uid.get_or_insert_with(|| Uuid::new_v4().to_string());
            let uid = uid.clone();
            let name = run.metadata.name.clone().unwrap_or_default();
            let prefix = if several {
                format!("{name}: ")
            } else {
                String::new()
            };
            let mut add_error = |what: &dyn std::fmt::Display| {
                errors.push(format!("{}: {prefix}{what}", self.file.display()));
            };
            match validate(&run) {
                Err(problems) => problems.0.iter().for_each(|problem| add_error(problem)),
                Ok(valid) => match plan(&valid) {
                    Err(error) => add_error(&error),
                    Ok(plan) => planned.push(PlannedRun { run, uid, plan }),
                },
            }
        }
        if errors.is_empty() {
            Ok(planned)
        } else {
            Err(Failure::invalid_input(errors.join("\n")))
        }
    }
}
