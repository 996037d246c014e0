//! Starts the workers of a run on other machines. Performs I/O.

use std::collections::BTreeMap;
use std::env;
use std::io::Write;
use std::net::IpAddr;
use std::path::Path;
use std::thread;

use campaign::plan::Plan;
use crds::assignment::{Assignment, RankBinding, Rendezvous};
use crds::names::ENV_LOG;

use super::connection::{CONNECT_TIMEOUT, Connection};
use super::host::Host;
use super::launcher::Launcher;
use super::prepare::{Preparation, PreparedHost};
use super::runner_file::RunnerFile;
use super::script::RunnerLocation;
use crate::local::{ExecuteError, Executor, Interrupt, StartedWorker};

/// Timeout for the workers' rendezvous. It includes the time in which launchers start their shells.
const RENDEZVOUS_SECONDS: u32 = 90;
/// Ports at which worker 0 listens, one after another for the attempts of a run. The kernel assigns ports above them to
/// connections.
const PORTS: std::ops::Range<u16> = 21_000..32_000;

/// Machines on which the workers of a run are started, in the order of their ranks.
pub(crate) struct Machines {
    hosts: Vec<(Host, PreparedHost)>,
    launcher: Launcher,
    location: RunnerLocation,
    /// First port at which worker 0 listens.
    first_port: u16,
}

impl Machines {
    /// Prepares every machine in `hosts`, which are reached with `launcher`, and copies the binary `runner` to those that do
    /// not have it, into `directory` or, by default, `~/.cache/fabricbench`.
    ///
    /// # Errors
    /// Returns an error for each machine that cannot be used.
    pub(crate) fn prepare(
        hosts: &[Host],
        launcher: &Launcher,
        runner: &Path,
        directory: Option<&str>,
        interrupt: &Interrupt,
    ) -> Result<Self, Vec<String>> {
        let runner = RunnerFile::read(runner).map_err(|error| vec![error])?;
        let location = RunnerLocation {
            directory: directory.map(str::to_owned),
            digest: runner.digest.clone(),
        };
        let preparation = Preparation {
            launcher,
            runner: &runner,
            location: &location,
            interrupt,
        };
        // A machine can have several workers.
        let distinct: BTreeMap<&str, &Host> = hosts.iter().map(|host| (host.name.as_str(), host)).collect();
        let prepared: BTreeMap<&str, _> = thread::scope(|scope| {
            let started: Vec<_> = distinct
                .into_iter()
                .map(|(name, host)| (name, scope.spawn(|| preparation.prepare(host))))
                .collect();
            let joined = started.into_iter().map(|(name, thread)| {
                let failed = |_| Err(format!("{name}: the thread that prepared it failed"));
                (name, thread.join().unwrap_or_else(failed))
            });
            joined.collect()
        });
        let errors: Vec<String> = prepared.values().filter_map(|host| host.clone().err()).collect();
        if !errors.is_empty() {
            return Err(errors);
        }
        let hosts = hosts.iter().filter_map(|host| {
            let prepared = prepared.get(host.name.as_str())?.clone().ok()?;
            Some((host.clone(), prepared))
        });
        let hosts: Vec<_> = hosts.collect();
        check_addresses(&hosts)?;
        Ok(Self {
            hosts,
            launcher: launcher.clone(),
            location,
            first_port: PORTS.start + (std::process::id() % u32::from(PORTS.end - PORTS.start)) as u16,
        })
    }

