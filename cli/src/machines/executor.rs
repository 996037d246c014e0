//! Starts the workers of a run on other machines. Performs I/O.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

use campaign::plan::Plan;
use crds::assignment::{Assignment, RankBinding, Rendezvous};
use crds::names::ENV_LOG;

use super::connection::{CONNECT_TIMEOUT, Connection};
use super::facts::Facts;
use super::host::Host;
use super::launcher::Launcher;
use super::parallel::{all, in_parallel};
use super::prepare::Preparation;
use super::runner_file::RunnerFile;
use super::script::RunnerLocation;
use crate::local::{ExecuteError, Executor, Interrupt, StartedWorker};

/// Timeout for the workers' rendezvous. It includes the time in which launchers start their shells.
const RENDEZVOUS_SECONDS: u32 = 90;
/// Ports at which worker 0 listens, one after another for the attempts of a run. The kernel assigns ports above them to
/// connections.
const PORTS: std::ops::Range<u16> = 21_000..32_000;

/// Machines on which the workers of a run are started.
pub(crate) struct Machines {
    /// The workers, in the order of their ranks.
    workers: Vec<Worker>,
    /// Names of the machines to which the runner was copied.
    copied_to: Vec<String>,
    launcher: Launcher,
    location: RunnerLocation,
    /// First port at which worker 0 listens.
    first_port: u16,
}

/// Where a worker runs.
struct Worker {
    host: Host,
    /// Address at which the other workers reach it.
    address: String,
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
        let names: BTreeSet<&str> = hosts.iter().map(|host| host.name.as_str()).collect();
        let facts = all(in_parallel(names.iter().copied(), |name| preparation.look(name)))?;
        let facts: BTreeMap<&str, Facts> = names.into_iter().zip(facts).collect();
        let workers = all(hosts.iter().filter_map(|host| {
            let address = facts.get(host.name.as_str())?.address(host);
            let worker = address.map(|address| Worker {
                host: host.clone(),
                address,
            });
            Some(worker.map_err(|error| format!("{}: {error}", host.name)))
        }))?;
        check_addresses(&workers)?;
        let lack_it = facts
            .iter()
            .filter(|(_, facts)| facts.digest.as_ref() != Some(&runner.digest));
        let lack_it: Vec<&str> = lack_it.map(|(name, _)| *name).collect();
        all(in_parallel(lack_it.iter().copied(), |name| {
            preparation.copy(name)
        }))?;
        Ok(Self {
            workers,
            copied_to: lack_it.into_iter().map(str::to_owned).collect(),
            launcher: launcher.clone(),
            location,
            first_port: PORTS.start + (std::process::id() % u32::from(PORTS.end - PORTS.start)) as u16,
        })
    }

    /// Names of the machines to which the runner was copied.
    pub(crate) fn copied_to(&self) -> &[String] {
        &self.copied_to
    }

    fn start_worker(
        &self,
        rank: u32,
        host: &Host,
        assignment: Arc<[u8]>,
        interrupt: &Interrupt,
    ) -> Result<StartedWorker, String> {
        let log = env::var(ENV_LOG).ok();
        let script = self
            .location
            .work(rank, log.as_deref().map(|level| (ENV_LOG, level)));
        let mut shell = self.launcher.shell(&host.name);
        let name = format!("rank {rank} ({})", host.name);
        Connection::open(&mut shell, &name, &script, CONNECT_TIMEOUT, interrupt)?
            .into_worker(assignment, rank == 0)
            .ok_or_else(|| "the launcher has exited".to_owned())
    }
}

impl Executor for Machines {
    fn rendezvous(&self, number: u32) -> Result<Rendezvous, ExecuteError> {
        let coordinator = self.workers.first().map(|worker| worker.address.clone());
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
            .workers
            .iter()
            .map(|worker| RankBinding {
                rails: rails(&worker.address),
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
        let line: Arc<[u8]> = line.into();
        in_parallel((0..).zip(&self.workers), |(rank, worker)| {
            let started = self.start_worker(rank, &worker.host, Arc::clone(&line), interrupt);
            started.map_err(|error| format!("{}: {error}", self.name(rank)))
        })
    }

    fn options(&self) -> Vec<String> {
        let workers = self
            .workers
            .iter()
            .flat_map(|worker| ["--worker".to_owned(), worker.host.to_string()]);
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

    fn host(&self, rank: u32) -> Option<&str> {
        let worker = self.workers.get(rank as usize)?;
        Some(&worker.host.name)
    }
}

/// Checks that either all or none of the addresses are loopback addresses, which no other machine reaches.
fn check_addresses(workers: &[Worker]) -> Result<(), Vec<String>> {
    let is_loopback = |worker: &&Worker| {
        let address = worker.address.parse::<IpAddr>();
        address.is_ok_and(|address| address.is_loopback())
    };
    let (loopback, others): (Vec<_>, Vec<_>) = workers.iter().partition(is_loopback);
    match (loopback.first(), others.is_empty()) {
        (Some(Worker { host, address }), false) => Err(vec![format!(
            "{}: its address {address} is not reachable from the other machines: give another one as --worker \
             {}=ADDRESS",
            host.name, host.name
        )]),
        _ => Ok(()),
    }
}
