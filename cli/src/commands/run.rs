//! `fabricbench run`: runs campaigns on this machine.

use std::path::{Path, PathBuf};

use campaign::compare_runs::FinishedRun;
use campaign::plan_check::Severity;
use clap::Args;
use crds::file_error::with_remedy;
use operator::terminal::{print, print_error, print_styled};

use super::input::PlannedRun;
use super::output::text_options;
use super::source::Source;
use super::stored::StoredRun;
use super::{Exit, Failure, Input, compare};
use crate::local::{
    Executor, Interrupt, LocalRun, RunDirectory, RunResult, ThisMachine, find_runner, variable_notes,
};
use crate::machines::{Host, Launcher, Machines};
use crate::report::text::TextOptions;
use crate::report::{Format, Report, html, text};
use crate::shell;

/// Run every BenchmarkRun in a file on this machine, or on the machines given with --worker, one after another.
///
/// Each run has a directory named after it, which contains records.jsonl (the received record streams), run.json (the
/// run with its status) and report.html. Ctrl-C stops the run and keeps the measured blocks; --resume measures the
/// missing blocks.
#[derive(Debug, Args)]
#[command(
    after_help = "Example: fabricbench run examples/demo.yaml --output results --against baseline-results"
)]
pub(super) struct Run {
    #[command(flatten)]
    input: Input,
    /// Directory for the results.
    #[arg(long, value_name = "DIR", default_value = "fabricbench-output")]
    output: PathBuf,
    /// Continue the runs in DIR, the --output directory of an earlier command. Only missing blocks are measured.
    #[arg(long, value_name = "DIR", conflicts_with = "output")]
    resume: Option<PathBuf>,
    /// Earlier run to compare with, as in `fabricbench compare`: the output directory of a run, a directory with one
    /// output directory per run, or NAMESPACE/NAME of a run in the current kubeconfig context. The exit status is 1 if
    /// there is a regression and 3 if the environments differ.
    #[arg(long, value_name = "RUN")]
    against: Option<Source>,
    /// Keep the debug logs of the libraries: all output of the processes that load them, in DIR/NAME of each run, one file
    /// for each round, process and worker, at most 16 MiB per file and 1 GiB per run.
    #[arg(long, value_name = "DIR")]
    keep_logs: Option<PathBuf>,
    /// Machine on which a worker runs; once for each worker, in the order of their ranks. Without it, all workers run on this
    /// machine. ADDRESS is where the other workers reach this one; by default the address that ssh used, or the only one of the
    /// machine. Connections between the workers are neither authenticated nor encrypted.
    #[arg(long = "worker", value_name = "HOST[=ADDRESS]", conflicts_with = "keep_logs")]
    workers: Vec<Host>,
    /// Command that starts a program on a machine given with --worker, and passes standard input and output on. The name of the
    /// machine replaces {host}. Examples: 'srun --nodelist={host} -n1', 'docker exec -i {host}', 'sudo -n ip netns exec {host}'.
    #[arg(long, value_name = "COMMAND", requires = "workers", default_value = Launcher::DEFAULT)]
    launcher: Launcher,
    /// Directory on the machines given with --worker, to which the runner is copied. Defaults to ~/.cache/fabricbench.
    #[arg(long, value_name = "DIR", requires = "workers")]
    worker_directory: Option<String>,
    /// Path to the fabricbench-runner binary. Defaults to the one in the directory of this binary, or else the one in
    /// PATH.
    #[arg(long, value_name = "FILE")]
    runner: Option<PathBuf>,
}

