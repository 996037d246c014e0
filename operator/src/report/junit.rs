//! The report as JUnit XML, for what gates a change: a test for the numbers, for each expectation, and for each variant
//! that must not be worse.
//!
//! Whatever makes the exit status 1 is a failure here, and what makes it 3 an error. What is inconclusive is skipped, with
//! the reason: it neither holds nor is refuted.

use crds::v1alpha1::{ExpectationOutcome, Verdict};
use quick_junit::{NonSuccessKind, SerializeError, TestCase, TestCaseStatus, TestSuite};

use super::Report;
use super::words;
use crate::campaign::Overall;
use crate::campaign::compare::campaign::{Comparison, Role};
use crate::campaign::figures;

/// The report as one document.
///
/// # Errors
/// When the writer fails, which one into memory does not.
pub fn render(report: &Report<'_>) -> Result<String, SerializeError> {
    let run = report.plan.run.as_str();
    let mut suite = TestSuite::new(run);
    suite.add_property(("plan-hash", report.plan_hash));
    suite.add_property(("verdict", report.evaluation.comparisons.verdict.as_str()));
    let tests = std::iter::once(trusted(report))
        .chain(expectations(report))
        .chain(regressions(report));
    suite.add_test_cases(tests.map(|mut test| {
        test.set_classname(run);
        test
    }));
    let mut document = quick_junit::Report::new("fabricbench");
    document.add_test_suite(suite);
    document.to_string()
}

fn trusted(report: &Report<'_>) -> TestCase {
    let summary = &report.evaluation.summary;
    let why = match report.evaluation.overall() {
        Overall::Good | Overall::Missed => None,
        Overall::NotComplete => Some(format!(
            "{} of {} blocks are measured",
            summary.blocks_done, summary.blocks_total
        )),
        Overall::NothingMeasured | Overall::NotTrustworthy => {
            let withheld = report.evaluation.comparisons.primary();
            let withheld = withheld.filter(|comparison| comparison.untrustworthy());
            let reasons = withheld.map(|one| place(report, one) + ": " + &words::answer(one).line());
            let reasons: Vec<String> = reasons.collect();
            Some(match reasons.is_empty() {
                true => words::fabric(summary.fabric.as_ref()),
                false => reasons.join("\n"),
            })
        }
    };
    let status = why.map_or_else(TestCaseStatus::success, |why| {
        not(NonSuccessKind::Error, "the numbers cannot be trusted", &why)
    });
    TestCase::new("complete and to be trusted", status)
}

fn expectations(report: &Report<'_>) -> impl Iterator<Item = TestCase> {
    let answers = report.evaluation.comparisons.expectations.iter();
    answers.map(|answer| {
        let status = match answer.outcome {
            ExpectationOutcome::Met => TestCaseStatus::success(),
            ExpectationOutcome::NotMet => not(NonSuccessKind::Failure, "not met", &answer.reason),
            ExpectationOutcome::Inconclusive => skipped(&answer.reason),
        };
        TestCase::new(format!("expected: {}", answer.text), status)
    })
}

fn regressions(report: &Report<'_>) -> impl Iterator<Item = TestCase> {
    report.variants().map(|(index, arm)| {
        let primary = report.evaluation.comparisons.primary();
        let own = primary.filter(|one| one.arm == index && one.role == Role::Variant);
        let own: Vec<&Comparison> = own.collect();
        let worse = own.iter().filter(|one| one.verdict == Some(Verdict::Regressed));
        let worse: Vec<String> = worse
            .map(|one| place(report, one) + ": " + &words::answer(one).line())
            .collect();
        let status = match worse.is_empty() {
            false => not(
                NonSuccessKind::Failure,
                "worse than the baseline",
                &worse.join("\n"),
            ),
            true if own.iter().any(|one| one.verdict.is_some()) => TestCaseStatus::success(),
            true => skipped("no size has a verdict"),
        };
        TestCase::new(format!("{}: not worse at any size", arm.name), status)
    })
}

fn not(kind: NonSuccessKind, what: &str, why: &str) -> TestCaseStatus {
    let mut status = TestCaseStatus::non_success(kind);
    status.set_message(what).set_description(why);
    status
}

fn skipped(why: &str) -> TestCaseStatus {
    let mut status = TestCaseStatus::skipped();
    status.set_message(why);
    status
}

fn place(report: &Report<'_>, comparison: &Comparison) -> String {
    let scenario = report.plan.scenarios.get(comparison.scenario);
    let name = scenario.map_or("", |scenario| scenario.assignment.name.as_str());
    format!("{name} {}", figures::size(comparison.size_bytes))
}
