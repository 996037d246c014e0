//! JUnit XML report of an imported run: a single test that ends in an error, so that no CI gate accepts the run as a
//! measured run. The warnings are the error output of the test.

use crds::printable::printable;
use quick_junit::{NonSuccessKind, SerializeError, TestCase, TestCaseStatus, TestSuite};

use crate::imported::{ImportedRun, NOT_CONTROLLED};

/// Renders the report as a JUnit XML document.
///
/// # Errors
/// Returns an error if the XML writer fails, which does not happen when writing to memory.
pub fn render(run: &ImportedRun) -> Result<String, SerializeError> {
    let name = run.manifest.name.as_str();
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
    status
        .set_message("imported values are not controlled")
        .set_description(NOT_CONTROLLED);
    let mut test = TestCase::new("complete and trustworthy", status);
    test.set_classname(name);
    if !run.warnings.is_empty() {
        test.set_system_err(run.warnings.join("\n"));
    }
    let mut suite = TestSuite::new(name);
    suite.add_property(("controlled", "false"));
    suite.add_property(("verdict", "none: not controlled"));
    suite.add_test_case(test);
    let mut document = quick_junit::Report::new("fabricbench");
    document.add_test_suite(suite);
    Ok(printable(&document.to_string()?).into_owned())
}
