//! Tests with real UCX libraries: the system's, and a newer one in the directory that `FABRICBENCH_TEST_UCX_2`
//! specifies. A process can load only one UCX, and UCX reads its environment when it is loaded. The tests are therefore
//! ignored by default, and `every_library` runs them in a process for each library.

mod harness;
mod peers;
mod rejections;
mod traffic;

use std::path::PathBuf;
use std::process::Command;

/// Runs the ignored tests of this module with each library.
#[test]
fn every_library() {
    let newer = std::env::var_os("FABRICBENCH_TEST_UCX_2").unwrap_or_else(|| {
        panic!("FABRICBENCH_TEST_UCX_2 must name a directory with a newer UCX; .ci/test sets it")
    });
    for library in [None, Some(PathBuf::from(newer))] {
        let directory = tempfile::tempdir().unwrap();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["--ignored", "--test-threads=1", "transport::ucx::tests::"])
            .current_dir(directory.path())
            .env_remove("HOME")
            .env_remove(harness::LIBRARY)
            .envs(super::required_environment());
        if let Some(library) = &library {
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
        assert!(
            !text.contains("not returned to mpool"),
            "an object of UCX was not released: {text}"
        );
    }
}
