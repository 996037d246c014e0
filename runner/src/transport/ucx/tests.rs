//! Tests with real UCX libraries: the system's, and a newer one in the directory that `FABRICBENCH_TEST_UCX_2`
//! specifies. A process can load only one UCX, and UCX reads its environment when it is loaded. The tests are therefore
//! ignored by default, and `runs_the_ignored_tests_with_each_library` runs them in a process for each library.

mod harness;
mod peers;
mod rejections;
mod traffic;

use std::path::PathBuf;
use std::process::Command;

/// Variables that enable shared-memory error handling.
const SHARED_MEMORY_ERROR_HANDLING: [(&str, &str); 2] = [
    ("UCX_POSIX_ERROR_HANDLING", "y"),
    ("UCX_SYSV_ERROR_HANDLING", "y"),
];

/// Runs the ignored tests of this module with each library.
#[test]
fn runs_the_ignored_tests_with_each_library() {
    for library in libraries() {
        let text = run_ignored("transport::ucx::tests::", library.as_ref(), &[]);
        assert!(
            !text.contains("not returned to mpool"),
            "a UCX object was not released: {text}"
        );
        let test = "transport::ucx::tests::rejections::shared_memory_with_error_handling";
        run_ignored(test, library.as_ref(), &SHARED_MEMORY_ERROR_HANDLING);
    }
}

/// Directory of each library; `None` for the system's.
fn libraries() -> [Option<PathBuf>; 2] {
    let newer = std::env::var_os("FABRICBENCH_TEST_UCX_2").unwrap_or_else(|| {
        panic!("FABRICBENCH_TEST_UCX_2 must name a directory that contains a newer UCX; .ci/test sets it")
    });
    [None, Some(PathBuf::from(newer))]
}

/// Runs the ignored tests whose names contain `filter` in a separate process, and returns its output.
fn run_ignored(filter: &str, library: Option<&PathBuf>, variables: &[(&str, &str)]) -> String {
    let directory = tempfile::tempdir().unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--ignored", "--test-threads=1", filter])
        .current_dir(directory.path())
        .env_remove("HOME")
        .env_remove(harness::LIBRARY)
        .envs(super::required_environment())
        .envs(variables.iter().copied());
    if let Some(library) = library {
        command.env(harness::LIBRARY, library);
    }
    let output = command.output().unwrap();
    let text = format!(
        "{library:?}: {}\n{}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(output.status.success(), "{text}");
    assert!(!text.contains("running 0 tests"), "{filter}: {text}");
    text
}
