//! `fabricbench run`: the whole campaign of a file on this machine.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;

use super::input::PlannedRun;
use super::report::text_options;
use super::{Exit, Failure, Input};
use crate::campaign::plan::hash;
use crate::local::{Ended, LocalRun, Stopped, find_runner};
use crate::report::text::TextOptions;
use crate::report::{Report, html, text};

/// Carry out a file on this machine: every BenchmarkRun of it, one after the other.
///
/// Each run gets a folder of its name with records.jsonl (the streams, as received), run.json (the run with its
/// status) and report.html. Ctrl-C ends the run and keeps what is measured; --resume measures what is missing.
#[derive(Debug, Args)]
pub(super) struct Run {
    #[command(flatten)]
    input: Input,
    /// Folder for the results.
    #[arg(long, value_name = "DIR", default_value = "fabricbench-output")]
    output: PathBuf,
    /// Continue the runs in DIR, an earlier --output: only missing blocks are measured.
    #[arg(long, value_name = "DIR", conflicts_with = "output")]
    resume: Option<PathBuf>,
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
        let mut worst = Exit::Complete;
        for planned in planned {
            let mut run = self.prepare(planned)?;
            let ended = run.carry_out(&runner).map_err(Failure::incomplete)?;
            show(&run, &ended)?;
            worst = worst.max(ended.evaluation.overall().into());
            if ended.stopped == Some(Stopped::Interrupted) {
                break;
            }
        }
        Ok(worst)
    }

    fn prepare(&self, planned: PlannedRun) -> Result<LocalRun, Failure> {
        let PlannedRun { run, plan } = planned;
        let prepared = match &self.resume {
            Some(earlier) => LocalRun::resume(&run, plan, &earlier.join(folder_name(&run.metadata.name))),
            None => LocalRun::create(
                run.clone(),
                plan,
                &self.output.join(folder_name(&run.metadata.name)),
            ),
        };
        prepared.map_err(Failure::wrong_file)
    }
}

/// Writes the report of `run` into its folder and the tables to standard output.
fn show(run: &LocalRun, ended: &Ended) -> Result<(), Failure> {
    let report = Report {
        plan: run.plan(),
        plan_hash: &hash(run.plan()),
        evaluation: &ended.evaluation,
    };
    let page = html::render(&report).map_err(Failure::incomplete)?;
    let written = run.folder().write_report(&page).map_err(Failure::incomplete);
    let place = run.folder().report().display().to_string();
    let options = TextOptions {
        full_report: written.is_ok().then_some(&place),
        ..text_options(false)
    };
    let shown = text::render(&report, &options);
    // The answer is shown even where there is no room for its page.
    std::io::stdout().lock().write_all(shown.as_bytes())?;
    written?;
    match &ended.stopped {
        Some(Stopped::Workers(words)) => Err(Failure::incomplete(words)),
        Some(Stopped::Deadline) => Err(Failure::incomplete("spec.runPolicy.activeDeadlineSeconds passed")),
        Some(Stopped::Interrupted) | None => Ok(()),
    }
}

/// The schema allows only names that are no path.
fn folder_name(name: &Option<String>) -> &str {
    name.as_deref().unwrap_or("run")
}

fn refuse_images(planned: &PlannedRun, file: &Path) -> Result<(), Failure> {
    let variants = &planned.run.spec.variants;
    let Some(index) = variants.iter().position(|variant| variant.image.is_some()) else {
        return Ok(());
    };
    Err(Failure::wrong_file(format!(
        "{}: spec.variants[{index}].image: an image needs a cluster. On one machine, compare libraries by \
         spec.variants[{index}].library or settings by spec.variants[{index}].env",
        file.display()
    )))
}
