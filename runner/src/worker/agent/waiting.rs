//! Waits for commands and replies. Other events that arrive during a wait are handled or deferred.

use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use crds::record::{CaseFailure, FailureReason, WarningReason};

use super::super::child::InstrumentExit;
use super::{Agent, Departure};
use crate::frame::FrameError;
use crate::instrument::protocol::{Reply, Request};
use crate::rendezvous::link::HEARTBEAT;
use crate::rendezvous::message::{Command, WorkerReport};
use crate::worker_event::WorkerEvent;

/// Timeout for a process to exit after it has closed its socket.
const EXIT_TIMEOUT: Duration = Duration::from_secs(2);

/// Index of a process, and its instrument's reply or the failure that prevented a reply.
type ProcessReply = (u32, Result<Reply, CaseFailure>);

impl Agent<'_> {
    pub(super) fn next_command(&mut self) -> Result<Command, Departure> {
        loop {
            if let Some(command) = self.backlog.pop_front() {
                return Ok(command);
            }
            match self.next_event(None)? {
                Some(WorkerEvent::InstrumentLost { serial, error }) => {
                    self.handle_loss_of_serial(serial, &error)?
                }
                Some(event) => self.defer(event),
                None => {}
            }
        }
    }

    /// Sends a request to the instrument of `process` and waits at most `timeout` for the reply.
    ///
    /// An inner error means that the instrument failed. In that case, it has already exited and its output has been
    /// reported.
    pub(super) fn request(
        &mut self,
        process: u32,
        request: &Request,
        timeout: Duration,
    ) -> Result<Result<Reply, CaseFailure>, Departure> {
        self.send(process, request)?;
        self.receive(process, timeout)
    }

    /// Sends all `requests` before waiting for the first reply, so that the instruments execute them concurrently.
    /// Waits at most `timeout` for each reply. Returns each reply with its process.
    pub(super) fn request_all(
        &mut self,
        requests: Vec<(u32, Request)>,
        timeout: Duration,
    ) -> Result<Vec<ProcessReply>, Departure> {
        for (process, request) in &requests {
            self.send(*process, request)?;
        }
        let processes = requests.into_iter().map(|(process, _)| process);
        processes
            .map(|process| Ok((process, self.receive(process, timeout)?)))
            .collect()
    }

    /// Fails if the instrument of `process` has stopped or was never started.
    pub(super) fn check_running(&self, process: u32) -> Result<(), CaseFailure> {
        match self.broken.get(&process) {
            Some(failure) => Err(failure.clone()),
            None if self.instruments.contains_key(&process) => Ok(()),
            None => Err(internal(format!(
                "instrument process {process} was never started"
            ))),
        }
    }

    /// Sends a request to the instrument of `process`. If the instrument has stopped, [`Self::receive`] returns the
    /// failure.
    pub(super) fn send(&mut self, process: u32, request: &Request) -> Result<(), Departure> {
        let sent = self
            .instruments
            .get_mut(&process)
            .map(|instrument| instrument.send(request));
        match sent {
            Some(Err(error)) => self.handle_loss(process, &error).map(drop),
            Some(Ok(())) | None => Ok(()),
        }
    }

    /// Waits at most `timeout` for the reply to the request that was sent to the instrument of `process`.
    fn receive(&mut self, process: u32, timeout: Duration) -> Result<Result<Reply, CaseFailure>, Departure> {
        if let Err(failure) = self.check_running(process) {
            return Ok(Err(failure));
        }
        let Some(requested) = self.instruments.get(&process).map(|instrument| instrument.serial) else {
            return Ok(Err(internal(format!(
                "instrument process {process} is not running"
            ))));
        };
        if let Some(reply) = self.early_replies.remove(&requested) {
            return Ok(Ok(reply));
        }
        let deadline = Instant::now() + timeout;
        loop {
            match self.next_event(Some(deadline))? {
                None => return self.handle_timeout(process, timeout).map(Err),
                Some(WorkerEvent::Reply { serial, reply }) if serial == requested => return Ok(Ok(reply)),
                Some(WorkerEvent::InstrumentLost { serial, error }) if serial == requested => {
                    return self.handle_loss(process, &error).map(Err);
                }
                Some(WorkerEvent::InstrumentLost { serial, error }) => {
                    self.handle_loss_of_serial(serial, &error)?
                }
                Some(event) => self.defer(event),
            }
        }
    }

    /// Waits for the next event; returns `None` when `deadline` passes. Sends the heartbeats that are due.
    pub(super) fn next_event(&mut self, deadline: Option<Instant>) -> Result<Option<WorkerEvent>, Departure> {
        loop {
            let now = Instant::now();
            if now >= self.next_heartbeat {
                self.next_heartbeat = now + HEARTBEAT;
                self.report(&WorkerReport::Heartbeat)?;
            }
            let until = deadline.map_or(self.next_heartbeat, |deadline| deadline.min(self.next_heartbeat));
            let departure = match self.events.recv_timeout(until.saturating_duration_since(now)) {
                Ok(WorkerEvent::Stop(signal)) => CaseFailure {
                    reason: FailureReason::Interrupted,
                    message: format!("stopped by {signal}"),
                },
                Ok(WorkerEvent::CoordinatorLost(cause)) => CaseFailure {
                    reason: FailureReason::PeerLost,
                    message: format!("lost the connection to the coordinator: {cause}"),
                },
                Ok(WorkerEvent::Command(Command::Leave(end))) => return Err(Departure::Finished(end)),
                Ok(event) => return Ok(Some(event)),
                Err(RecvTimeoutError::Timeout)
                    if deadline.is_some_and(|deadline| Instant::now() >= deadline) =>
                {
                    return Ok(None);
                }
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => {
                    internal("the worker's event channel was closed".into())
                }
            };
            return Err(Departure::Failed(departure));
        }
    }

    pub(super) fn defer(&mut self, event: WorkerEvent) {
        match event {
            WorkerEvent::Command(command) => self.backlog.push_back(command),
            WorkerEvent::Reply { serial, reply } if self.process_of_serial(serial).is_some() => {
                self.early_replies.insert(serial, reply);
            }
            // Other replies come only from instruments that have been killed.
            other => tracing::debug!(?other, "ignored an unexpected event"),
        }
    }

    pub(super) fn handle_loss_of_serial(&mut self, serial: u64, error: &FrameError) -> Result<(), Departure> {
        match self.process_of_serial(serial) {
            Some(process) => self.handle_loss(process, error).map(|_| ()),
            None => Ok(()),
        }
    }

    /// Whether the running instrument of `process` has this serial number.
    pub(super) fn belongs_to_process(&self, serial: u64, process: u32) -> bool {
        self.process_of_serial(serial) == Some(process)
    }

    /// Process whose running instrument has this serial number; `None` if that instrument has been killed.
    fn process_of_serial(&self, serial: u64) -> Option<u32> {
        let mut instruments = self.instruments.iter();
        let found = instruments.find(|(_, instrument)| instrument.serial == serial);
        found.map(|(process, _)| *process)
    }

    /// Handles the unexpected loss of the instrument of `process`.
    fn handle_loss(&mut self, process: u32, error: &FrameError) -> Result<CaseFailure, Departure> {
        let Some(instrument) = self.instruments.remove(&process) else {
            return Ok(internal(format!("instrument process {process} is not running")));
        };
        let exit = instrument.wait_or_kill(EXIT_TIMEOUT);
        let failure = CaseFailure {
            reason: FailureReason::PeerLost,
            message: format!(
                "instrument process {process} {} ({error}); its arms fail until the instruments are restarted, and a \
                 warning contains its output, if any",
                exit.status
            ),
        };
        self.broken.insert(process, failure.clone());
        self.report(&WorkerReport::InstrumentLost)?;
        self.report_output(process, exit)?;
        Ok(failure)
    }

    /// Kills the instrument of `process`, which did not reply in time.
    pub(super) fn handle_timeout(
        &mut self,
        process: u32,
        timeout: Duration,
    ) -> Result<CaseFailure, Departure> {
        let failure = CaseFailure {
            reason: FailureReason::DeadlineExceeded,
            message: format!(
                "instrument process {process} did not reply within {} s and was killed; its arms fail until \
                 the instruments are restarted",
                timeout.as_secs()
            ),
        };
        self.broken.insert(process, failure.clone());
        self.report(&WorkerReport::InstrumentLost)?;
        self.warn(WarningReason::Killed, failure.message.clone())?;
        if let Some(instrument) = self.instruments.remove(&process) {
            let exit = instrument.wait_or_kill(Duration::ZERO);
            self.report_output(process, exit)?;
        }
        Ok(failure)
    }

    /// Reports the output of an instrument that has exited.
    pub(super) fn report_output(&mut self, process: u32, exit: InstrumentExit) -> Result<(), Departure> {
        if exit.output.is_empty() {
            return Ok(());
        }
        let message = format!("instrument process {process} printed:\n{}", exit.output);
        self.report(&WorkerReport::Warning {
            reason: WarningReason::LibraryOutput,
            message,
        })
    }
}

pub(super) fn internal(message: String) -> CaseFailure {
    CaseFailure {
        reason: FailureReason::Internal,
        message,
    }
}

/// Creates the failure for a reply that does not match the request.
pub(super) fn unexpected_reply(reply: &Reply) -> CaseFailure {
    internal(format!("an instrument sent an unexpected reply: {reply:?}"))
}