impl Run {
    pub(super) fn execute(self) -> Result<Exit, Failure> {
        let planned = self.input.load()?;
        planned
            .iter()
            .try_for_each(|planned| reject_images(planned, &self.input.file))?;
        planned
            .iter()
            .try_for_each(|planned| self.check_worker_count(planned))?;
        let runner = self.find_runner()?;
        // Load the earlier runs first, so that errors in them are reported before any measurement starts.
        let against = planned.iter().map(|planned| self.load_earlier(planned));
        let against: Vec<Option<StoredRun>> = against.collect::<Result<_, _>>()?;
        let interrupt = Interrupt::listen()
            .map_err(|error| Failure::incomplete(format!("cannot listen for Ctrl-C: {error}")))?;
        let executor = self.executor(&planned, &runner, &interrupt)?;
        let runs = self.prepare(planned)?;
        let mut worst = Exit::Complete;
        for (mut run, earlier_run) in runs.into_iter().zip(against) {
            let name = run.plan().run.clone();
            let done = if interrupt.is_signaled() {
                Err(Failure::incomplete("not started; continue with --resume"))
            } else {
                execute_run(&mut run, executor.as_ref(), &interrupt, earlier_run.as_ref())
            };
            let exit = done.unwrap_or_else(|failure| {
                // A failed write to standard error cannot be reported.
                print_error(&format!("{name}: {failure}"));
                failure.exit
            });
            worst = worst.max(exit);
        }
        Ok(worst)
    }

    /// Checks that the run has as many workers as there are --worker options, if there are any.
    fn check_worker_count(&self, planned: &PlannedRun) -> Result<(), Failure> {
        let (given, needed) = (self.workers.len(), planned.plan.workers);
        if given == 0 || given == needed as usize {
            return Ok(());
        }
        Err(Failure::invalid_input(format!(
            "{}: run {} has {needed} workers, but --worker is given {given} times. Give it once for each worker, or set \
             spec.placement.workers",
            self.input.file.display(),
            planned.plan.run
        )))
    }

    /// Finds the runner binary. One for other machines may be for another architecture, so it is only run there.
    fn find_runner(&self) -> Result<PathBuf, Failure> {
        match (&self.runner, self.workers.is_empty()) {
            (Some(runner), false) => Ok(runner.clone()),
            (runner, _) => find_runner(runner.as_deref()).map_err(Failure::invalid_input),
        }
    }

    /// Prepares the machines of the workers.
    fn executor(
        &self,
        planned: &[PlannedRun],
        runner: &Path,
        interrupt: &Interrupt,
    ) -> Result<Box<dyn Executor>, Failure> {
        if self.workers.is_empty() {
            for planned in planned {
                print_variable_warnings(planned, runner);
            }
            let here = ThisMachine::new(runner.to_owned()).map_err(Failure::incomplete)?;
            return Ok(Box::new(here));
        }
        let directory = self.worker_directory.as_deref();
        let machines = Machines::prepare(&self.workers, &self.launcher, runner, directory, interrupt)
            .map_err(|errors| Failure::incomplete(errors.join("\n")))?;
        let copied = machines.copied_to();
        if !copied.is_empty() {
            print_error(&format!("copied {} to {}", runner.display(), copied.join(", ")));
        }
        Ok(Box::new(machines))
    }

    /// Loads the earlier run that `planned` is compared with, if `--against` is set.
    fn load_earlier(&self, planned: &PlannedRun) -> Result<Option<StoredRun>, Failure> {
        let Some(source) = &self.against else {
            return Ok(None);
        };
        let Source::Directory(directory) = source else {
            return StoredRun::load_complete(source).map(Some);
        };
        let name = directory_name(&planned.run.metadata.name);
        let named = directory.join(name);
        if RunDirectory::open(&named).is_ok() {
            return StoredRun::load_complete(&Source::Directory(named)).map(Some);
        }
        let others = RunDirectory::find_all(directory);
        if RunDirectory::open(directory).is_err() && !others.is_empty() {
            let others: Vec<String> = others
                .iter()
                .map(|run| run.path().display().to_string())
                .collect();
            return Err(Failure::invalid_input(format!(
                "no run {name} in {source}. Specify one of its runs: {}",
                others.join(", ")
            )));
        }
        StoredRun::load_complete(source).map(Some)
    }

