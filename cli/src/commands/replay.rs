//! `fabricbench replay`: measures the plan of a finished run again.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use crds::v1alpha1::BenchmarkRun;
use kube::api::ObjectMeta;

use super::run::{execute_run, reject_images};
use super::source::Source;
use super::stored::StoredRun;
use super::{Exit, Failure, Input};
use crate::local::{Interrupt, LocalRun, find_runner};

/// Measure the plan of a finished run again on this machine, and compare the two runs.
///
/// The new run has the same spec, number of rounds and order as the finished run, but its own pilot determines the
/// operation counts. The exit status is 1 if there is a regression and 3 if the environments differ. For a run that
/// needs a cluster, use --manifest to print a manifest.
#[derive(Debug, Args)]
#[command(after_help = "Examples: fabricbench replay demo-output/demo-shm
          fabricbench replay default/nixl-optimizations --manifest nixl-again | kubectl create --filename -")]
pub(super) struct Replay {
    /// Output directory of the finished run, or NAMESPACE/NAME of a run in the current kubeconfig context.
    source: Source,
    /// Directory for the results.
    #[arg(long, value_name = "DIR", default_value = "fabricbench-replay")]
    output: PathBuf,
    /// Path of the fabricbench-runner binary. By default, it is searched for in the directory of this binary, then in
    /// PATH.
    #[arg(long, value_name = "FILE")]
    runner: Option<PathBuf>,
    /// Print the new run with this name as JSON, for example for `kubectl create`, instead of measuring it.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["output", "runner"])]
    manifest: Option<String>,
}

impl Replay {
    pub(super) fn execute(self) -> Result<Exit, Failure> {
        let finished = StoredRun::load_complete(&self.source)?;
        // The seed is set even if the spec does not set it: it would be derived from the uid, and the new run has
        // another uid.
        let input = Input {
            file: PathBuf::from(self.source.to_string()),
            overlay: None,
            rounds: Some(finished.plan.rounds),
            seed: Some(finished.plan.seed),
        };
        let planned = input.plan(vec![new_run(&finished.run, self.manifest.clone())])?;
        let planned = planned
            .into_iter()
            .next()
            .ok_or_else(|| Failure::incomplete("the run has no plan"))?;
        if self.manifest.is_some() {
            return print(planned.run);
        }
        reject_images(&planned, &input.file)?;
        let runner = find_runner(self.runner.as_deref()).map_err(Failure::invalid_input)?;
        let directory = self.output.join(Path::new(&planned.plan.run));
        let mut run = LocalRun::create(planned.run, planned.uid, planned.plan, &directory)
            .map_err(Failure::invalid_input)?;
        let interrupt = Interrupt::listen()
            .map_err(|error| Failure::incomplete(format!("cannot listen for Ctrl-C: {error}")))?;
        execute_run(&mut run, &runner, &interrupt, Some(&finished))
    }
}

/// Creates a run with the spec of `finished`. Its name is `name` or, if that is `None`, the name of `finished`.
fn new_run(finished: &BenchmarkRun, name: Option<String>) -> BenchmarkRun {
    let mut spec = finished.spec.clone();
    spec.suspend = false;
    BenchmarkRun {
        metadata: ObjectMeta {
            name: name.or_else(|| finished.metadata.name.clone()),
            namespace: finished.metadata.namespace.clone(),
            ..ObjectMeta::default()
        },
        spec,
        status: None,
    }
}

/// Prints `run` without a uid, because the API server assigns one.
fn print(mut run: BenchmarkRun) -> Result<Exit, Failure> {
    run.metadata.uid = None;
    let mut out = std::io::stdout().lock();
    serde_json::to_writer_pretty(&mut out, &run).map_err(std::io::Error::from)?;
    writeln!(out)?;
    Ok(Exit::Complete)
}
