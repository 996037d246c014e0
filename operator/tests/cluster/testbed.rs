//! What is done to the cluster from outside: commands of `testbed/testbed`, and kubectl's.

use std::process::Command;

use super::cluster::{kubeconfig, root};

/// The runner's image, as the testbed tags it.
pub const RUNNER_IMAGE: &str = "fabricbench.dev/runner:runner";

/// The image of one variant.
pub fn image_of(target: &str) -> String {
    format!("fabricbench.dev/runner:{target}")
}

/// Runs `testbed/testbed`, and gives what it printed.
pub fn testbed(arguments: &[&str]) -> String {
    let mut command = Command::new(root().join("testbed/testbed"));
    output(command.args(arguments))
}

/// Runs kubectl on the cluster under test.
pub fn kubectl(arguments: &[&str]) -> String {
    let mut command = Command::new(root().join("testbed/testbed"));
    output(
        command
            .arg("kubectl")
            .args(arguments)
            .env("KUBECONFIG", kubeconfig()),
    )
}

fn output(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// Takes a fault back when dropped, whatever became of the test.
pub struct Mended(pub &'static [&'static str]);

impl Drop for Mended {
    fn drop(&mut self) {
        testbed(self.0);
    }
}