    /// Creates or opens the directories of all runs, so that errors are reported before any measurement starts.
    fn prepare(&self, planned: Vec<PlannedRun>) -> Result<Vec<LocalRun>, Failure> {
        let parent = self.resume.as_ref().unwrap_or(&self.output);
        let directory = |planned: &PlannedRun| parent.join(directory_name(&planned.run.metadata.name));
        // A command with several runs may have been stopped before the later runs started. The directories of those
        // runs are created now.
        let has_started = |planned: &PlannedRun| RunDirectory::open(&directory(planned)).is_ok();
        if let Some(directory) = &self.resume
            && !planned.iter().any(has_started)
        {
            return Err(Failure::invalid_input(nothing_to_resume(directory, &planned)));
        }
        let mut runs = Vec::new();
        let mut errors = Vec::new();
        for planned in planned {
            let directory = directory(&planned);
            let resumed = self.resume.is_some() && has_started(&planned);
            let prepared = match resumed {
                true => {
                    let PlannedRun { run, plan, .. } = self.plan_as_stored(planned, &directory)?;
                    LocalRun::resume(&run, plan, &directory)
                }
                false => LocalRun::create(planned.run, planned.uid, planned.plan, &directory),
            };
            let prepared = prepared.map_err(|error| error.to_string());
            match prepared.and_then(|run| self.with_logs(run)) {
                Ok(run) => runs.push(run),
                Err(error) => errors.push(error),
            }
        }
        if errors.is_empty() {
            Ok(runs)
        } else {
            Err(Failure::invalid_input(errors.join("\n")))
        }
    }

    /// Sets the directory in which `run` keeps the logs of libraries, if --keep-logs is set.
    fn with_logs(&self, mut run: LocalRun) -> Result<LocalRun, String> {
        if let Some(parent) = &self.keep_logs {
            let directory = parent.join(&run.plan().run);
            run.keep_logs(&directory)
                .map_err(|error| format!("--keep-logs {}: {}", directory.display(), with_remedy(&error)))?;
        }
        Ok(run)
    }

    /// Plans the run again with the uid of the run in `directory`, because the measurement order may be derived from
    /// the uid.
    fn plan_as_stored(&self, planned: PlannedRun, directory: &Path) -> Result<PlannedRun, Failure> {
        let stored = RunDirectory::open(directory).and_then(|directory| directory.read_run());
        // If the directory cannot be read, the error is reported when the run is resumed.
        let Some(uid) = stored.ok().and_then(|stored| stored.metadata.uid) else {
            return Ok(planned);
        };
        let mut run = planned.run.clone();
        run.metadata.uid = Some(uid);
        self.input.plan(run)
    }
}

pub(super) fn execute_run(
    run: &mut LocalRun,
    executor: &dyn Executor,
    interrupt: &Interrupt,
    earlier_run: Option<&StoredRun>,
) -> Result<Exit, Failure> {
    let ended = run.execute(executor, interrupt).map_err(Failure::incomplete)?;
    print_result(run, &ended, &executor.options())?;
    let outcome = ended.evaluation.outcome().into();
    let Some(earlier_run) = earlier_run else {
        return Ok(outcome);
    };
    let now = FinishedRun {
        plan: run.plan(),
        evaluation: &ended.evaluation,
    };
    print("\n")?;
    let path = run.directory().run_path().display().to_string();
    let locations = [earlier_run.location.as_str(), path.as_str()];
    let runs = [compare::finished(earlier_run), now];
    let compared = compare::print_comparison(&runs, locations, false, Format::TEXT)?;
    Ok(outcome.max(compared))
}

