//! JUnit XML report for CI. It has one test for the completeness and trustworthiness of the results, one for each
//! expectation, one for each payload and variant of a scenario with calls, one for each size and variant of a scenario
//! with tensor consumers, and one for each variant, which fails if the variant regresses.
//!
//! A result that leads to exit status 1 is a failure, and a result that leads to exit status 3 is an error. An
//! undecided result is skipped, with the reason. The warnings are the error output of the first test. The test of a variant
//! therefore passes only if the results rule out a regression at every size.

use campaign::compare::{Comparison, Withheld};
use campaign::format;
use campaign::plan::Role;
use campaign::summarize::FabricEvidence;
use campaign::{Evaluation, RunOutcome};
use crds::v1alpha1::{CallSection, ExpectationOutcome, FabricProof, Verdict};

use super::comparison::{is_undecided, is_without_effect, undecided_text, without_effect_text};
use super::isolated::{self, TestKind};
use super::overview;
use crate::report::Report;
use crate::report::document::{ResultText, Test, TestOutcome, VALIDITY};

/// Returns the tests. The first one tells whether the results are complete and trustworthy.
pub(super) fn tests(report: &Report<'_>) -> Vec<Test> {
    std::iter::once(validity(report))
        .chain(expectations(report))
        .chain(isolated_tests(report))
        .chain(regressions(report))
        .collect()
}

fn validity(report: &Report<'_>) -> Test {
    let summary = &report.evaluation.summary;
    let problem = match report.evaluation.outcome() {
        RunOutcome::Passed | RunOutcome::Missed => None,
        RunOutcome::Incomplete => Some(format!(
            "{} of {} blocks were measured",
            summary.blocks_done, summary.blocks_total
        )),
        RunOutcome::NothingMeasured => summary.nothing_measured(),
        RunOutcome::Untrusted | RunOutcome::Suspect => Some(untrustworthy_results(report).join("\n")),
    };
    let summary = "the results are incomplete or cannot be trusted";
    Test {
        name: VALIDITY.to_owned(),
        outcome: problem.map_or(TestOutcome::Passed, |problem| {
            TestOutcome::Error(summary.to_owned(), problem)
        }),
    }
}

/// Lists the results that cannot be trusted, each with its reason.
fn untrustworthy_results(report: &Report<'_>) -> Vec<String> {
    let Evaluation {
        summary,
        comparisons,
        changed_records,
    } = report.evaluation;
    let contradicted = |fabric: &&FabricEvidence| fabric.proof == FabricProof::Contradicted;
    let fabric = summary.fabric.as_ref().filter(contradicted);
    let fabric = fabric.map(|fabric| overview::fabric(Some(fabric)));
    let unusable = summary.cells.iter().filter(|cell| cell.valid_cases == 0);
    let unusable = unusable.map(|cell| {
        let arm = report.plan.arm_name(cell.arm);
        let reason = cell
            .invalid_reason()
            .unwrap_or_else(|| "no case was measured".to_owned());
        format!(
            "{}, {arm}: {reason}",
            location(report, cell.scenario, cell.size_bytes)
        )
    });
    // A comparison without a valid round is omitted, because its cell is already listed as unusable.
    let withheld = comparisons.primary().filter(|one| {
        let repeated = matches!(
            one.reason,
            Some(Withheld::NotMeasured { .. } | Withheld::NoValidRound { .. })
        );
        (one.is_untrusted() || one.is_suspect()) && !repeated
    });
    changed_records
        .clone()
        .into_iter()
        .chain(fabric)
        .chain(unusable)
        .chain(withheld.map(|one| comparison_line(report, one)))
        .collect()
}

/// Returns a test for each payload and variant of every scenario with calls, and for each size and variant of every
/// scenario with tensor consumers.
fn isolated_tests<'a>(report: &'a Report<'_>) -> impl Iterator<Item = Test> + use<'a> {
    TestKind::ALL.into_iter().flat_map(move |kind| {
        let failure = match kind {
            TestKind::Calls => "the calls failed",
            TestKind::Footprints => "the memory was not measured",
        };
        isolated::tests(report, kind).into_iter().map(move |test| {
            let name = format!("{}: {} {}", kind.heading(), test.scenario, test.name());
            let problem = test.problem();
            let outcome = match test.section {
                CallSection::Successful => TestOutcome::Passed,
                CallSection::Failed => TestOutcome::Error(failure.to_owned(), problem),
                CallSection::Skipped => TestOutcome::Skipped(problem, String::new()),
            };
            Test { name, outcome }
        })
    })
}

fn expectations(report: &Report<'_>) -> impl Iterator<Item = Test> {
    let answers = report.evaluation.comparisons.expectations.iter();
    answers.map(|answer| {
        let reason = answer.reason.clone();
        let outcome = match answer.outcome {
            ExpectationOutcome::Met => TestOutcome::Passed,
            ExpectationOutcome::NotMet => TestOutcome::Failed("not met".to_owned(), reason),
            ExpectationOutcome::Inconclusive => TestOutcome::Skipped(reason, String::new()),
        };
        let name = format!("expectation: {}", answer.text);
        Test { name, outcome }
    })
}

fn regressions(report: &Report<'_>) -> impl Iterator<Item = Test> {
    report.variants().map(|(index, arm)| {
        let primary = report.evaluation.comparisons.primary();
        let own = primary.filter(|one| one.arm == index && one.role == Role::Variant);
        let own: Vec<&Comparison> = own.collect();
        let lines_of = |predicate: fn(&Comparison) -> bool| -> Vec<String> {
            let selected = own.iter().filter(|one| predicate(one));
            selected.map(|one| comparison_line(report, one)).collect()
        };
        let regressed = lines_of(|one| one.verdict == Some(Verdict::Regressed));
        let undecided = lines_of(is_undecided);
        let without_effect = lines_of(is_without_effect);
        let open = undecided_text(undecided.len(), own.len(), "sizes");
        let ineffective = (!without_effect.is_empty())
            .then(|| without_effect_text(without_effect.len(), own.len(), "sizes"));
        let reservations: Vec<String> = open.into_iter().chain(ineffective).collect();
        let outcome = match (regressed.is_empty(), reservations.len(), own.len()) {
            (false, ..) => TestOutcome::Failed("worse than the baseline".to_owned(), regressed.join("\n")),
            (true, _, 0) => TestOutcome::Skipped("not applicable at any size".to_owned(), String::new()),
            (true, 0, _) => TestOutcome::Passed,
            (true, ..) => TestOutcome::Skipped(
                reservations.join(", and "),
                [undecided, without_effect].concat().join("\n"),
            ),
        };
        let name = format!("{}: no regression at any size", arm.name);
        Test { name, outcome }
    })
}

/// Formats the scenario, size and result of `comparison`.
fn comparison_line(report: &Report<'_>, comparison: &Comparison) -> String {
    let location = location(report, comparison.scenario, comparison.size_bytes);
    format!("{location}: {}", ResultText::from(comparison).line())
}

fn location(report: &Report<'_>, scenario: usize, size_bytes: u64) -> String {
    let name = report.plan.scenario_name(scenario);
    format!("{name} {}", format::size(size_bytes))
}
