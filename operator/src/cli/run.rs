//! `fabricbench run`: the whole campaign of a file on this machine.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;

use super::input::PlannedRun;
use super::report::text_options;
use super::source::Source;
use super::stored::StoredRun;
use super::{Exit, Failure, Input, compare};
use crate::campaign::compare_runs::Finished;
use crate::campaign::plan::hash;
use crate::local::{Interrupt, LocalRun, RunDirectory, RunResult, StopReason, find_runner};
use crate::report::text::TextOptions;
use crate::report::{Report, html, text};

/// Carry out a file on this machine: every BenchmarkRun of it, one after the other.
///
/// Each run gets a folder of its name with records.jsonl (the streams, as received), run.json (the run with its
/// status) and report.html. Ctrl-C ends the run and keeps what is measured; --resume measures what is missing.
#[derive(Debug, Args)]
#[command(
    after_help = "Example: fabricbench run examples/demo.yaml --output results --against baseline-results"
)]
pub(super) struct Run {
    #[command(flatten)]
    input: Input,
    /// Folder for the results.
    #[arg(long, value_name = "DIR", default_value = "fabricbench-output")]
    output: PathBuf,
    /// Continue the runs in DIR, an earlier --output: only missing blocks are measured.
    #[arg(long, value_name = "DIR", conflicts_with = "output")]
    resume: Option<PathBuf>,
    /// Earlier run to compare with, as `fabricbench compare` does: an output folder, one that holds a folder for each run, or
    /// NAMESPACE/NAME in the cluster of KUBECONFIG. A regression against it is exit status 1, another environment 3.
    #[arg(long, value_name = "RUN")]
    against: Option<Source>,
    /// The instrument's program; by default the one beside this program, then the one in PATH.
    #[arg(long, value_name = "FILE")]
    runner: Option<PathBuf>,
}

impl Run {
    pub(super) fn execute(self) -> Result<Exit, Failure> {
        let planned = self.input.load()?;
        planned
            .iter()
            .try_for_each(|planned| refuse_images(planned, &self.input.file))?;
        let runner = find_runner(self.runner.as_deref()).map_err(Failure::wrong_file)?;
        // One that cannot be read is known before anything is measured.
        let against = planned.iter().map(|planned| self.earlier(planned));
        let against: Vec<Option<StoredRun>> = against.collect::<Result<_, _>>()?;
        let runs = self.prepare(planned)?;
        let interrupt = Interrupt::listen()
            .map_err(|error| Failure::incomplete(format!("listening for Ctrl-C: {error}")))?;
        let mut worst = Exit::Complete;
        for (mut run, earlier) in runs.into_iter().zip(against) {
            let name = run.plan().run.clone();
            let done = if interrupt.is_signaled() {
                Err(Failure::incomplete("not begun; continue with --resume"))
            } else {
                carry_out(&mut run, &runner, &interrupt, earlier.as_ref())
            };
            let exit = done.unwrap_or_else(|failure| {
                // Nobody is left to tell when standard error is closed.
                let _ = writeln!(std::io::stderr(), "{name}: {failure}");
                failure.exit
            });
            worst = worst.max(exit);
        }
        Ok(worst)
    }

    /// The run that `planned` is compared with, where one is named.
    fn earlier(&self, planned: &PlannedRun) -> Result<Option<StoredRun>, Failure> {
        let Some(source) = &self.against else {
            return Ok(None);
        };
        let Source::Folder(folder) = source else {
            return StoredRun::load_complete(source).map(Some);
        };
        let name = folder_name(&planned.run.metadata.name);
        let of_name = folder.join(name);
        if RunDirectory::open(&of_name).is_ok() {
            return StoredRun::load_complete(&Source::Folder(of_name)).map(Some);
        }
        let others = RunDirectory::find_all(folder);
        if RunDirectory::open(folder).is_err() && !others.is_empty() {
            let others: Vec<String> = others
                .iter()
                .map(|run| run.path().display().to_string())
                .collect();
            return Err(Failure::wrong_file(format!(
                "no run {name} in {source}. Name the run to compare with: {}",
                others.join(", ")
            )));
        }
        StoredRun::load_complete(source).map(Some)
    }

