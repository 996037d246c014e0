//! Tests with real UCX libraries: the system's, and a newer one in the directory that `FABRICBENCH_TEST_UCX_2`
//! specifies. A process can load only one UCX, and UCX reads its environment when it is loaded. The tests are therefore
//! ignored by default, and `runs_the_ignored_tests_with_each_library` runs them in a process for each library.

mod harness;
mod peers;
mod rejections;
mod traffic;

use crate::transport::ignored_tests::run_ignored_tests;
use std::ffi::OsString;
use std::path::PathBuf;

/// Variables that enable shared-memory error handling.
const SHARED_MEMORY_ERROR_HANDLING: [(&str, &str); 2] = [
    ("UCX_POSIX_ERROR_HANDLING", "y"),
    ("UCX_SYSV_ERROR_HANDLING", "y"),
];

/// Runs the ignored tests of this module with each library.
#[test]
fn runs_the_ignored_tests_with_each_library() {
    for library in libraries() {
        let library = library.map(|library| (harness::LIBRARY, OsString::from(library)));
        let (status, text) = run_ignored_tests("transport::ucx::tests::", library.clone());
        assert!(status.success(), "{text}");
        assert!(
            !text.contains("not returned to mpool"),
            "a UCX object was not released: {text}"
        );
        let test = "transport::ucx::tests::rejections::shared_memory_with_error_handling";
        let error_handling = SHARED_MEMORY_ERROR_HANDLING.map(|(name, value)| (name, OsString::from(value)));
        let (status, text) = run_ignored_tests(test, error_handling.into_iter().chain(library));
        assert!(status.success(), "{text}");
    }
}

/// Directory of each library; `None` for the system's.
fn libraries() -> [Option<PathBuf>; 2] {
    let newer = std::env::var_os("FABRICBENCH_TEST_UCX_2").unwrap_or_else(|| {
        panic!("FABRICBENCH_TEST_UCX_2 must name a directory that contains a newer UCX; .ci/test sets it")
    });
    [None, Some(PathBuf::from(newer))]
}