/// Writes the report of `run` to its directory and prints the tables. Fails if the run stopped early.
fn print_result(run: &LocalRun, ended: &RunResult, machines: &[String]) -> Result<(), Failure> {
    let report = Report {
        plan: run.plan(),
        evaluation: &ended.evaluation,
    };
    let document = report.document();
    let page = html::render(&document);
    let written = run.directory().write_report(&page).map_err(Failure::incomplete);
    let report_path = run.directory().report_path().display().to_string();
    let options = TextOptions {
        full_report: written.is_ok().then_some(&report_path),
        ..text_options(false)
    };
    let rendered = text::render(&document, &options);
    // The tables are printed even if the report cannot be written.
    print_styled(&rendered)?;
    written?;
    let Some(why) = &ended.stopped else {
        return Ok(());
    };
    let parent = run.directory().path().parent().unwrap_or(Path::new("."));
    // Resuming from run.json applies the same overrides, because its spec includes those from the command line.
    let words = [
        "fabricbench".to_owned(),
        "run".to_owned(),
        run.directory().run_path().display().to_string(),
        "--resume".to_owned(),
        parent.display().to_string(),
    ];
    let words: Vec<_> = words
        .iter()
        .chain(machines)
        .map(|word| shell::word(word))
        .collect();
    Err(Failure::incomplete(format!(
        "{why}\nMeasured blocks are kept. Continue with: {}",
        words.join(" ")
    )))
}

/// Describes a directory that contains none of the `planned` runs, and the remedy.
fn nothing_to_resume(directory: &Path, planned: &[PlannedRun]) -> String {
    let names: Vec<&str> = planned
        .iter()
        .map(|planned| directory_name(&planned.run.metadata.name))
        .collect();
    let found: Vec<String> = RunDirectory::find_all(directory)
        .iter()
        .filter_map(|run| Some(run.path().file_name()?.to_string_lossy().into_owned()))
        .collect();
    let remedy = match (RunDirectory::open(directory), found.as_slice()) {
        (Ok(_), _) => "It is the directory of a single run: give the directory around it".to_owned(),
        (Err(_), []) => "Give the directory that --output named when the run was started".to_owned(),
        (Err(_), found) => format!(
            "It contains {}: give the file of one of these runs",
            found.join(", ")
        ),
    };
    format!(
        "--resume {}: there is no run named {} to continue. {remedy}",
        directory.display(),
        names.join(" or ")
    )
}

/// Directory name of a run. The schema allows only names without path separators.
fn directory_name(name: &Option<String>) -> &str {
    name.as_deref().unwrap_or("run")
}

/// Prints a warning to standard error for each environment variable that cannot have an effect, before anything is
/// measured.
fn print_variable_warnings(planned: &PlannedRun, runner: &Path) {
    let notes = variable_notes(&planned.plan, Ok(runner));
    for note in notes.iter().filter(|note| note.severity == Severity::Warning) {
        print_error(&format!("{}: {note}", planned.plan.run));
    }
}

pub(super) fn reject_images(planned: &PlannedRun, file: &Path) -> Result<(), Failure> {
    let spec = &planned.run.spec;
    let claiming = spec.variants.iter().position(|variant| variant.claims.is_some());
    if let Some(index) = claiming {
        return Err(Failure::invalid_input(format!(
            "{}: spec.variants[{index}].claims: device claims require a cluster. On a single machine, name the devices in \
             spec.devices",
            file.display()
        )));
    }
    let library = spec
        .variants
        .iter()
        .position(|variant| variant.library_image.is_some());
    if let Some(index) = library {
        let variant = format!("spec.variants[{index}]");
        return Err(Failure::invalid_input(format!(
            "{}: {variant}.libraryImage: images require a cluster. On a single machine, copy the directory out of the image and \
             set {variant}.library to the copy",
            file.display()
        )));
    }
    let variant = spec.variants.iter().position(|variant| variant.image.is_some());
    let (field, instead) = match (&spec.image, variant) {
        (Some(_), _) => ("spec.image".to_owned(), "spec.variants".to_owned()),
        (None, Some(index)) => {
            let variant = format!("spec.variants[{index}]");
            (format!("{variant}.image"), variant)
        }
        (None, None) => return Ok(()),
    };
    Err(Failure::invalid_input(format!(
        "{}: {field}: images require a cluster. On a single machine, compare libraries with {instead}.library or \
         settings with {instead}.env",
        file.display()
    )))
}
