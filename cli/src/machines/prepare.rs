//! Looks at the workers' machines, and copies the runner to them. Performs I/O.

use std::sync::Arc;
use std::time::Duration;

use super::connection::{CONNECT_TIMEOUT, Connection};
use super::facts::Facts;
use super::launcher::Launcher;
use super::runner_file::RunnerFile;
use super::script::RunnerLocation;
use crate::local::Interrupt;

/// Maximum time for a machine to describe itself.
const LOOK_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum time to copy the runner to a machine.
const COPY_TIMEOUT: Duration = Duration::from_secs(600);

/// What is needed to prepare machines.
pub(super) struct Preparation<'a> {
    pub(super) launcher: &'a Launcher,
    pub(super) runner: &'a RunnerFile,
    pub(super) location: &'a RunnerLocation,
    pub(super) interrupt: &'a Interrupt,
}

impl Preparation<'_> {
    /// Asks the machine `name` for facts about itself.
    ///
    /// # Errors
    /// Returns an error, which starts with the name, if the machine cannot be reached or cannot run the runner.
    pub(super) fn look(&self, name: &str) -> Result<Facts, String> {
        let facts = self
            .run(name, &self.location.look(), Arc::default(), LOOK_TIMEOUT)
            .map(|output| Facts::parse(&output))
            .map_err(|error| format!("{name}: {error}"))?;
        let needed = self.runner.machine;
        match (facts.kernel.as_str(), facts.machine.as_str()) == ("Linux", needed) {
            true => Ok(facts),
            false => Err(format!(
                "{name}: it runs {} on {}, but the runner is for Linux on {needed}: set --runner to one for that machine. \
                 All machines of a run need the same one",
                facts.kernel, facts.machine
            )),
        }
    }

    /// Copies the runner to the machine `name`, and starts it once.
    ///
    /// # Errors
    /// Returns an error, which starts with the name, if the machine cannot store or start the runner.
    pub(super) fn copy(&self, name: &str) -> Result<(), String> {
        let input = Arc::clone(&self.runner.bytes);
        self.run(name, &self.location.copy(), input, COPY_TIMEOUT)
            .map(drop)
            .map_err(|error| {
                format!("{name}: the runner could not be copied to it, or does not run there: {error}")
            })
    }

    fn run(&self, name: &str, script: &str, input: Arc<[u8]>, timeout: Duration) -> Result<String, String> {
        let mut shell = self.launcher.shell(name);
        Connection::open(&mut shell, name, script, CONNECT_TIMEOUT, self.interrupt)?.finish(
            input,
            timeout,
            self.interrupt,
        )
    }
}
