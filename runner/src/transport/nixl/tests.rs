//! Tests with the NIXL library in the directory that `FABRICBENCH_TEST_NIXL` specifies. If the variable is not set,
//! they print a message and skip everything that needs the library. The UCX in NIXL reads its environment when it is
//! loaded, and one of NIXL's global destructors crashes when the process exits. The tests are therefore ignored by
//! default, and `runs_the_ignored_tests` runs them in a separate process.

mod altered;
mod harness;
mod rejections;
mod traffic;

use std::path::PathBuf;
use std::process::Command;

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
    let directory = tempfile::tempdir().unwrap();
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--test-threads=1", "transport::nixl::tests::"])
        .current_dir(directory.path())
        .env_remove("HOME")
        .env(harness::LIBRARY, library)
        .envs(crate::transport::ucx::required_environment())
        .output()
        .unwrap();
    let text = format!(
        "{}\n{}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    // The process may crash after the last test, in a NIXL destructor, so its exit status is meaningless.
    assert!(text.contains("test result: ok. "), "{text}");
    assert!(!text.contains("running 0 tests"), "{text}");
}
