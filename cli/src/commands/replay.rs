//! `fabricbench replay`: measures a finished run's plan again.

use std::path::{Path, PathBuf};

use campaign::plan::PlannedScenario;
use clap::Args;
use crds::units::Size;
use crds::v1alpha1::{BenchmarkRun, SizeOperations};
use kube::api::ObjectMeta;
use operator::terminal::print_json;

use super::run::{execute_run, reject_images};
use super::source::Source;
use super::stored::StoredRun;
use super::{Exit, Failure, Input};
use crate::local::{Interrupt, LocalRun, ThisMachine, find_runner};

/// Measure a finished run's plan again on this machine, and compare the two runs.
///
/// The new run uses the spec, number of rounds, measurement order and operation counts of the finished run, so it needs
/// no pilot. The exit status is 1 if there is a regression and 3 if the environments differ. For a run that needs a
/// cluster, --manifest prints a manifest.
#[derive(Debug, Args)]
#[command(after_help = "Examples: fabricbench replay demo-output/demo-shm
          fabricbench replay default/nixl-optimizations --manifest nixl-again | kubectl create --filename -")]
pub(super) struct Replay {
    /// Output directory of the finished run, or NAMESPACE/NAME of a run in the current kubeconfig context.
    source: Source,
    /// Directory for the results.
    #[arg(long, value_name = "DIR", default_value = "fabricbench-replay")]
    output: PathBuf,
    /// Path to the fabricbench-runner binary. Defaults to the one in the directory of this binary, or else the one in
    /// PATH.
    #[arg(long, value_name = "FILE")]
    runner: Option<PathBuf>,
    /// Print the new run as JSON with this name instead of measuring it, for example for `kubectl create`.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["output", "runner"])]
    manifest: Option<String>,
}

impl Replay {
    pub(super) fn execute(self) -> Result<Exit, Failure> {
        let finished = StoredRun::load_complete(&self.source)?;
        // The seed is set even if the spec does not set one. Otherwise, it would be derived from the uid, which is
        // different in the new run.
        let input = Input {
            file: PathBuf::from(self.source.to_string()),
            overlay: None,
            rounds: Some(finished.plan.rounds),
            seed: Some(finished.plan.seed),
        };
        let planned = input.plan(new_run(&finished, self.manifest.clone()))?;
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
        let here = ThisMachine::new(runner).map_err(Failure::incomplete)?;
        execute_run(&mut run, &here, &interrupt, Some(&finished))
    }
}

/// Creates a run with the spec and the operation counts of `finished`. If `name` is `None`, the new run has the same
/// name as `finished`.
fn new_run(finished: &StoredRun, name: Option<String>) -> BenchmarkRun {
    let mut spec = finished.run.spec.clone();
    spec.suspend = false;
    for scenario in &mut spec.scenarios {
        // A sweep has a planned scenario for each rate.
        let planned = finished.plan.scenarios.iter().enumerate();
        let of_scenario = planned.filter(|(_, planned)| planned.name_in_spec() == scenario.name);
        let piloted: Vec<_> = of_scenario.filter(|(_, planned)| planned.needs_pilot()).collect();
        if !piloted.is_empty() {
            let counts = piloted.into_iter().flat_map(|(index, planned)| {
                let sizes = planned.sizes.iter();
                sizes.map(move |size| operations(finished, index, planned, *size))
            });
            // If the count for any size or rate is missing, the pilot determines all counts again.
            scenario.operation_counts = counts.collect::<Option<_>>().unwrap_or_default();
        }
    }
    BenchmarkRun {
        metadata: ObjectMeta {
            name: name.or_else(|| finished.run.metadata.name.clone()),
            namespace: finished.run.metadata.namespace.clone(),
            ..ObjectMeta::default()
        },
        spec,
        status: None,
    }
}

/// Returns the operation count of a scenario at one size, or `None` if no arm has a valid case.
fn operations(
    finished: &StoredRun,
    scenario: usize,
    planned: &PlannedScenario,
    size_bytes: u64,
) -> Option<SizeOperations> {
    let cells = finished.evaluation.summary.cells.iter();
    let mut of_size = cells.filter(|cell| (cell.scenario, cell.size_bytes) == (scenario, size_bytes));
    let iterations = of_size.find_map(|cell| cell.iterations)?;
    Some(SizeOperations {
        size: Size(size_bytes),
        rate: planned.sweep.as_ref().and(planned.rate()),
        iterations,
    })
}

/// Prints `run` without the uid, which the API server assigns.
fn print(mut run: BenchmarkRun) -> Result<Exit, Failure> {
    run.metadata.uid = None;
    print_json(&run)?;
    Ok(Exit::Complete)
}
