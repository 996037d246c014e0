//! `fabricbench compare`: compares two finished runs.

use std::fs;

use campaign::compare_runs::{Difference, FinishedRun, RunComparison, compare_runs, differences};
use clap::Args;
use crds::v1alpha1::Verdict;
use operator::terminal::print_styled;

use super::imported;
use super::output::render;
use super::source::Source;
use super::stored::StoredRun;
use super::{Exit, Failure};
use crate::report::Format;
use crate::report::runs::ComparedRuns;

/// Compare two finished runs with matching environments.
///
/// The rounds of different runs are not interleaved. Each arm is therefore first compared with the baseline of the same
/// run to cancel out changes in machine state between the runs. At a size at which the baseline itself changed, there
/// is no verdict. To compare two libraries or settings, define them as variants of one run. If a run is imported, the
/// values are compared without a verdict.
#[derive(Debug, Args)]
#[command(after_help = "Example: fabricbench compare results/last-week results/today")]
pub(super) struct Compare {
    /// Output directory of the first run, or NAMESPACE/NAME of a run in the current kubeconfig context.
    first: Source,
    /// Output directory of the second run, or NAMESPACE/NAME.
    second: Source,
    /// Compare the runs even if their environments differ. The result lists the differences.
    #[arg(long)]
    force: bool,
    /// Output format.
    #[arg(long, value_enum, default_value_t = Format::TEXT)]
    format: Format,
}

impl Compare {
    pub(super) fn execute(self) -> Result<Exit, Failure> {
        if is_same_run(&self.first, &self.second) {
            return Err(Failure::invalid_input(format!(
                "{} and {} are the same run. Specify two different runs",
                self.first, self.second
            )));
        }
        if let Some(exit) = imported::compare(&self.first, &self.second, self.format)? {
            return Ok(exit);
        }
        let first = StoredRun::load_complete(&self.first)?;
        let second = StoredRun::load_complete(&self.second)?;
        if first.run.metadata.uid == second.run.metadata.uid {
            return Err(Failure::invalid_input(format!(
                "{} and {} are copies of the same run: they have the same metadata.uid. Specify two different runs",
                self.first, self.second
            )));
        }
        let runs = [finished(&first), finished(&second)];
        let locations = [first.location.as_str(), second.location.as_str()];
        print_comparison(&runs, locations, self.force, self.format)
    }
}

/// Prints the changes from the first run to the second, which are stored at `locations`.
///
/// # Errors
/// Returns an error if the runs are not comparable and `force` is false, the comparison fails, or the output cannot be
/// written.
pub(super) fn print_comparison(
    [first, second]: &[FinishedRun<'_>; 2],
    locations: [&str; 2],
    force: bool,
    format: Format,
) -> Result<Exit, Failure> {
    let different = differences(first, second);
    if !different.is_empty() && !force {
        return Err(Failure::incomplete(describe_differences(&different)));
    }
    let comparisons = compare_runs(first, second).map_err(Failure::incomplete)?;
    let compared = ComparedRuns {
        first,
        second,
        locations,
        differences: &different,
        comparisons: &comparisons,
    };
    print_styled(&render(&compared, format, false)?)?;
    Ok(exit(&different, &comparisons))
}

fn is_same_run(first: &Source, second: &Source) -> bool {
    match (first, second) {
        (Source::Directory(first), Source::Directory(second)) => fs::canonicalize(first)
            .is_ok_and(|first| fs::canonicalize(second).is_ok_and(|second| first == second)),
        _ => first == second,
    }
}

/// Returns the plan and the evaluation of `stored`.
pub(super) fn finished(stored: &StoredRun) -> FinishedRun<'_> {
    FinishedRun {
        plan: &stored.plan,
        evaluation: &stored.evaluation,
    }
}

fn describe_differences(different: &[Difference]) -> String {
    let mut text = "the runs are not comparable:\n".to_owned();
    for difference in different {
        text += &format!(
            "  {}: {} | {}\n",
            difference.property, difference.first, difference.second
        );
    }
    text + "Use --force to compare them anyway, or compare them as variants of one run."
}

fn exit(different: &[Difference], comparisons: &[RunComparison]) -> Exit {
    let regressed = comparisons
        .iter()
        .any(|comparison| comparison.verdict == Some(Verdict::Regressed));
    let usable = comparisons.iter().any(|comparison| comparison.verdict.is_some());
    let changed = comparisons.iter().any(|comparison| comparison.baseline_changed);
    match (usable && different.is_empty(), regressed) {
        (false, _) => Exit::Untrusted,
        (true, true) => Exit::Missed,
        (true, false) if changed => Exit::Untrusted,
        (true, false) => Exit::Complete,
    }
}

#[cfg(test)]
mod tests {
    use crds::v1alpha1::Metric;

    use super::*;

    fn comparison(verdict: Option<Verdict>, baseline_changed: bool) -> RunComparison {
        RunComparison {
            scenario: "small".to_owned(),
            size_bytes: 64,
            arm: "fi-inject".to_owned(),
            metric: Metric::LatencyP50,
            first: None,
            second: None,
            rounds: (8, 8),
            change_percent: None,
            interval_percent: None,
            verdict,
            inconclusive: None,
            reason: None,
            baseline_changed,
        }
    }

    #[test]
    fn passes_only_if_no_size_is_without_a_verdict_because_of_the_baseline() {
        let changed = comparison(None, true);
        let same = comparison(Some(Verdict::NoChange), false);
        let worse = comparison(Some(Verdict::Regressed), false);
        for (comparisons, expected) in [
            (vec![same.clone()], Exit::Complete),
            (vec![same.clone(), changed.clone()], Exit::Untrusted),
            (vec![same, worse, changed.clone()], Exit::Missed),
            (vec![changed], Exit::Untrusted),
        ] {
            assert_eq!(exit(&[], &comparisons), expected, "{comparisons:?}");
        }
    }
}
