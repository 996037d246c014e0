//! Segment of a target that is waiting for initiators: an instrument process that has opened the endpoints and
//! registered the memory. Starts and stops a process.

use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, sync_channel};
use std::time::{Duration, Instant};

use crds::assignment::{Assignment, ScenarioAssignment};
use crds::record::{CaseFailure, ColdRecord, FabricFacts, FailureReason};
use crds::v1alpha1::MemoryKind;

use crate::attempt::SETUP_TIMEOUT;
use crate::direct::session::SERVER;
use crate::instrument::protocol::{InstrumentParameters, Reply, Request};
use crate::memory::Memory;
use crate::rendezvous::message::WorkerCpus;
use crate::worker::agent::EVENT_CAPACITY;
use crate::worker::child::Instrument;
use crate::worker::facts;
use crate::worker::signals::StopFlag;
use crate::worker_event::WorkerEvent;

/// Interval at which the stop flag is checked.
const TICK: Duration = Duration::from_millis(50);
/// Maximum time for the instrument to deregister its memory and exit.
const LEAVE_TIMEOUT: Duration = Duration::from_secs(5);
/// Index of the only arm.
const ARM: u32 = 0;

/// Segment that is registered in an instrument process.
pub(super) struct RegisteredSegment {
    instrument: Instrument,
    events: Receiver<WorkerEvent>,
    /// Facts that the library reports.
    pub(super) facts: FabricFacts,
    /// Setup costs of the endpoints and the memory.
    pub(super) cold: ColdRecord,
}

impl RegisteredSegment {
    /// Opens the endpoints of the only arm in `assignment`, and registers the memory of the arm's scenario.
    ///
    /// # Errors
    /// Returns an error if the process cannot be started, the transport cannot be opened, or the memory is not
    /// available.
    pub(super) fn new(assignment: &Assignment, stop: &StopFlag) -> Result<Self, CaseFailure> {
        let process = assignment
            .processes
            .first()
            .ok_or_else(|| internal_failure("no process".into()))?;
        let (sender, events) = sync_channel(EVENT_CAPACITY);
        let mut instrument = Instrument::start(1, assignment, process, None, sender)
            .map_err(|error| internal_failure(format!("the instrument cannot be started: {error}")))?;
        let initialize = Request::Initialize(Box::new(InstrumentParameters {
            assignment: Assignment {
                rounds: Vec::new(),
                ..assignment.clone()
            },
            rank: SERVER,
            process: 0,
            round: 0,
            cpus: WorkerCpus {
                cpus: facts::hello(assignment, SERVER).cpus,
                overlapping_workers: 1,
            },
            host: assignment.rendezvous.host.clone(),
        }));
        let mut ask = |request: &Request| send_request(&mut instrument, &events, request, stop);
        match ask(&initialize)? {
            Reply::Initialized(result) => result?,
            other => return Err(unexpected_reply(&other)),
        }
        let opened = match ask(&Request::Open { arm: ARM })? {
            Reply::Opened(opened) => opened?,
            other => return Err(unexpected_reply(&other)),
        };
        let cold = match ask(&Request::Cold { round: 0 })? {
            Reply::Cold(records) => records.into_iter().next().unwrap_or_default(),
            other => return Err(unexpected_reply(&other)),
        };
        let scenarios = assignment.scenarios.iter();
        let mut kinds = scenarios.flat_map(ScenarioAssignment::distinct_memory_kinds);
        let has = |kind| opened.facts.memory.iter().any(|facts| facts.kind == kind);
        if let Some(missing) = kinds.find(|kind| !has(*kind)) {
            return Err(memory_failure(assignment, missing));
        }
        Ok(Self {
            instrument,
            events,
            facts: opened.facts,
            cold,
        })
    }

    /// Why the segment was lost; `None` while the process is running.
    pub(super) fn loss_reason(&self) -> Option<CaseFailure> {
        match self.events.try_recv() {
            Ok(WorkerEvent::InstrumentLost { error, .. }) => Some(CaseFailure {
                reason: FailureReason::Interrupted,
                message: format!("the process that holds the segment has exited: {error}"),
            }),
            Ok(_) | Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => {
                Some(internal_failure("the segment's event channel was closed".into()))
            }
        }
    }

    /// Deregisters the memory and closes the endpoints.
    ///
    /// # Errors
    /// Returns an error if the process does not confirm the deregistration in time. The process is then killed.
    pub(super) fn deregister(mut self) -> Result<(), CaseFailure> {
        let left = send_request(
            &mut self.instrument,
            &self.events,
            &Request::Leave,
            &StopFlag::default(),
        );
        let exit = self.instrument.wait_or_kill(LEAVE_TIMEOUT);
        match left? {
            Reply::Left if exit.success => Ok(()),
            Reply::Left => Err(internal_failure(format!(
                "the process {} after it had closed the endpoints: {}",
                exit.status, exit.output
            ))),
            other => Err(unexpected_reply(&other)),
        }
    }
}

/// Sends `request` and waits for the reply.
fn send_request(
    instrument: &mut Instrument,
    events: &Receiver<WorkerEvent>,
    request: &Request,
    stop: &StopFlag,
) -> Result<Reply, CaseFailure> {
    instrument
        .send(request)
        .map_err(|error| internal_failure(format!("the instrument did not accept a request: {error}")))?;
    let deadline = Instant::now() + SETUP_TIMEOUT;
    loop {
        match events.recv_timeout(TICK) {
            Ok(WorkerEvent::Reply { reply, .. }) => return Ok(reply),
            Ok(WorkerEvent::InstrumentLost { error, .. }) => {
                return Err(internal_failure(format!(
                    "the instrument exited while it was opening the endpoints: {error}"
                )));
            }
            Ok(_) | Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(internal_failure("the instrument has exited".into()));
            }
        }
        if stop.is_set() || Instant::now() >= deadline {
            let message = match stop.is_set() {
                true => "stopped by a signal while the segment was registered".to_owned(),
                false => format!(
                    "the segment was not registered within {} s",
                    SETUP_TIMEOUT.as_secs()
                ),
            };
            return Err(CaseFailure {
                reason: FailureReason::Interrupted,
                message,
            });
        }
    }
}

/// Why the scenario's memory of `kind` is not available. The instrument reports the reason only in a case, so the memory is
/// allocated again to obtain the error.
fn memory_failure(assignment: &Assignment, kind: MemoryKind) -> CaseFailure {
    let bytes = assignment.scenarios.first().map_or(0, |scenario| {
        2 * scenario.area_bytes(assignment.transport.rails().into())
    });
    let message = match Memory::allocate(kind, usize::try_from(bytes).unwrap_or(usize::MAX)) {
        Err(error) => error.to_string(),
        Ok(_) => format!(
            "{bytes} bytes of {kind:?} memory for each thread cannot be registered, or are not on the required NUMA nodes"
        ),
    };
    CaseFailure {
        reason: FailureReason::MemoryUnavailable,
        message,
    }
}

fn unexpected_reply(reply: &Reply) -> CaseFailure {
    internal_failure(format!("the instrument sent an unexpected reply: {reply:?}"))
}

fn internal_failure(message: String) -> CaseFailure {
    CaseFailure {
        reason: FailureReason::Internal,
        message,
    }
}
