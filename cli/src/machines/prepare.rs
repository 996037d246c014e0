//! Looks at a worker's machine, and copies the runner to it if it is not there. Performs I/O.

use std::time::Duration;

use super::connection::{CONNECT_TIMEOUT, Connection};
use super::facts::Facts;
use super::host::Host;
use super::launcher::Launcher;
use super::runner_file::RunnerFile;
use super::script::RunnerLocation;
use crate::local::Interrupt;

/// Maximum time for a machine to describe itself.
const LOOK_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum time to copy the runner to a machine.
const COPY_TIMEOUT: Duration = Duration::from_secs(600);

/// What is needed to prepare a machine.
pub(super) struct Preparation<'a> {
    pub(super) launcher: &'a Launcher,
    pub(super) runner: &'a RunnerFile,
    pub(super) location: &'a RunnerLocation,
    pub(super) interrupt: &'a Interrupt,
}

/// A machine on which workers can be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PreparedHost {
    /// Address at which the other workers reach the one on this machine.
    pub(super) address: String,
    /// Whether the runner was copied.
    pub(super) was_copied: bool,
}

impl Preparation<'_> {
    /// Prepares `host`.
    ///
    /// # Errors
    /// Returns an error, which starts with the name of the host, if the machine cannot be reached or cannot run the runner.
    pub(super) fn prepare(&self, host: &Host) -> Result<PreparedHost, String> {
        self.try_prepare(host)
            .map_err(|error| format!("{}: {error}", host.name))
    }

    fn try_prepare(&self, host: &Host) -> Result<PreparedHost, String> {
        let looked = self.run(host, &self.location.look(), Vec::new(), LOOK_TIMEOUT)?;
        let facts = Facts::parse(&looked);
        let needed = self.runner.machine;
        if (facts.kernel.as_str(), facts.machine.as_str()) != ("Linux", needed) {
            return Err(format!(
                "it runs {} on {}, but the runner is for Linux on {needed}: set --runner to one for that machine. All \
                 machines of a run need the same one",
                facts.kernel, facts.machine
            ));
        }
        let address = facts.address(host)?;
        let was_copied = facts.digest.as_ref() != Some(&self.runner.digest);
        if was_copied {
            let copied = self.run(
                host,
                &self.location.copy(),
                self.runner.bytes.clone(),
                COPY_TIMEOUT,
            );
            copied.map_err(|error| {
                format!("the runner could not be copied to it, or does not run there: {error}")
            })?;
        }
        Ok(PreparedHost { address, was_copied })
    }

    fn run(&self, host: &Host, script: &str, input: Vec<u8>, timeout: Duration) -> Result<String, String> {
        let mut shell = self.launcher.shell(&host.name);
        Connection::open(&mut shell, &host.name, script, CONNECT_TIMEOUT, self.interrupt)?.finish(
            input,
            timeout,
            self.interrupt,
        )
    }
}
