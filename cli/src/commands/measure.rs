//! `fabricbench measure`: the run that a client role of `fabricbench-runner` describes. The roles start this command.

use std::fmt::Display;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use crds::file_error::with_remedy;
use manifest::ManifestError;
use operator::terminal::{print, print_styled};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::input::PlannedRun;
use super::output::text_options;
use super::{Exit, Failure, Input};
use crate::local::{Interrupt, LocalRun, RunResult, StopReason, ThisMachine, find_runner};
use crate::report::{Report, json, text};

/// Directory of the run, in a temporary directory.
const RUN: &str = "run";

/// Measure a run with a single arm, print its report and a summary as JSON, and write its JSON report to a file.
#[derive(Debug, Args)]
#[command(hide = true)]
pub(super) struct Measure {
    /// The BenchmarkRun, as JSON.
    #[arg(long, value_name = "JSON")]
    manifest: String,
    /// The fabricbench-runner binary that starts the workers.
    #[arg(long, value_name = "FILE")]
    runner: PathBuf,
    /// Server that becomes worker 1, for the option of the same name of fabricbench-runner.
    #[arg(long, value_name = "JSON")]
    server: Option<String>,
    /// Device of each rail.
    #[arg(long, value_name = "DEVICE")]
    device: Vec<String>,
    /// Choose no devices, because a variable of the library does.
    #[arg(long)]
    library_chooses_devices: bool,
    /// File for the JSON report.
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Add the samples of all operations to the file.
    #[arg(long, requires = "output")]
    store_trace: bool,
}

impl Measure {
    pub(super) fn execute(self) -> Result<Exit, Failure> {
        let PlannedRun { run, uid, plan } = self.plan()?;
        // A file that cannot be written is reported before the measurement instead of after it.
        if let Some(file) = &self.output {
            let opened = fs::OpenOptions::new().create(true).append(true).open(file);
            opened.map_err(|error| Failure::incomplete(cannot_write(file, &error)))?;
        }
        let runner = find_runner(Some(&self.runner)).map_err(Failure::invalid_input)?;
        let interrupt = Interrupt::listen()
            .map_err(|error| Failure::incomplete(format!("cannot listen for Ctrl-C: {error}")))?;
        let directory = tempfile::Builder::new().prefix("fabricbench-").tempdir();
        let directory = directory
            .map_err(|error| Failure::incomplete(format!("cannot create a temporary directory: {error}")))?;
        let samples = self.samples_directory(&directory).map_err(|error| {
            Failure::incomplete(format!("cannot create a directory for the samples: {error}"))
        })?;
        let mut executor = ThisMachine::new(runner).map_err(Failure::incomplete)?;
        executor.server = self.server.clone();
        executor.rails = match (self.device.is_empty(), self.library_chooses_devices) {
            (false, _) => Some(self.device.clone()),
            (true, true) => Some(Vec::new()),
            (true, false) => None,
        };
        executor.samples = samples.clone();
        let path = directory.path().join(RUN);
        let mut run = LocalRun::create(run, uid, plan, &path).map_err(Failure::incomplete)?;
        let ended = match run.execute(&executor, &interrupt) {
            Ok(ended) => ended,
            Err(error) => return Err(kept(directory, &error)),
        };
        if ended.stopped.is_none() || ended.evaluation.summary.blocks_done > 0 {
            let published = self.publish(&run, &ended, samples.as_deref());
            published.map_err(|message| kept(directory, &message))?;
        }
        match &ended.stopped {
            None => Ok(ended.evaluation.outcome().into()),
            Some(StopReason::Rejected(message)) => Err(Failure::invalid_input(message)),
            Some(reason) => Err(Failure::incomplete(reason)),
        }
    }

    fn plan(&self) -> Result<PlannedRun, Failure> {
        let input = Input {
            file: PathBuf::from("flags"),
            overlay: None,
            rounds: None,
            seed: None,
        };
        let runs = manifest::parse(&self.manifest, None)
            .map_err(|defects| Failure::invalid_input(ManifestError::new(&input.file, defects)))?;
        match <[_; 1]>::try_from(runs) {
            Ok([run]) => input.plan(run),
            Err(runs) => Err(Failure::invalid_input(format!(
                "--manifest: {} runs, instead of one",
                runs.len()
            ))),
        }
    }

    fn samples_directory(&self, parent: &TempDir) -> io::Result<Option<PathBuf>> {
        let path = self.store_trace.then(|| parent.path().join("samples"));
        path.as_ref().map_or(Ok(()), fs::create_dir)?;
        Ok(path)
    }

    /// Writes the results to the file, and prints them. If one of these steps fails, the others are still performed.
    ///
    /// # Errors
    /// Returns the message of the first step that failed.
    fn publish(&self, run: &LocalRun, ended: &RunResult, samples: Option<&Path>) -> Result<(), String> {
        let report = Report {
            plan: run.plan(),
            evaluation: &ended.evaluation,
        };
        let printed = print_styled(&text::render(&report.document(), &text_options(false)));
        let printed = printed.map_err(|error| format!("writing to standard output failed: {error}"));
        let document = json::render(&report).and_then(|text| serde_json::from_str::<Value>(&text));
        let mut document = document.map_err(|error| cannot_render(&error))?;
        let results = document["results"].as_array().into_iter().flatten();
        let results: Vec<Value> = results.map(summary_of).collect();
        let samples = samples.map(samples_in).transpose();
        let samples = samples.map_err(|error| format!("the samples cannot be read: {error}"));
        if let Ok(Some(samples)) = &samples {
            document["samples"] = json!(samples);
        }
        let written = self.output.as_ref().map_or(Ok(()), |file| {
            let text = json::text(&document).map_err(|error| cannot_render(&error))?;
            fs::write(file, text).map_err(|error| cannot_write(file, &error))
        });
        let summary = json!({"run": run.plan().run, "results": results});
        let summarized = print(&format!("\nJSON summary:\n{summary:#}\n"));
        let summarized = summarized.map_err(|error| format!("writing to standard output failed: {error}"));
        written.and(samples.map(drop)).and(printed).and(summarized)
    }
}

/// Keeps the records in `directory`, because what follows the measurement failed.
fn kept(directory: TempDir, message: &dyn Display) -> Failure {
    let path = directory.keep().join(RUN);
    Failure::incomplete(format!(
        "{message}. The records are kept: `fabricbench report {}` reads them",
        path.display()
    ))
}

/// The part of a result that identifies it, and its values.
fn summary_of(result: &Value) -> Value {
    let fields = ["scenarioName", "sizeBytes", "values"];
    let fields = fields.map(|field| (field.to_owned(), result[field].clone()));
    Value::Object(fields.into_iter().collect())
}

/// Reads the samples that each side of each case has written to `directory`, in the order of cases and ranks. A side without
/// operations has no samples.
fn samples_in(directory: &Path) -> io::Result<Vec<Value>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory)? {
        let file: Value = serde_json::from_slice(&fs::read(entry?.path())?)?;
        let samples = file["samples"].as_object();
        if samples.is_some_and(|kinds| kinds.values().any(|kind| kind != &json!([]))) {
            files.push(file);
        }
    }
    files.sort_by_key(|file| (file["case"].as_u64(), file["rank"].as_u64()));
    Ok(files)
}

fn cannot_render(error: &serde_json::Error) -> String {
    format!("the report cannot be rendered as JSON: {error}")
}

fn cannot_write(file: &Path, error: &io::Error) -> String {
    format!("cannot write {}: {}", file.display(), with_remedy(error))
}
