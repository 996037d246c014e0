//! Analyzes a run after each stage and decides which comparisons end. Performs no I/O.
//!
//! The result depends only on the plan and on the records that precede the analysis, so every executor reaches the same
//! decision, even after a restart.

use crds::v1alpha1::{EndReason, Metric, Verdict};

use crate::collect::Reports;
use crate::compare::{Comparison, Comparisons, Withheld, compare, expected_change};
use crate::plan::{Plan, Role};
use crate::stats::{
    BetterDirection, ChangeOutcome, ExpectedChange, InterimAnalysis, Interval, Margin, QuestionState,
    StatsError, decide_verdict,
};
use crate::stopping::{ComparisonKey, Stopping, expectations};
use crate::summarize::summarize;

/// Performs every analysis of `plan` whose required blocks are all in `reports`.
///
/// # Errors
/// Returns an error if the confidence, the margin or an expected percentage of the plan is out of range. `validate`
/// rejects such a spec.
pub fn analyze(plan: &Plan, reports: &Reports) -> Result<Stopping, StatsError> {
    let mut stopping = Stopping::default();
    advance(&mut stopping, plan, reports)?;
    Ok(stopping)
}

/// Adds to `stopping` every subsequent analysis whose required blocks are all in `reports`.
///
/// # Errors
/// Returns an error under the same conditions as [`analyze`].
pub fn advance(stopping: &mut Stopping, plan: &Plan, reports: &Reports) -> Result<(), StatsError> {
    while is_due(stopping, plan, reports) {
        let ended = comparisons_to_end(plan, reports, stopping)?;
        stopping.add_analysis(plan, ended);
    }
    Ok(())
}

/// Whether the run has another analysis, and `reports` contains all blocks that this analysis requires.
pub fn is_due(stopping: &Stopping, plan: &Plan, reports: &Reports) -> bool {
    let next = stopping.analyses();
    plan.analyses.len() > 1 && next < plan.analyses.len() && stopping.is_stage_measured(plan, reports, next)
}

/// Open comparisons that end at the next analysis, each with its reason. Empty if the next analysis is the last, at
/// which every comparison ends anyway.
fn comparisons_to_end(
    plan: &Plan,
    reports: &Reports,
    stopping: &Stopping,
) -> Result<Vec<(ComparisonKey, EndReason)>, StatsError> {
    let stage = stopping.analyses();
    let later = plan.analyses.get(stage + 1..).unwrap_or_default();
    if later.is_empty() {
        return Ok(Vec::new());
    }
    let before = reports.filter_legs(|leg| {
        let mut legs = plan.legs.iter().filter(|planned| planned.leg == leg);
        legs.any(|planned| plan.stage_of_leg(planned) <= stage)
    });
    // Add the analysis without ending any comparison, so that every open comparison includes the rounds up to it.
    let mut at_analysis = stopping.clone();
    at_analysis.add_analysis(plan, []);
    let summary = summarize(plan, &before, &at_analysis);
    let comparisons = compare(plan, &before, &summary, &at_analysis)?;
    let margin = Margin::from_percent(f64::from(plan.sampling.margin_percent))?;
    let inputs = AnalysisInputs {
        plan,
        comparisons: &comparisons,
        margin,
        rounds: plan.analyses.get(stage).copied().unwrap_or(plan.rounds),
        later,
    };
    let mut ended = Vec::new();
    for (scenario, planned) in plan.scenarios.iter().enumerate() {
        let analysis = InterimAnalysis::new(plan.family(planned.comparisons)?);
        for key in stopping.open(plan).filter(|key| key.0 == scenario) {
            if let Some(reason) = inputs.end_reason(key, planned.primary, &analysis)? {
                ended.push((key, reason));
            }
        }
    }
    Ok(ended)
}

/// Inputs to the decision on whether a comparison ends at an analysis.
struct AnalysisInputs<'a> {
    plan: &'a Plan,
    /// Comparisons computed from the rounds that the analysis includes.
    comparisons: &'a Comparisons,
    margin: Margin,
    /// Number of rounds that the analysis includes.
    rounds: u32,
    /// Number of rounds at each later analysis.
    later: &'a [u32],
}

/// Question that a metric's interval has to answer.
enum Question {
    /// Which verdict the comparison gets.
    Verdict(BetterDirection),
    /// Whether an expectation is met.
    Expectation(ExpectedChange),
}