    /// Names of the machines to which the runner was copied.
    pub(crate) fn copied_to(&self) -> Vec<&str> {
        let copied = self.hosts.iter().filter(|(_, prepared)| prepared.was_copied);
        let mut names: Vec<_> = copied.map(|(host, _)| host.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    fn start_worker(
        &self,
        rank: u32,
        host: &Host,
        assignment: &[u8],
        interrupt: &Interrupt,
    ) -> Result<StartedWorker, String> {
        let log = env::var(ENV_LOG).ok();
        let script = self
            .location
            .work(rank, log.as_deref().map(|level| (ENV_LOG, level)));
        let mut shell = self.launcher.shell(&host.name);
        let name = format!("rank {rank} ({})", host.name);
        let opened = Connection::open(&mut shell, &name, &script, CONNECT_TIMEOUT, interrupt);
        let parts = opened.map(Connection::into_parts);
        let Some((child, mut stdin, stdout, stderr)) = parts? else {
            return Err("the connection was closed".to_owned());
        };
        // If the worker has exited, its exit status and its standard error say why.
        let _ = stdin.write_all(assignment);
        Ok(StartedWorker {
            child,
            // The other workers write nothing to it.
            stdout: (rank == 0).then(|| Box::new(stdout) as Box<dyn std::io::Read + Send>),
            stderr,
            stdin: Some(stdin),
        })
    }
}

impl Executor for Machines {
    fn rendezvous(&self, number: u32) -> Result<Rendezvous, ExecuteError> {
        let coordinator = self.hosts.first().map(|(_, prepared)| prepared.address.clone());
        let host = coordinator.unwrap_or_default();
        let ports = u32::from(PORTS.end - PORTS.start);
        let offset = (u32::from(self.first_port - PORTS.start) + number) % ports;
        Ok(Rendezvous {
            // A name may resolve to a loopback address on the machine itself.
            bind: match host.parse::<IpAddr>() {
                Ok(address) => address.to_string(),
                Err(_) => "0.0.0.0".to_owned(),
            },
            host,
            port: PORTS.start + offset as u16,
            timeout_seconds: RENDEZVOUS_SECONDS,
        })
    }

    /// A single rail over IP uses the address of its machine, so that the bytes take the interface of this address. Workers
    /// choose devices and CPUs themselves.
    fn bindings(&self, plan: &Plan) -> Result<Vec<RankBinding>, ExecuteError> {
        let is_one_ip_rail = plan.devices.nics.is_empty()
            && plan
                .transports()
                .all(|transport| transport.uses_ip() && transport.rails() == 1);
        let rails = |address: &String| match is_one_ip_rail && address.parse::<IpAddr>().is_ok() {
            true => vec![address.clone()],
            false => Vec::new(),
        };
        Ok(self
            .hosts
            .iter()
            .map(|(_, prepared)| RankBinding {
                rails: rails(&prepared.address),
                cpus: Vec::new(),
            })
            .collect())
    }

    fn start(
        &self,
        assignment: &Assignment,
        _logs: Option<&Path>,
        interrupt: &Interrupt,
    ) -> Vec<Result<StartedWorker, String>> {
        let mut line = match serde_json::to_vec(assignment) {
            Ok(line) => line,
            Err(error) => return vec![Err(format!("cannot write the assignment: {error}"))],
        };
        line.push(b'\n');
        thread::scope(|scope| {
            let started: Vec<_> = (0..)
                .zip(&self.hosts)
                .map(|(rank, (host, _))| {
                    let line = &line;
                    (
                        rank,
                        scope.spawn(move || self.start_worker(rank, host, line, interrupt)),
                    )
                })
                .collect();
            let joined = started.into_iter().map(|(rank, thread)| {
                let worker = thread
                    .join()
                    .unwrap_or_else(|_| Err("its thread failed".to_owned()));
                worker.map_err(|error| format!("{}: {error}", self.name(rank)))
            });
            joined.collect()
        })
    }

    fn options(&self) -> Vec<String> {
        let workers = self
            .hosts
            .iter()
            .flat_map(|(host, _)| ["--worker".to_owned(), host.to_string()]);
        let mut words: Vec<String> = workers.collect();
        let launcher = self.launcher.to_string();
        if launcher != Launcher::DEFAULT {
            words.extend(["--launcher".to_owned(), launcher]);
        }
        if let Some(directory) = &self.location.directory {
            words.extend(["--worker-directory".to_owned(), directory.clone()]);
        }
        words
    }

    fn name(&self, rank: u32) -> String {
        match self.hosts.get(rank as usize) {
            Some((host, _)) => format!("worker {rank} ({})", host.name),
            None => format!("worker {rank}"),
        }
    }
}

/// Checks that either all or none of the addresses are loopback addresses, which no other machine reaches.
fn check_addresses(hosts: &[(Host, PreparedHost)]) -> Result<(), Vec<String>> {
    let is_loopback = |prepared: &PreparedHost| {
        prepared
            .address
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback())
    };
    let (loopback, others): (Vec<_>, Vec<_>) = hosts.iter().partition(|(_, prepared)| is_loopback(prepared));
    match (loopback.first(), others.is_empty()) {
        (Some((host, prepared)), false) => Err(vec![format!(
            "{}: its address {} is not reachable from the other machines: give another one as --worker {}=ADDRESS",
            host.name, prepared.address, host.name
        )]),
        _ => Ok(()),
    }
}
