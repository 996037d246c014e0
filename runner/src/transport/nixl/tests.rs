//! Tests with the NIXL library in the directory that `FABRICBENCH_TEST_NIXL` specifies. If the variable is not set,
//! they print a message and skip everything that needs the library. The UCX in NIXL reads its environment when it is
//! loaded, and one of NIXL's global destructors crashes when the process exits. The tests are therefore ignored by
//! default, and `runs_the_ignored_tests` runs them in a separate process.

mod altered;
mod harness;
mod rejections;
mod traffic;

use crate::transport::ignored_tests::run_ignored_tests;
use std::ffi::OsString;
use std::path::PathBuf;

/// Directory of the library. Prints a message and returns `None` if the variable is not set.
fn library() -> Option<PathBuf> {
    let directory = std::env::var_os("FABRICBENCH_TEST_NIXL").map(PathBuf::from);
    if directory.is_none() {
        println!("skipped: FABRICBENCH_TEST_NIXL does not name a directory with NIXL; .ci/test sets it");
    }
    directory
}

/// Runs the ignored tests of this module.
#[test]
fn runs_the_ignored_tests() {
    let Some(library) = library() else {
        return;
    };
    let library = (harness::LIBRARY, OsString::from(library));
    let (_, text) = run_ignored_tests("transport::nixl::tests::", [library]);
    // The process may crash after the last test, in a NIXL destructor, so its exit status is meaningless.
    assert!(text.contains("test result: ok. "), "{text}");
}
