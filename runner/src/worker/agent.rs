//! What every worker does: carries out the coordinator's commands with its instruments. Starts and kills processes.
//!
//! One command at a time. Whatever happens meanwhile (a signal, the coordinator's end, an instrument's death) is seen
//! at once, for all of it arrives as an [`WorkerEvent`] on one channel, and no wait is without a limit.

mod case;
mod round;
mod waiting;

use std::collections::{BTreeMap, VecDeque};
use std::sync::mpsc::{Receiver, SyncSender};
use std::time::{Duration, Instant};

use crds::assignment::Assignment;
use crds::record::{CaseFailure, EndRecord, FailureReason, WarningReason};

use super::child::Instrument;
use super::coordinator_link::CoordinatorLink;
use super::event::WorkerEvent;
use crate::rendezvous::link::HEARTBEAT;
use crate::rendezvous::message::{CaseOrder, Command, NotConnected, Report, WorkerCpus};

/// Events that may wait; a sender above it waits itself.
pub const MOST_EVENTS: usize = 256;
/// Time on top of a deadline that the instrument itself keeps.
pub const GRACE: Duration = Duration::from_secs(5);
/// How long opening, connecting or closing an arm may take at least: drivers and GPUs take seconds.
pub const SETUP_WAIT: Duration = Duration::from_secs(60);

/// Why a worker leaves.
#[derive(Debug)]
pub enum Departure {
    /// The coordinator said so.
    Finished(EndRecord),
    /// Something else; this is what.
    Failed(CaseFailure),
}

/// A worker at work.
#[derive(Debug)]
pub struct Agent<'a> {
    assignment: &'a Assignment,
    rank: u32,
    processors: WorkerCpus,
    coordinator: CoordinatorLink,
    events: Receiver<WorkerEvent>,
    sender: SyncSender<WorkerEvent>,
    /// Commands that came while something else was waited for.
    backlog: VecDeque<Command>,
    next_heartbeat: Instant,
    next_serial: u64,
    /// The running instruments, by index of their process.
    instruments: BTreeMap<u32, Instrument>,
    /// Why the instrument of a process is not running any more.
    broken: BTreeMap<u32, CaseFailure>,
    not_connected: Vec<NotConnected>,
    prepared: Option<CaseOrder>,
    /// Number of the current round.
    round: u32,
}

impl<'a> Agent<'a> {
    /// A worker that answers to `coordinator`. `events` is where commands and signals arrive; `sender` leads there.
    pub fn new(
        assignment: &'a Assignment,
        rank: u32,
        processors: WorkerCpus,
        coordinator: CoordinatorLink,
        (sender, events): (SyncSender<WorkerEvent>, Receiver<WorkerEvent>),
    ) -> Self {
        Self {
            assignment,
            rank,
            processors,
            coordinator,
            events,
            sender,
            backlog: VecDeque::new(),
            next_heartbeat: Instant::now() + HEARTBEAT,
            next_serial: 0,
            instruments: BTreeMap::new(),
            broken: BTreeMap::new(),
            not_connected: Vec::new(),
            prepared: None,
            round: 0,
        }
    }

    /// Carries out commands until it is time to leave. No instrument is left then.
    pub fn run(mut self) -> Departure {
        loop {
            if let Err(departure) = self.step() {
                if let Departure::Failed(failure) = &departure {
                    // The coordinator may be what is gone.
                    let _ = self.coordinator.send(&Report::Leaving(failure.clone()));
                }
                return departure;
            }
        }
    }

    fn step(&mut self) -> Result<(), Departure> {
        match self.next_command()? {
            Command::Heartbeat => Ok(()),
            Command::OpenRound { index } => self.open_round(index),
            Command::Connect { arm, peer, offer } => self.connect(arm, peer, offer),
            Command::ConnectDone => {
                let failures = std::mem::take(&mut self.not_connected);
                self.report(&Report::Connected { failures })
            }
            Command::Probe(with) => self.probe(with),
            Command::Prepare(order) => self.prepare(order),
            Command::Go => self.go(),
            Command::CloseRound => self.close_round(),
            Command::Leave(end) => Err(Departure::Finished(end)),
        }
    }

    fn report(&mut self, report: &Report) -> Result<(), Departure> {
        self.coordinator.send(report).map_err(|error| {
            Departure::Failed(CaseFailure {
                reason: FailureReason::PeerLost,
                message: format!("the coordinator does not listen any more: {error}"),
            })
        })
    }

    fn warn(&mut self, reason: WarningReason, message: String) -> Result<(), Departure> {
        tracing::warn!(?reason, "{message}");
        self.report(&Report::Warning { reason, message })
    }

    fn case_wait(&self) -> Duration {
        Duration::from_secs(self.assignment.case_deadline_seconds.into()) + GRACE
    }

    fn setup_wait(&self) -> Duration {
        self.case_wait().max(SETUP_WAIT)
    }
}

/// The process of an arm; no process's number where there is no such arm, so that asking it fails.
pub fn process_of(assignment: &Assignment, arm: u32) -> u32 {
    assignment
        .arms
        .get(arm as usize)
        .map_or(u32::MAX, |arm| arm.process)
}
