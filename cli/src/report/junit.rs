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
use crds::printable::printable;
use crds::v1alpha1::{CallSection, ExpectationOutcome, FabricProof, Verdict};
use quick_junit::{NonSuccessKind, SerializeError, TestCase, TestCaseStatus, TestSuite};

use super::comparison::{
    ComparisonText, is_undecided, is_without_effect, undecided_text, without_effect_text,
};
use super::isolated::{self, TestKind};
use super::{Report, overview};

/// Renders the report as a JUnit XML document.
///
/// # Errors
/// Returns an error if the XML writer fails, which does not happen when writing to memory.
pub fn render(report: &Report<'_>) -> Result<String, SerializeError> {
    let run = report.plan.run.as_str();
    let mut suite = TestSuite::new(run);
    suite.add_property(("plan-hash", report.plan.hash()));
    suite.add_property(("verdict", report.evaluation.comparisons.verdict.as_str()));
    let tests = std::iter::once(validity_test_case(report))
        .chain(expectations(report))
        .chain(isolated_tests(report))
        .chain(regressions(report));
    suite.add_test_cases(tests.map(|mut test| {
        test.set_classname(run);
        test
    }));
    let mut document = quick_junit::Report::new("fabricbench");
    document.add_test_suite(suite);
    Ok(printable(&document.to_string()?).into_owned())
}

fn validity_test_case(report: &Report<'_>) -> TestCase {
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
    let status = problem.map_or_else(TestCaseStatus::success, |problem| {
        unsuccessful(
            NonSuccessKind::Error,
            "the results are incomplete or cannot be trusted",
            &problem,
        )
    });
    let mut test = TestCase::new("complete and trustworthy", status);
    if !summary.warnings.is_empty() {
        test.set_system_err(summary.warnings.join("\n"));
    }
    test
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
        let arm = report.plan.arms.get(cell.arm).map_or("", |arm| arm.name.as_str());
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
fn isolated_tests<'a>(report: &'a Report<'_>) -> impl Iterator<Item = TestCase> + use<'a> {
    TestKind::ALL.into_iter().flat_map(move |kind| {
        let failure = match kind {
            TestKind::Calls => "the calls failed",
            TestKind::Footprints => "the memory was not measured",
        };
        isolated::tests(report, kind).into_iter().map(move |test| {
            let name = format!("{}: {} {}", kind.heading(), test.scenario, test.name());
            TestCase::new(name, section(test.section, failure, &test.problem()))
        })
    })
}

/// Returns the status of a test in `section` of the report.
fn section(section: CallSection, failure: &str, problem: &str) -> TestCaseStatus {
    match section {
        CallSection::Successful => TestCaseStatus::success(),
        CallSection::Failed => unsuccessful(NonSuccessKind::Error, failure, problem),
        CallSection::Skipped => skipped_status(problem),
    }
}

fn expectations(report: &Report<'_>) -> impl Iterator<Item = TestCase> {
    let answers = report.evaluation.comparisons.expectations.iter();
    answers.map(|answer| {
        let status = match answer.outcome {
            ExpectationOutcome::Met => TestCaseStatus::success(),
            ExpectationOutcome::NotMet => unsuccessful(NonSuccessKind::Failure, "not met", &answer.reason),
            ExpectationOutcome::Inconclusive => skipped_status(&answer.reason),
        };
        TestCase::new(format!("expectation: {}", answer.text), status)
    })
}

fn regressions(report: &Report<'_>) -> impl Iterator<Item = TestCase> {
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
        let status = match (regressed.is_empty(), reservations.len(), own.len()) {
            (false, ..) => unsuccessful(
                NonSuccessKind::Failure,
                "worse than the baseline",
                &regressed.join("\n"),
            ),
            (true, _, 0) => skipped_status("not applicable at any size"),
            (true, 0, _) => TestCaseStatus::success(),
            (true, ..) => {
                let mut status = skipped_status(&reservations.join(", and "));
                status.set_description([undecided, without_effect].concat().join("\n"));
                status
            }
        };
        TestCase::new(format!("{}: no regression at any size", arm.name), status)
    })
}

fn unsuccessful(kind: NonSuccessKind, message: &str, description: &str) -> TestCaseStatus {
    let mut status = TestCaseStatus::non_success(kind);
    status.set_message(message).set_description(description);
    status
}

fn skipped_status(reason: &str) -> TestCaseStatus {
    let mut status = TestCaseStatus::skipped();
    status.set_message(reason);
    status
}

/// Formats the scenario, size and result of `comparison`.
fn comparison_line(report: &Report<'_>, comparison: &Comparison) -> String {
    let location = location(report, comparison.scenario, comparison.size_bytes);
    format!("{location}: {}", ComparisonText::from(comparison).line())
}

fn location(report: &Report<'_>, scenario: usize, size_bytes: u64) -> String {
    let scenario = report.plan.scenarios.get(scenario);
    let name = scenario.map_or("", |scenario| scenario.assignment.name.as_str());
    format!("{name} {}", format::size(size_bytes))
}
