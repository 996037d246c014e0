//! Runs `testbed/testbed` and kubectl commands for the test cluster.

use std::process::Command;
use std::thread;

use test_support::cluster::root;
use tokio::sync::{Mutex, MutexGuard};

/// Runner image with the testbed's tag.
pub const RUNNER_IMAGE: &str = "fabricbench.dev/runner:runner";

/// Returns a variant's runner image.
pub fn image_of(target: &str) -> String {
    format!("fabricbench.dev/runner:{target}")
}

static TESTBED: Mutex<()> = Mutex::const_new(());

/// Exclusive use of the testbed commands that change the cluster. They fail if another such command is running.
pub struct Testbed {
    _guard: MutexGuard<'static, ()>,
}

impl Testbed {
    /// Waits until no other test is changing the cluster.
    pub async fn lock() -> Self {
        Self {
            _guard: TESTBED.lock().await,
        }
    }

    /// Like [`Testbed::lock`], but blocks the test's thread.
    fn lock_blocking() -> Self {
        // Tokio does not block the threads of its own runtimes.
        let _guard = thread::scope(|scope| scope.spawn(|| TESTBED.blocking_lock()).join().unwrap());
        Self { _guard }
    }

    /// Runs a command and returns its standard output.
    pub fn run(&self, arguments: &[&str]) -> String {
        output(arguments)
    }
}

/// A fault that `inject` has caused, and that `revert` reverts when this value is dropped, even if the test fails.
pub struct Fault {
    revert: Vec<String>,
    testbed: Option<Testbed>,
}

impl Fault {
    /// Causes the fault. Other tests cannot change the cluster until it is reverted or [`Fault::unlock`] is called.
    pub fn inject(testbed: Testbed, inject: &[&str], revert: &[&str]) -> Self {
        let fault = Self {
            revert: revert.iter().map(|word| (*word).to_owned()).collect(),
            testbed: Some(testbed),
        };
        output(inject);
        fault
    }

    /// Lets other tests change the cluster until the fault is reverted.
    pub fn unlock(&mut self) {
        self.testbed = None;
    }
}

impl Drop for Fault {
    fn drop(&mut self) {
        let _testbed = self.testbed.take().unwrap_or_else(Testbed::lock_blocking);
        let revert: Vec<&str> = self.revert.iter().map(String::as_str).collect();
        undo(&revert);
    }
}

/// Runs a command that undoes changes of a test. A failure fails the test. If the test has already failed, the failure
/// is only printed, because a second panic would end all other tests.
pub fn undo(arguments: &[&str]) {
    match execute(arguments) {
        Ok(_) => {}
        Err(message) if thread::panicking() => println!("{message}"),
        Err(message) => panic!("{message}"),
    }
}

/// Runs a command and returns its standard output, or an error message if it fails.
fn execute(arguments: &[&str]) -> Result<String, String> {
    let mut command = Command::new(root().join("testbed/testbed"));
    let output = command.args(arguments).output().unwrap();
    if output.status.success() {
        return Ok(String::from_utf8(output.stdout).unwrap());
    }
    Err(format!(
        "{command:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    ))
}

fn output(arguments: &[&str]) -> String {
    execute(arguments).unwrap_or_else(|message| panic!("{message}"))
}

/// Runs kubectl for the test cluster and returns its standard output.
pub fn kubectl(arguments: &[&str]) -> String {
    output(&[&["kubectl"], arguments].concat())
}
