//! Executes the coordinator's commands with one worker's instruments. Starts and kills processes.
//!
//! The agent executes one command at a time. Signals, a lost coordinator connection and instrument exits are handled
//! immediately, because all of them arrive as a [`WorkerEvent`] on the same channel as the commands. Every wait has a
//! timeout.

mod case;
mod round;
mod waiting;

use std::collections::{BTreeMap, VecDeque};
use std::sync::mpsc::{Receiver, SyncSender};
use std::time::{Duration, Instant};

use crds::assignment::Assignment;
use crds::record::{CaseFailure, EndRecord, FabricFacts, FailureReason, WarningReason};

use super::child::Instrument;
use super::coordinator_link::CoordinatorLink;
use crate::attempt::SETUP_TIMEOUT;
use crate::instrument::protocol::Reply;
use crate::rendezvous::link::HEARTBEAT;
use crate::rendezvous::message::{
    CaseOrder, Command, ConnectedFacts, NotConnected, WorkerCpus, WorkerReport,
};
use crate::worker_event::WorkerEvent;

/// Capacity of the event channel; senders block when it is full.
pub const EVENT_CAPACITY: usize = 256;

/// Reason for leaving the attempt.
#[derive(Debug)]
pub enum Departure {
    /// The coordinator ended the attempt.
    Finished(EndRecord),
    /// The worker failed.
    Failed(CaseFailure),
}

/// State of a worker during the attempt.
#[derive(Debug)]
pub struct Agent<'a> {
    assignment: &'a Assignment,
    rank: u32,
    cpus: WorkerCpus,
    coordinator: CoordinatorLink,
    events: Receiver<WorkerEvent>,
    sender: SyncSender<WorkerEvent>,
    /// Commands that arrived while the agent was waiting for a reply.
    backlog: VecDeque<Command>,
    next_heartbeat: Instant,
    next_serial: u64,
    /// Running instruments, by process index.
    instruments: BTreeMap<u32, Instrument>,
    /// Replies from running instruments that arrived while the agent was waiting for another instrument, by serial
    /// number.
    early_replies: BTreeMap<u64, Reply>,
    /// Failures of instruments that stopped in this round, by process index.
    broken: BTreeMap<u32, CaseFailure>,
    /// Post failures in this round, by arm index. Later cases of the arm cannot use its endpoints.
    broken_arms: BTreeMap<u32, CaseFailure>,
    not_connected: Vec<NotConnected>,
    /// Facts of the arms that were connected to a peer, by arm index.
    connected: BTreeMap<u32, FabricFacts>,
    prepared: Option<CaseOrder>,
    /// Current round number.
    round: u32,
}

impl<'a> Agent<'a> {
    /// Creates an agent that reports to `coordinator`. Commands and signals arrive in `events`; `sender` is the sending
    /// end of that channel.
    pub fn new(
        assignment: &'a Assignment,
        rank: u32,
        cpus: WorkerCpus,
        coordinator: CoordinatorLink,
        (sender, events): (SyncSender<WorkerEvent>, Receiver<WorkerEvent>),
    ) -> Self {
        Self {
            assignment,
            rank,
            cpus,
            coordinator,
            events,
            sender,
            backlog: VecDeque::new(),
            next_heartbeat: Instant::now() + HEARTBEAT,
            next_serial: 0,
            instruments: BTreeMap::new(),
            early_replies: BTreeMap::new(),
            broken: BTreeMap::new(),
            broken_arms: BTreeMap::new(),
            not_connected: Vec::new(),
            connected: BTreeMap::new(),
            prepared: None,
            round: 0,
        }
    }

    /// Executes commands until the attempt ends. When this function returns, no instruments are running.
    pub fn run(mut self) -> Departure {
        loop {
            if let Err(departure) = self.execute_command() {
                if let Departure::Failed(failure) = &departure {
                    // Sending fails if the connection to the coordinator is lost.
                    let _ = self.coordinator.send(&WorkerReport::Leaving(failure.clone()));
                }
                return departure;
            }
        }
    }

    fn execute_command(&mut self) -> Result<(), Departure> {
        match self.next_command()? {
            Command::Heartbeat => Ok(()),
            Command::OpenRound { index } => self.open_round(index),
            Command::Connect { arm, peer, offer } => self.connect(arm, peer, offer),
            Command::ConnectDone => {
                let failures = std::mem::take(&mut self.not_connected);
                let connected = std::mem::take(&mut self.connected).into_iter();
                let facts = connected
                    .map(|(arm, facts)| ConnectedFacts { arm, facts })
                    .collect();
                self.report(&WorkerReport::Connected { failures, facts })
            }
            Command::Probe(peer_case) => self.probe(peer_case),
            Command::Prepare(order) => self.prepare(order),
            Command::Go => self.run_prepared_case(),
            // The case has already ended on this worker.
            Command::Flows(_) => Ok(()),
            Command::CloseRound => self.close_round(),
            Command::Leave(end) => Err(Departure::Finished(end)),
        }
    }

    fn report(&mut self, report: &WorkerReport) -> Result<(), Departure> {
        self.coordinator.send(report).map_err(|error| {
            Departure::Failed(CaseFailure {
                reason: FailureReason::PeerLost,
                message: format!("cannot report to the coordinator: {error}"),
            })
        })
    }

    fn warn(&mut self, reason: WarningReason, message: String) -> Result<(), Departure> {
        tracing::warn!(?reason, "{message}");
        self.report(&WorkerReport::Warning { reason, message })
    }

    /// Address at which other workers reach this one: the local address of its connection to the coordinator. Other
    /// workers reach the coordinator at the rendezvous address.
    fn host(&self) -> String {
        let own = self.coordinator.local_address();
        own.map_or_else(
            || self.assignment.rendezvous.host.clone(),
            |address| address.to_string(),
        )
    }

    /// Timeout for an instrument to execute a step without a payload.
    fn step_timeout(&self) -> Duration {
        self.assignment.step_limits().worker
    }

    fn setup_timeout(&self) -> Duration {
        self.step_timeout().max(SETUP_TIMEOUT)
    }
}
