//! `fabricbench compare`: two finished runs against each other.

use std::fs;
use std::io::Write;

use clap::{Args, ValueEnum};
use crds::v1alpha1::Verdict;
use serde_json::json;

use super::report::text_options;
use super::source::Source;
use super::stored::StoredRun;
use super::{Exit, Failure};
use crate::campaign::compare_runs::{Difference, Finished, RunComparison, compare_runs, differences};
use crate::report::runs;

/// Compare two finished runs, where their environments allow it.
///
/// Their rounds were not interleaved, so each arm is judged by what it did against the baseline of its own run: what
/// changed on the machines between the two runs changed both. To compare two libraries or settings, make them
/// variants of one run.
#[derive(Debug, Args)]
#[command(after_help = "Example: fabricbench compare results/last-week results/today")]
pub(super) struct Compare {
    /// Output folder of the first run, or NAMESPACE/NAME of a run in the cluster of KUBECONFIG.
    first: Source,
    /// The second run, alike.
    second: Source,
    /// Compare though the environments differ; the result says so.
    #[arg(long)]
    force: bool,
    /// How it is shown.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// How a comparison is shown.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum Format {
    /// For people.
    Text,
    /// For programs.
    Json,
}

impl Compare {
    pub(super) fn execute(self) -> Result<Exit, Failure> {
        if same(&self.first, &self.second) {
            return Err(Failure::wrong_file(format!(
                "{} and {} are the same run: name two",
                self.first, self.second
            )));
        }
        let first = StoredRun::load_complete(&self.first)?;
        let second = StoredRun::load_complete(&self.second)?;
        show(&finished(&first), &finished(&second), self.force, self.format)
    }
}

/// Shows what changed from the first run to the second, where they are comparable or that is asked for all the same.
pub(super) fn show(
    first: &Finished<'_>,
    second: &Finished<'_>,
    force: bool,
    format: Format,
) -> Result<Exit, Failure> {
    let different = differences(first, second);
    if !different.is_empty() && !force {
        return Err(Failure::incomplete(refusal(&different)));
    }
    let comparisons = compare_runs(first, second).map_err(Failure::incomplete)?;
    let mut out = std::io::stdout().lock();
    match format {
        Format::Text => {
            let shown = runs::text(first, second, &different, &comparisons, &text_options(false));
            out.write_all(shown.as_bytes())?;
        }
        Format::Json => {
            let document = json!({
                "first": first.plan.run, "second": second.plan.run, "interleaved": false,
                "differences": different, "comparisons": comparisons,
            });
            serde_json::to_writer_pretty(&mut out, &document).map_err(std::io::Error::from)?;
            writeln!(out)?;
        }
    }
    Ok(exit(&different, &comparisons))
}

fn same(first: &Source, second: &Source) -> bool {
    match (first, second) {
        (Source::Folder(first), Source::Folder(second)) => fs::canonicalize(first)
            .is_ok_and(|first| fs::canonicalize(second).is_ok_and(|second| first == second)),
        _ => first == second,
    }
}

/// What is compared of a run.
pub(super) fn finished(stored: &StoredRun) -> Finished<'_> {
    Finished {
        plan: &stored.plan,
        evaluation: &stored.evaluation,
    }
}

fn refusal(different: &[Difference]) -> String {
    let mut text = "the runs are not comparable:\n".to_owned();
    for difference in different {
        text += &format!(
            "  {}: {} | {}\n",
            difference.what, difference.first, difference.second
        );
    }
    text + "Use --force to compare them all the same, or make both variants of one run."
}

fn exit(different: &[Difference], comparisons: &[RunComparison]) -> Exit {
    let regressed = comparisons
        .iter()
        .any(|one| one.verdict == Some(Verdict::Regressed));
    let usable = comparisons.iter().any(|one| one.verdict.is_some());
    match (usable && different.is_empty(), regressed) {
        (false, _) => Exit::Untrusted,
        (true, true) => Exit::Missed,
        (true, false) => Exit::Complete,
    }
}