    /// Takes the folders of all runs, so that one that cannot be used is known before anything is measured.
    fn prepare(&self, planned: Vec<PlannedRun>) -> Result<Vec<LocalRun>, Failure> {
        let folders = self.resume.as_ref().unwrap_or(&self.output);
        let folder = |planned: &PlannedRun| folders.join(folder_name(&planned.run.metadata.name));
        // A file of several runs may have been stopped before the later ones were begun.
        let begun = |planned: &PlannedRun| RunDirectory::open(&folder(planned)).is_ok();
        let any_begun = planned.iter().any(begun);
        let mut runs = Vec::new();
        let mut faults = Vec::new();
        for one in planned {
            let folder = folder(&one);
            let resumed = self.resume.is_some() && (begun(&one) || !any_begun);
            let PlannedRun { run, plan } = one;
            let prepared = match resumed {
                true => LocalRun::resume(&run, plan, &folder),
                false => LocalRun::create(run, plan, &folder),
            };
            match prepared {
                Ok(run) => runs.push(run),
                Err(error) => faults.push(error.to_string()),
            }
        }
        if faults.is_empty() {
            Ok(runs)
        } else {
            Err(Failure::wrong_file(faults.join("\n")))
        }
    }
}

fn carry_out(
    run: &mut LocalRun,
    runner: &Path,
    interrupt: &Interrupt,
    earlier: Option<&StoredRun>,
) -> Result<Exit, Failure> {
    let ended = run.execute(runner, interrupt).map_err(Failure::incomplete)?;
    show(run, &ended)?;
    let own = ended.evaluation.overall().into();
    let Some(earlier) = earlier else {
        return Ok(own);
    };
    let now = Finished {
        plan: run.plan(),
        evaluation: &ended.evaluation,
    };
    writeln!(std::io::stdout())?;
    let compared = compare::show(&compare::finished(earlier), &now, false, compare::Format::Text)?;
    Ok(own.max(compared))
}

/// Writes the report of `run` into its folder and the tables to standard output.
fn show(run: &LocalRun, ended: &RunResult) -> Result<(), Failure> {
    let report = Report {
        plan: run.plan(),
        plan_hash: &hash(run.plan()),
        evaluation: &ended.evaluation,
    };
    let page = html::render(&report).map_err(Failure::incomplete)?;
    let written = run.directory().write_report(&page).map_err(Failure::incomplete);
    let place = run.directory().report_path().display().to_string();
    let options = TextOptions {
        full_report: written.is_ok().then_some(&place),
        ..text_options(false)
    };
    let shown = text::render(&report, &options);
    // The answer is shown even where there is no room for its page.
    std::io::stdout().lock().write_all(shown.as_bytes())?;
    written?;
    let why = match &ended.stopped {
        Some(StopReason::WorkersFailed(words)) => words,
        Some(StopReason::Deadline) => "spec.runPolicy.activeDeadlineSeconds passed",
        Some(StopReason::Interrupted) => "interrupted",
        None => return Ok(()),
    };
    let folders = run.directory().path().parent().unwrap_or(Path::new("."));
    Err(Failure::incomplete(format!(
        "{why}\nWhat is measured is kept: continue with --resume {}",
        folders.display()
    )))
}

/// The schema allows only names that are no path.
fn folder_name(name: &Option<String>) -> &str {
    name.as_deref().unwrap_or("run")
}

fn refuse_images(planned: &PlannedRun, file: &Path) -> Result<(), Failure> {
    let spec = &planned.run.spec;
    let variant = spec.variants.iter().position(|variant| variant.image.is_some());
    let (field, instead) = match (&spec.image, variant) {
        (Some(_), _) => ("spec.image".to_owned(), "spec.variants".to_owned()),
        (None, Some(index)) => {
            let variant = format!("spec.variants[{index}]");
            (format!("{variant}.image"), variant)
        }
        (None, None) => return Ok(()),
    };
    Err(Failure::wrong_file(format!(
        "{}: {field}: an image needs a cluster. On one machine, compare libraries by {instead}.library or settings by \
         {instead}.env",
        file.display()
    )))
}
