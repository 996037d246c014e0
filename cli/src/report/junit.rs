//! JUnit XML for CI: the tests of a document.

use crds::printable::printable;
use quick_junit::{NonSuccessKind, SerializeError, TestCase, TestCaseStatus, TestSuite};

use super::document::{Document, Test, TestOutcome};

/// Renders the tests of `document` as a JUnit XML document. The warnings are the error output of the first test.
///
/// # Errors
/// Returns an error if the XML writer fails, which does not happen when writing to memory.
pub fn render(document: &Document) -> Result<String, SerializeError> {
    let mut suite = TestSuite::new(&document.name);
    for (name, value) in &document.properties {
        suite.add_property((*name, value.as_str()));
    }
    let warnings: Vec<&str> = document.warnings().collect();
    for (index, test) in document.tests.iter().enumerate() {
        let mut case = TestCase::new(&test.name, status(test));
        case.set_classname(&document.name);
        if index == 0 && !warnings.is_empty() {
            case.set_system_err(warnings.join("\n"));
        }
        suite.add_test_case(case);
    }
    let mut report = quick_junit::Report::new("fabricbench");
    report.add_test_suite(suite);
    Ok(printable(&report.to_string()?).into_owned())
}

fn status(test: &Test) -> TestCaseStatus {
    let (mut status, summary, details) = match &test.outcome {
        TestOutcome::Passed => return TestCaseStatus::success(),
        TestOutcome::Failed(summary, details) => {
            let status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            (status, summary, details)
        }
        TestOutcome::Error(summary, details) => {
            let status = TestCaseStatus::non_success(NonSuccessKind::Error);
            (status, summary, details)
        }
        TestOutcome::Skipped(reason, details) => (TestCaseStatus::skipped(), reason, details),
    };
    status.set_message(summary);
    if !details.is_empty() {
        status.set_description(details);
    }
    status
}
