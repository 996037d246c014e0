//! Where the workers of a run are started.

use std::io::Read;
use std::path::Path;
use std::process::{Child, ChildStdin};
use std::sync::Arc;

use campaign::plan::Plan;
use crds::assignment::{Assignment, RankBinding, Rendezvous};

use super::error::ExecuteError;
use super::interrupt::Interrupt;
use super::stderr_tail::StderrTail;

/// Starts the workers of a run, on this machine or on others.
pub(crate) trait Executor {
    /// Rendezvous of the workers' next attempt, whose number among all attempts of the run is `number`.
    ///
    /// # Errors
    /// Returns an error if no port is free.
    fn rendezvous(&self, number: u32) -> Result<Rendezvous, ExecuteError>;

    /// Rails and CPUs of each rank.
    ///
    /// # Errors
    /// Returns an error if the CPUs of this process cannot be read.
    fn bindings(&self, plan: &Plan) -> Result<Vec<RankBinding>, ExecuteError>;

    /// Starts a worker for each rank of `assignment`. The workers keep the output of their instruments in `logs`, if it is
    /// set. Returns one result for each rank, in their order. The error says what to do.
    fn start(
        &self,
        assignment: &Assignment,
        logs: Option<&Path>,
        interrupt: &Interrupt,
    ) -> Vec<Result<StartedWorker, String>>;

    /// Words of a shell command that start workers in the same place.
    fn options(&self) -> Vec<String> {
        Vec::new()
    }

    /// Name of the machine of a worker, if it is not this one.
    fn host(&self, _rank: u32) -> Option<&str> {
        None
    }

    /// Name of a worker in messages.
    fn name(&self, rank: u32) -> String {
        match self.host(rank) {
            Some(host) => format!("worker {rank} ({host})"),
            None => format!("worker {rank}"),
        }
    }
}

/// A worker that was started.
pub(crate) struct StartedWorker {
    /// The worker, or the launcher of a worker on another machine, in a process group of its own.
    pub(crate) child: Child,
    /// Its standard output, if it writes records.
    pub(crate) stdout: Option<Box<dyn Read + Send>>,
    /// Its standard error.
    pub(crate) stderr: StderrTail,
    /// Input of a worker on another machine, which stops at its end. A worker on this machine stops with a signal.
    pub(crate) input: Option<Input>,
}

/// Input of a worker on another machine.
pub(crate) struct Input {
    /// Its standard input.
    pub(crate) stdin: ChildStdin,
    /// What is written first.
    pub(crate) first: Arc<[u8]>,
}
