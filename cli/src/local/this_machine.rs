//! Starts the workers as processes of this machine, which communicate over loopback or RDMA devices. Performs I/O.

use std::fs;
use std::io::{self, Read};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{self, Command, Stdio};

use campaign::plan::Plan;
use crds::assignment::{Assignment, RankBinding, Rendezvous};
use crds::names::{ENV_LOGS_DIRECTORY, ENV_SAMPLES_DIRECTORY};
use rustix::thread::{CpuSet, sched_getaffinity};
use snafu::ResultExt;
use tempfile::TempDir;

use super::bindings::bindings;
use super::error::{ExecuteError, SystemSnafu};
use super::executor::{Executor, StartedWorker};
use super::interrupt::Interrupt;
use super::rail_sources::{RDMA_DEVICES, rail_sources};
use super::stderr_tail::StderrTail;

/// Timeout for the workers' rendezvous.
const RENDEZVOUS_SECONDS: u32 = 30;

/// This machine, on which all workers run.
pub(crate) struct ThisMachine {
    runner: PathBuf,
    /// Directory of the assignment file.
    directory: TempDir,
    /// Server that becomes worker 1 of two, instead of a process of this machine; an option of the runner.
    pub(crate) server: Option<String>,
    /// Rails of every worker on this machine. If unset, they are chosen.
    pub(crate) rails: Option<Vec<String>>,
    /// Directory to which the instruments write the samples of all operations.
    pub(crate) samples: Option<PathBuf>,
}

impl ThisMachine {
    /// Workers that run the binary `runner`.
    ///
    /// # Errors
    /// Returns an error if a temporary directory cannot be created.
    pub(crate) fn new(runner: PathBuf) -> Result<Self, ExecuteError> {
        let directory = tempfile::Builder::new().prefix("fabricbench-").tempdir();
        Ok(Self {
            runner,
            directory: directory.context(SystemSnafu {
                operation: "create a temporary directory",
            })?,
            server: None,
            rails: None,
            samples: None,
        })
    }

    fn write(&self, assignment: &Assignment) -> io::Result<PathBuf> {
        let path = self.directory.path().join("assignment.json");
        fs::write(&path, serde_json::to_vec(assignment).map_err(io::Error::other)?)?;
        Ok(path)
    }

    fn start_worker(&self, rank: u32, assignment: &Path, logs: Option<&Path>) -> io::Result<StartedWorker> {
        let mut child = Command::new(&self.runner)
            .envs(logs.map(|logs| (ENV_LOGS_DIRECTORY, logs)))
            .envs(
                self.samples
                    .as_ref()
                    .map(|samples| (ENV_SAMPLES_DIRECTORY, samples)),
            )
            .args(["worker", "--parent", &process::id().to_string(), "--assignment"])
            .arg(assignment)
            .args(["--rank", &rank.to_string()])
            .args(self.server.iter().flat_map(|server| ["--server", server]))
            .stdin(Stdio::null())
            .stdout(if rank == 0 { Stdio::piped() } else { Stdio::null() })
            .stderr(Stdio::piped())
            // The worker gets a separate process group, so that Ctrl-C in the terminal reaches only this process, which
            // then stops the workers.
            .process_group(0)
            .spawn()?;
        let stderr = child
            .stderr
            .take()
            .map(|pipe| StderrTail::follow(pipe, format!("rank {rank}")));
        Ok(StartedWorker {
            stdout: child
                .stdout
                .take()
                .map(|pipe| Box::new(pipe) as Box<dyn Read + Send>),
            stderr: stderr.ok_or_else(|| io::Error::other("no standard error"))?,
            input: None,
            child,
        })
    }
}

impl Executor for ThisMachine {
    /// If another process binds the port before worker 0 does, worker 0 fails with an error.
    fn rendezvous(&self, _number: u32) -> Result<Rendezvous, ExecuteError> {
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|listener| listener.local_addr());
        let free = free.context(SystemSnafu {
            operation: "find a free port on 127.0.0.1",
        })?;
        Ok(Rendezvous {
            host: Ipv4Addr::LOCALHOST.to_string(),
            bind: Ipv4Addr::LOCALHOST.to_string(),
            port: free.port(),
            timeout_seconds: RENDEZVOUS_SECONDS,
        })
    }

    fn bindings(&self, plan: &Plan) -> Result<Vec<RankBinding>, ExecuteError> {
        // If the spec sets a NUMA node, the workers divide the CPUs of that node among themselves. Workers of different
        // machines do not share CPUs.
        let cpus = match plan.devices.numa_node {
            Some(_) => Vec::new(),
            None if self.server.is_some() => Vec::new(),
            None => allowed_cpus().context(SystemSnafu {
                operation: "read the CPU affinity of this process",
            })?,
        };
        // Arms over shared memory ignore the sources. NICs that the spec names take precedence.
        let sources = match &self.rails {
            Some(rails) => vec![rails.clone(); plan.workers as usize],
            None if plan.devices.nics.is_empty() && self.server.is_none() => {
                let transports: Vec<_> = plan.transports().collect();
                rail_sources(&transports, plan.workers, Path::new(RDMA_DEVICES))
            }
            None => Vec::new(),
        };
        Ok(bindings(&sources, plan.workers, &cpus))
    }

    fn start(
        &self,
        assignment: &Assignment,
        logs: Option<&Path>,
        _interrupt: &Interrupt,
    ) -> Vec<Result<StartedWorker, String>> {
        match self.write(assignment) {
            Ok(path) => (0..self.server.as_ref().map_or(assignment.workers, |_| 1))
                .map(|rank| {
                    let started = self.start_worker(rank, &path, logs);
                    started.map_err(|error| format!("cannot start {}: {error}", self.runner.display()))
                })
                .collect(),
            Err(error) => vec![Err(format!("cannot write the assignment: {error}"))],
        }
    }
}

fn allowed_cpus() -> io::Result<Vec<u32>> {
    let set = sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU)
        .filter(|cpu| set.is_set(*cpu))
        .map(|cpu| cpu as u32)
        .collect())
}
