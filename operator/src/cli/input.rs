//! The file that a command plans or runs, and what the command line changes in it.

use std::path::PathBuf;

use clap::Args;
use clap::builder::TypedValueParser;
use crds::v1alpha1::BenchmarkRun;

use super::Failure;
use crate::campaign::plan::{Plan, plan};
use crate::campaign::validate::validate;
use crate::manifest;

/// Where runs come from.
#[derive(Clone, Debug, Args)]
pub struct Input {
    /// File with one BenchmarkRun or several, as YAML documents.
    pub file: PathBuf,
    /// File that moves every run to other hardware: `transport`, `memory` (of all scenarios) and `resources` replace
    /// the run's own.
    #[arg(long, value_name = "FILE")]
    pub overlay: Option<PathBuf>,
    /// Rounds of every run, instead of spec.sampling.rounds.
    #[arg(long, allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..=60))]
    pub rounds: Option<u32>,
    /// Seed of every run, instead of spec.sampling.seed.
    #[arg(
        long,
        allow_negative_numbers = true,
        value_parser = clap::value_parser!(i64).range(0..=9_007_199_254_740_991).map(i64::cast_unsigned)
    )]
    pub seed: Option<u64>,
}

/// A run and what it will do.
#[derive(Clone, Debug)]
pub struct PlannedRun {
    /// The run, overlay and command line applied.
    pub run: BenchmarkRun,
    /// Its plan.
    pub plan: Plan,
}

impl Input {
    /// Reads, checks and plans every run of the file.
    ///
    /// # Errors
    /// When the file is wrong: names the field and says what to do.
    pub fn load(&self) -> Result<Vec<PlannedRun>, Failure> {
        let overlay = self.overlay.as_deref().map(manifest::load_overlay).transpose()?;
        self.plan(manifest::load(&self.file, overlay.as_ref())?)
    }

    /// Checks and plans `runs`, which were found at [`Self::file`].
    ///
    /// # Errors
    /// When one is wrong: names the field and says what to do.
    pub fn plan(&self, runs: Vec<BenchmarkRun>) -> Result<Vec<PlannedRun>, Failure> {
        let several = runs.len() > 1;
        let mut planned = Vec::new();
        let mut faults = Vec::new();
        for mut run in runs {
            run.spec.sampling.rounds = self.rounds.or(run.spec.sampling.rounds);
            run.spec.sampling.seed = self.seed.unwrap_or(run.spec.sampling.seed);
            let name = run.metadata.name.clone().unwrap_or_default();
            let place = if several {
                format!("{name}: ")
            } else {
                String::new()
            };
            let mut wrong = |what: &dyn std::fmt::Display| {
                faults.push(format!("{}: {place}{what}", self.file.display()));
            };
            match validate(&run) {
                Err(problems) => problems.0.iter().for_each(|problem| wrong(problem)),
                Ok(valid) => match plan(&valid) {
                    Err(error) => wrong(&error),
                    Ok(plan) => planned.push(PlannedRun { run, plan }),
                },
            }
        }
        if faults.is_empty() {
            Ok(planned)
        } else {
            Err(Failure::wrong_file(faults.join("\n")))
        }
    }
}
