//! Waiting for commands and replies, never without a limit and never blind to anything else.

use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use crds::record::{CaseFailure, FailureReason, WarningReason};

use super::super::child::Ended;
use super::{Agent, Departure};
use crate::frame::FrameError;
use crate::instrument::protocol::{Reply, Request};
use crate::rendezvous::link::HEARTBEAT;
use crate::rendezvous::message::{Command, Report};
use crate::worker::event::WorkerEvent;

/// How long a process that closed its socket may take to end by itself.
const EXIT_WAIT: Duration = Duration::from_secs(2);

impl Agent<'_> {
    pub(super) fn next_command(&mut self) -> Result<Command, Departure> {
        loop {
            if let Some(command) = self.backlog.pop_front() {
                return Ok(command);
            }
            match self.next_event(None)? {
                Some(WorkerEvent::InstrumentGone { serial, error }) => self.gone_meanwhile(serial, &error)?,
                Some(event) => self.keep(event),
                None => {}
            }
        }
    }

    /// Asks the instrument of `process` and waits for its answer, at most `wait`. The inner error is why there is
    /// none; the instrument is then gone, and its output is shipped.
    pub(super) fn ask(
        &mut self,
        process: u32,
        request: &Request,
        wait: Duration,
    ) -> Result<Result<Reply, CaseFailure>, Departure> {
        if let Some(failure) = self.broken.get(&process) {
            return Ok(Err(failure.clone()));
        }
        let Some(instrument) = self.instruments.get_mut(&process) else {
            return Ok(Err(internal(format!(
                "instrument process {process} was never started"
            ))));
        };
        let asked = instrument.serial;
        if let Err(error) = instrument.send(request) {
            return self.lost(process, &error).map(Err);
        }
        let deadline = Instant::now() + wait;
        loop {
            match self.next_event(Some(deadline))? {
                None => return self.overdue(process, wait).map(Err),
                Some(WorkerEvent::Reply { serial, reply }) if serial == asked => return Ok(Ok(reply)),
                Some(WorkerEvent::InstrumentGone { serial, error }) if serial == asked => {
                    return self.lost(process, &error).map(Err);
                }
                Some(WorkerEvent::InstrumentGone { serial, error }) => self.gone_meanwhile(serial, &error)?,
                Some(event) => self.keep(event),
            }
        }
    }

    /// Waits for something to happen; `None` when `deadline` comes first. Keeps the heartbeat going.
    fn next_event(&mut self, deadline: Option<Instant>) -> Result<Option<WorkerEvent>, Departure> {
        loop {
            let now = Instant::now();
            if now >= self.next_heartbeat {
                self.next_heartbeat = now + HEARTBEAT;
                self.report(&Report::Heartbeat)?;
            }
            let until = deadline.map_or(self.next_heartbeat, |deadline| deadline.min(self.next_heartbeat));
            let departure = match self.events.recv_timeout(until.saturating_duration_since(now)) {
                Ok(WorkerEvent::Stop(signal)) => CaseFailure {
                    reason: FailureReason::Interrupted,
                    message: format!("told to stop by {signal}"),
                },
                Ok(WorkerEvent::CoordinatorGone(how)) => CaseFailure {
                    reason: FailureReason::PeerLost,
                    message: format!("the coordinator is gone: {how}"),
                },
                Ok(WorkerEvent::Command(Command::Leave(end))) => return Err(Departure::Finished(end)),
                Ok(event) => return Ok(Some(event)),
                Err(RecvTimeoutError::Timeout)
                    if deadline.is_some_and(|deadline| Instant::now() >= deadline) =>
                {
                    return Ok(None);
                }
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => internal("the worker's own events ended".into()),
            };
            return Err(Departure::Failed(departure));
        }
    }

    fn keep(&mut self, event: WorkerEvent) {
        match event {
            WorkerEvent::Command(command) => self.backlog.push_back(command),
            // Only of processes that were given up: nothing else answers unasked.
            other => tracing::debug!(?other, "not waited for"),
        }
    }

    fn gone_meanwhile(&mut self, serial: u64, error: &FrameError) -> Result<(), Departure> {
        let process = self
            .instruments
            .iter()
            .find(|(_, instrument)| instrument.serial == serial);
        match process.map(|(process, _)| *process) {
            Some(process) => self.lost(process, error).map(|_| ()),
            None => Ok(()),
        }
    }

    /// The instrument of `process` is gone without having been asked to leave.
    fn lost(&mut self, process: u32, error: &FrameError) -> Result<CaseFailure, Departure> {
        let Some(instrument) = self.instruments.remove(&process) else {
            return Ok(internal(format!("instrument process {process} is not running")));
        };
        let ended = instrument.end(EXIT_WAIT);
        let failure = CaseFailure {
            reason: FailureReason::PeerLost,
            message: format!(
                "instrument process {process} {} ({error}); what it printed, if anything, is in a warning. Its arms \
                 go on in the next round",
                ended.how
            ),
        };
        self.broken.insert(process, failure.clone());
        self.ship(process, ended)?;
        Ok(failure)
    }

    /// The instrument of `process` has not answered in time: it is killed.
    fn overdue(&mut self, process: u32, wait: Duration) -> Result<CaseFailure, Departure> {
        let failure = CaseFailure {
            reason: FailureReason::DeadlineExceeded,
            message: format!(
                "instrument process {process} did not answer within {} s and was killed; its arms go on in the next \
                 round",
                wait.as_secs()
            ),
        };
        self.broken.insert(process, failure.clone());
        self.warn(WarningReason::Killed, failure.message.clone())?;
        if let Some(instrument) = self.instruments.remove(&process) {
            let ended = instrument.end(Duration::ZERO);
            self.ship(process, ended)?;
        }
        Ok(failure)
    }

    /// Ships what an instrument that has ended printed.
    pub(super) fn ship(&mut self, process: u32, ended: Ended) -> Result<(), Departure> {
        if ended.output.is_empty() {
            return Ok(());
        }
        let message = format!("instrument process {process} printed:\n{}", ended.output);
        self.report(&Report::Warning {
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

/// What an answer to another question becomes.
pub(super) fn unexpected(reply: &Reply) -> CaseFailure {
    internal(format!("an instrument answered something else: {reply:?}"))
}