impl AnalysisInputs<'_> {
    /// Returns the reason for ending the comparison `key`, whose verdict depends on the metric `primary`, at this
    /// analysis; `None` if the comparison continues.
    fn end_reason(
        &self,
        key: ComparisonKey,
        primary: Metric,
        analysis: &InterimAnalysis,
    ) -> Result<Option<EndReason>, StatsError> {
        let (scenario, size_bytes, arm) = key;
        let find = |metric| self.comparisons.find(scenario, size_bytes, arm, metric);
        let Some(comparison) = find(primary) else {
            return Ok(None);
        };
        let mut questions: Vec<(Metric, Question)> = Vec::new();
        match outlook(comparison) {
            Outlook::NoAnswer => return Ok(Some(EndReason::NoVerdict)),
            Outlook::Suspect => return Ok(None),
            Outlook::NoVerdict => {}
            Outlook::Verdict => {
                let direction = BetterDirection::from(primary);
                questions.push((primary, Question::Verdict(direction)));
            }
        }
        for expectation in expectations(self.plan, key) {
            let expected = expected_change(expectation, self.margin)?;
            questions.push((expectation.metric, Question::Expectation(expected)));
        }
        let answers = questions.iter().map(|(metric, question)| {
            find(*metric).map_or(QuestionState::Open, |comparison| {
                self.answer(question, comparison, analysis)
            })
        });
        Ok(match answers.max() {
            None => Some(EndReason::NoVerdict),
            Some(QuestionState::Decided) => Some(EndReason::Settled),
            Some(QuestionState::Futile) => Some(EndReason::Futile),
            Some(QuestionState::Open) => None,
        })
    }

    fn answer(
        &self,
        question: &Question,
        comparison: &Comparison,
        analysis: &InterimAnalysis,
    ) -> QuestionState {
        let Some(interval) = &comparison.interval else {
            // A value below the resolution of its tool remains one, so there will be no interval.
            let is_below_resolution = comparison.is_resolution_open && comparison.resolution.is_none();
            return match is_below_resolution {
                true => QuestionState::Futile,
                false => QuestionState::Open,
            };
        };
        let decides = |interval: &Interval| match question {
            Question::Verdict(direction) => {
                decide_verdict(interval, self.margin, *direction) != Verdict::Inconclusive
            }
            Question::Expectation(expected) => expected.evaluate(interval) != ChangeOutcome::Inconclusive,
        };
        // Rounds without a valid case are not repeated, so later analyses lack them too.
        let rounds = u32::try_from(comparison.rounds).unwrap_or(u32::MAX);
        let missing = self.rounds.saturating_sub(rounds);
        let later = self.later.iter().map(|total| total - missing);
        let printed = comparison.printed_interval.as_ref().unwrap_or(interval);
        let resolution = comparison.resolution.as_ref();
        analysis.answer_with_resolution((interval, printed), resolution, rounds, later, decides)
    }
}

/// Results that later rounds can contribute to a comparison, judged from the evidence instead of the interval.
enum Outlook {
    /// A verdict and answers to expectations.
    Verdict,
    /// Only answers to expectations.
    NoVerdict,
    /// Nothing: the evidence of the rounds so far rules out every answer.
    NoAnswer,
    /// Unknown: a control shows a change, and later rounds may show that it was due to chance. The verdict is withheld
    /// while the control shows a change.
    Suspect,
}

fn outlook(comparison: &Comparison) -> Outlook {
    match &comparison.reason {
        None
        | Some(
            Withheld::NoInterval { .. }
            | Withheld::NotAnalyzed { .. }
            | Withheld::NotPrimary
            | Withheld::InterfaceShared { .. },
        ) if comparison.role == Role::Variant => Outlook::Verdict,
        None
        | Some(
            Withheld::NoInterval { .. }
            | Withheld::NotAnalyzed { .. }
            | Withheld::NotPrimary
            | Withheld::Control
            | Withheld::Identical { .. }
            | Withheld::InterfaceShared { .. }
            | Withheld::NotApplicable { .. },
        ) => Outlook::NoVerdict,
        Some(Withheld::ControlViolated { .. }) => Outlook::Suspect,
        Some(
            Withheld::NotMeasured { .. }
            | Withheld::NoValidRound { .. }
            | Withheld::NoCommonRound
            | Withheld::Contradicted { .. }
            | Withheld::NotEngaged { .. }
            | Withheld::NoEffect { .. }
            | Withheld::DifferentDevices { .. },
        ) => Outlook::NoAnswer,
    }
}
