//! The report as JUnit XML, for what gates a change: a test for the numbers, for each expectation, and for each variant
//! that must not be worse.
//!
//! Whatever makes the exit status 1 is a failure here, and what makes it 3 an error. What is open is skipped, with the
//! reason: it neither holds nor is refuted. So a variant passes only where every size is shown to be no worse.

use crds::v1alpha1::{ExpectationOutcome, FabricProof, Verdict};
use quick_junit::{NonSuccessKind, SerializeError, TestCase, TestCaseStatus, TestSuite};

use super::Report;
use super::words;
use crate::campaign::compare::{Comparison, Role, Withheld};
use crate::campaign::format;
use crate::campaign::summarize::FabricEvidence;
use crate::campaign::{Evaluation, RunOutcome};

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
    let why = match report.evaluation.outcome() {
        RunOutcome::Passed | RunOutcome::Missed => None,
        RunOutcome::Incomplete => Some(format!(
            "{} of {} blocks measured",
            summary.blocks_done, summary.blocks_total
        )),
        RunOutcome::NothingMeasured => summary.nothing_measured(),
        RunOutcome::Untrusted => Some(doubts(report).join("\n")),
    };
    let status = why.map_or_else(TestCaseStatus::success, |why| {
        not(NonSuccessKind::Error, "the numbers cannot be trusted", &why)
    });
    TestCase::new("complete and to be trusted", status)
}

/// Everything that makes the numbers untrustworthy, each in a line.
fn doubts(report: &Report<'_>) -> Vec<String> {
    let Evaluation { summary, comparisons } = report.evaluation;
    let contradicted = |fabric: &&FabricEvidence| fabric.proof == FabricProof::Contradicted;
    let fabric = summary.fabric.as_ref().filter(contradicted);
    let fabric = fabric.map(|fabric| words::fabric(Some(fabric)));
    let unusable = summary.cells.iter().filter(|cell| cell.valid_cases == 0);
    let unusable = unusable.map(|cell| {
        let arm = report.plan.arms.get(cell.arm).map_or("", |arm| arm.name.as_str());
        let reason = cell.invalid_reason().unwrap_or_else(|| "no case".to_owned());
        format!(
            "{}, {arm}: {reason}",
            place(report, cell.scenario, cell.size_bytes)
        )
    });
    // A comparison without a valid round is one of those cells again.
    let withheld = comparisons.primary().filter(|one| {
        let said = matches!(
            one.reason,
            Some(Withheld::NotYet { .. } | Withheld::NoValidRound { .. })
        );
        one.is_untrusted() && !said
    });
    fabric
        .into_iter()
        .chain(unusable)
        .chain(withheld.map(|one| told(report, one)))
        .collect()
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
        let told_of = |wanted: fn(&Comparison) -> bool| -> Vec<String> {
            let wanted = own.iter().filter(|one| wanted(one));
            wanted.map(|one| told(report, one)).collect()
        };
        let worse = told_of(|one| one.verdict == Some(Verdict::Regressed));
        let open = told_of(words::is_open);
        let status = match (worse.is_empty(), open.len(), own.len()) {
            (false, ..) => not(
                NonSuccessKind::Failure,
                "worse than the baseline",
                &worse.join("\n"),
            ),
            (true, _, 0) => skipped("the same as the baseline at every size"),
            (true, 0, _) => TestCaseStatus::success(),
            (true, some, all) => {
                let mut status = skipped(&format!("{some} of {all} sizes are open"));
                status.set_description(open.join("\n"));
                status
            }
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

/// What `comparison` answers, and where.
fn told(report: &Report<'_>, comparison: &Comparison) -> String {
    let place = place(report, comparison.scenario, comparison.size_bytes);
    format!("{place}: {}", words::answer(comparison).line())
}

fn place(report: &Report<'_>, scenario: usize, size_bytes: u64) -> String {
    let scenario = report.plan.scenarios.get(scenario);
    let name = scenario.map_or("", |scenario| scenario.assignment.name.as_str());
    format!("{name} {}", format::size(size_bytes))
}
