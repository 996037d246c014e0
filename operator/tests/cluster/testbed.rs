//! What is done to the cluster from outside: commands of `testbed/testbed`, and kubectl's.

use std::process::Command;

use super::cluster::root;

/// The runner's image, as the testbed tags it.
pub const RUNNER_IMAGE: &str = "fabricbench.dev/runner:runner";

/// The image of one variant.
pub fn image_of(target: &str) -> String {
    format!("fabricbench.dev/runner:{target}")
}

/// Runs `testbed/testbed`, and gives what it printed.
pub fn testbed(arguments: &[&str]) -> String {
    let mut command = Command::new(root().join("testbed/testbed"));
    let output = command.args(arguments).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// Runs kubectl on that cluster.
pub fn kubectl(arguments: &[&str]) -> String {
    testbed(&[&["kubectl"], arguments].concat())
}

/// Takes a fault back when dropped, whatever became of the test.
pub struct Mended<'a>(pub &'a [&'a str]);

impl Drop for Mended<'_> {
    fn drop(&mut self) {
        testbed(self.0);
    }
}
