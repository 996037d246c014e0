//! Evaluates a run's records. Every executor and every report uses [`evaluate`] to turn measurements into results.
//! Performs no I/O.

use crds::v1alpha1::{ExpectationOutcome, FabricProof, Outcome, Verdict};
use serde::Serialize;

use super::analyze::analyze;
use super::collect::Reports;
use super::compare::{Comparison, Comparisons, compare};
use super::plan::Plan;
use super::stats::StatsError;
use super::summarize::{Summary, summarize};

/// Evaluation of a run's records.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Evaluation {
    /// Results of each arm and their validity.
    pub summary: Summary,
    /// Comparisons of the arms with the baseline.
    pub comparisons: Comparisons,
    /// Why the records may differ from the measured records, if their reader has found a difference.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changed_records: Option<String>,
}

/// Outcome of a run, which determines the exit status. Outcomes are ordered from worst to best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RunOutcome {
    /// At least one block is missing.
    Incomplete,
    /// Every case failed.
    NothingMeasured,
    /// At least one requested result cannot be trusted, or the records were changed after the measurement, even if blocks
    /// are missing as a result.
    Untrusted,
    /// A control shows a change, so the verdicts that share its baseline are withheld. If there is no real difference,
    /// this happens with a probability of at most `1 - confidence`. Repeating the run shows whether the change was due
    /// to chance.
    Suspect,
    /// An expectation was not met, or a variant regressed.
    Missed,
    /// The run is complete and none of the above applies.
    Passed,
}

impl From<RunOutcome> for Outcome {
    fn from(outcome: RunOutcome) -> Self {
        match outcome {
            RunOutcome::Incomplete | RunOutcome::NothingMeasured | RunOutcome::Untrusted => Self::Untrusted,
            RunOutcome::Suspect => Self::Suspect,
            RunOutcome::Missed => Self::Missed,
            RunOutcome::Passed => Self::Passed,
        }
    }
}

/// Evaluates the `reports` of a run with `plan`. An incomplete set of records is valid input: the evaluation reports
/// what is missing.
///
/// # Errors
/// Returns an error if the confidence, the margin or an expected percentage of the plan is out of range. `validate`
/// rejects such a spec.
pub fn evaluate(plan: &Plan, reports: &Reports) -> Result<Evaluation, StatsError> {
    let stopping = analyze(plan, reports)?;
    let summary = summarize(plan, reports, &stopping);
    let comparisons = compare(plan, reports, &summary, &stopping)?;
    Ok(Evaluation {
        summary,
        comparisons,
        changed_records: None,
    })
}

impl Evaluation {
    /// Outcome of the run.
    pub fn outcome(&self) -> RunOutcome {
        if self.changed_records.is_some() {
            return RunOutcome::Untrusted;
        }
        let fabric = self.summary.fabric.as_ref();
        let contradicted = fabric.is_some_and(|fabric| fabric.proof == FabricProof::Contradicted);
        // A run without variants has no comparison that would report a failed baseline.
        let unusable = self.summary.cells.iter().any(|cell| cell.valid_cases == 0);
        if !self.summary.is_complete() {
            return RunOutcome::Incomplete;
        }
        if self.summary.nothing_measured().is_some() {
            return RunOutcome::NothingMeasured;
        }
        let untrusted = self
            .comparisons
            .primary()
            .any(|comparison| comparison.is_untrusted());
        if contradicted || unusable || untrusted {
            return RunOutcome::Untrusted;
        }
        if self.comparisons.primary().any(Comparison::is_suspect) {
            return RunOutcome::Suspect;
        }
        let missed = |outcome| outcome == ExpectationOutcome::NotMet;
        let expectations = &self.comparisons.expectations;
        let regressed = |verdict| verdict == Some(Verdict::Regressed);
        if expectations.iter().any(|answer| missed(answer.outcome))
            || self
                .comparisons
                .primary()
                .any(|comparison| regressed(comparison.verdict))
        {
            return RunOutcome::Missed;
        }
        RunOutcome::Passed
    }
}
