//! Runs `testbed/testbed` and kubectl commands for the test cluster.

use std::process::Command;
use std::sync::{Mutex, PoisonError};

use test_support::cluster::root;

/// Runner image with the testbed's tag.
pub const RUNNER_IMAGE: &str = "fabricbench.dev/runner:runner";

/// Returns a variant's runner image.
pub fn image_of(target: &str) -> String {
    format!("fabricbench.dev/runner:{target}")
}

/// Locked while a testbed command is running, because commands that change the cluster fail if another one is running.
static TESTBED: Mutex<()> = Mutex::new(());

/// Runs `testbed/testbed` and returns its standard output. Waits until no other such command is running.
pub fn testbed(arguments: &[&str]) -> String {
    let _testbed = TESTBED.lock().unwrap_or_else(PoisonError::into_inner);
    output(arguments)
}

fn output(arguments: &[&str]) -> String {
    let mut command = Command::new(root().join("testbed/testbed"));
    let output = command.args(arguments).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// Runs kubectl for the test cluster and returns its standard output.
pub fn kubectl(arguments: &[&str]) -> String {
    output(&[&["kubectl"], arguments].concat())
}

/// Runs a testbed command when dropped, to undo a fault even if the test fails.
pub struct Restore<'a>(pub &'a [&'a str]);

impl Drop for Restore<'_> {
    fn drop(&mut self) {
        testbed(self.0);
    }
}
