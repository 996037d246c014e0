//! Starts the instruments of a round, opens and connects their arms, and stops the instruments.

use std::time::Duration;

use crds::assignment::Assignment;
use crds::record::{CaseFailure, ConfigurationRecord, WarningReason};
use serde_json::value::RawValue;

use super::super::child::Instrument;
use super::super::kept_log::KeptLog;
use super::waiting::{internal, unexpected_reply};
use super::{Agent, Departure};
use crate::attempt::process_of;
use crate::instrument::protocol::{InstrumentParameters, Reply, Request};
use crate::rendezvous::message::{NotConnected, WorkerReport};

/// Timeout for an instrument to close its endpoints, and then to exit.
const LEAVE_TIMEOUT: Duration = Duration::from_secs(10);

/// Number of the first round in which results are measured. A run without unmeasured cases starts with it.
const FIRST_MEASURED_ROUND: u32 = 1;

impl Agent<'_> {
    pub(super) fn open_round(&mut self, index: u32) -> Result<(), Departure> {
        self.broken.clear();
        self.broken_arms.clear();
        self.early_replies.clear();
        self.prepared = None;
        let assignment = self.assignment;
        let Some(round) = assignment.rounds.get(index as usize) else {
            let failure = internal(format!("the assignment has no round with index {index}"));
            return Err(Departure::Failed(failure));
        };
        self.round = round.round;
        self.start_instruments(&round.process_order)?;
        for process in round.process_order.iter().copied() {
            for arm in round
                .arm_order
                .iter()
                .copied()
                .filter(|arm| process_of(assignment, *arm) == process)
            {
                let result = match self.request(process, &Request::Open { arm }, self.setup_timeout())? {
                    Ok(Reply::Opened(result)) => result,
                    Ok(other) => Err(unexpected_reply(&other)),
                    Err(failure) => Err(failure),
                };
                self.report(&WorkerReport::Opened { arm, result })?;
            }
        }
        self.report(&WorkerReport::RoundOpened)
    }

    /// Starts the instruments of `processes`. The instruments initialize concurrently, because libraries spend most of
    /// their initialization sleeping.
    fn start_instruments(&mut self, processes: &[u32]) -> Result<(), Departure> {
        let mut requests = Vec::new();
        for process in processes.iter().copied() {
            match self.start_instrument(process) {
                Ok(initialize) => requests.push((process, initialize)),
                Err(failure) => drop(self.broken.insert(process, failure)),
            }
        }
        for (process, reply) in self.request_all(requests, self.setup_timeout())? {
            let initialized = reply.and_then(|reply| match reply {
                Reply::Initialized(result) => result,
                other => Err(unexpected_reply(&other)),
            });
            if let Err(failure) = initialized {
                self.broken.insert(process, failure);
            }
        }
        Ok(())
    }

    /// Starts the instrument of `process` and returns its first request.
    fn start_instrument(&mut self, process: u32) -> Result<Request, CaseFailure> {
        let Some(definition) = self.assignment.processes.get(process as usize) else {
            return Err(internal(format!(
                "the assignment has no instrument process {process}"
            )));
        };
        self.next_serial += 1;
        let log = KeptLog::create(self.assignment, process, self.rank, self.round);
        let events = self.sender.clone();
        let instrument = Instrument::start(self.next_serial, self.assignment, definition, log, events);
        let instrument = instrument
            .map_err(|error| internal(format!("instrument process {process} cannot be started: {error}")))?;
        self.instruments.insert(process, instrument);
        Ok(Request::Initialize(Box::new(InstrumentParameters {
            assignment: Assignment {
                rounds: Vec::new(),
                ..self.assignment.clone()
            },
            rank: self.rank,
            process,
            round: self.round,
            cpus: self.cpus.clone(),
            host: self.host(),
        })))
    }

    pub(super) fn connect(&mut self, arm: u32, peer: u32, offer: Box<RawValue>) -> Result<(), Departure> {
        let request = Request::Connect { arm, peer, offer };
        let result = match self.request(process_of(self.assignment, arm), &request, self.setup_timeout())? {
            Ok(Reply::Connected(result)) => result,
            Ok(other) => Err(unexpected_reply(&other)),
            Err(failure) => Err(failure),
        };
        match result {
            Ok(facts) => {
                self.connected.insert(arm, *facts);
            }
            Err(failure) => self.not_connected.push(NotConnected { arm, peer, failure }),
        }
        Ok(())
    }

    pub(super) fn close_round(&mut self) -> Result<(), Departure> {
        let mut cold = Vec::new();
        let processes: Vec<_> = self.instruments.keys().copied().collect();
        let to_all = |request: Request| {
            let requests = processes.iter().map(|process| (*process, request.clone()));
            requests.collect::<Vec<_>>()
        };
        let replies = self.request_all(to_all(Request::Cold { round: self.round }), self.setup_timeout())?;
        for (_, reply) in replies {
            if let Ok(Reply::Cold(records)) = reply {
                cold.extend(records);
            }
        }
        let configurations = self.configurations(&processes)?;
        let mut protocols = Vec::new();
        for (_, reply) in self.request_all(to_all(Request::Close), LEAVE_TIMEOUT)? {
            if let Ok(Reply::Closed(records)) = reply {
                protocols.extend(records);
            }
        }
        for (process, left) in self.request_all(to_all(Request::Leave), LEAVE_TIMEOUT)? {
            if let (Ok(Reply::Left), Some(instrument)) = (left, self.instruments.remove(&process)) {
                let exit = instrument.wait_or_kill(LEAVE_TIMEOUT);
                if !exit.success {
                    let message = format!(
                        "instrument process {process} {} after closing its arms",
                        exit.status
                    );
                    self.warn(WarningReason::Killed, message)?;
                }
                self.report_output(process, exit)?;
            }
        }
        // Kills the remaining instruments, which sent an unexpected reply, by dropping them.
        self.instruments.clear();
        self.report(&WorkerReport::RoundEnded {
            cold,
            protocols,
            configurations,
        })
    }

    /// Configurations of the instruments of `processes`, in the first round of the run. Empty in other rounds, and if the
    /// assignment does not request them.
    fn configurations(&mut self, processes: &[u32]) -> Result<Vec<ConfigurationRecord>, Departure> {
        let mut records = Vec::new();
        let is_first = self.assignment.rounds.first().map(|round| round.round) == Some(self.round);
        if self.assignment.assessed_variables.is_none() || !is_first || self.round > FIRST_MEASURED_ROUND {
            return Ok(records);
        }
        // One after another, because each of them reads large files.
        for process in processes.iter().copied() {
            let reply = self.request(process, &Request::Configuration, 2 * self.setup_timeout())?;
            if let Ok(Reply::Configured(found)) = reply {
                records.extend(found);
            }
        }
        Ok(records)
    }
}
