//! Communicates with the workers of an attempt: sends commands, receives reports, and tracks which workers were lost
//! and why.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::time::{Duration, Instant};

use crds::record::{CaseFailure, EndRecord, FailureReason, WarningReason};

use super::Halt;
use crate::rendezvous::link::{HEARTBEAT, LinkSender};
use crate::rendezvous::message::{Command, WorkerReport};
use crate::worker_event::WorkerEvent;

/// Minimum number of workers of an attempt.
pub const MIN_WORKERS: usize = 2;

/// Event handled by the coordinator.
#[derive(Debug)]
pub enum GangEvent {
    /// Report from a worker.
    Report {
        /// Worker rank.
        rank: u32,
        /// The report.
        report: WorkerReport,
    },
    /// The connection to a worker was lost.
    Lost {
        /// Worker rank.
        rank: u32,
        /// Connection error.
        cause: String,
    },
    /// This process received a signal. Contains the signal's name.
    Stop(&'static str),
}

/// Link from the coordinator to a worker.
#[derive(Debug)]
pub enum WorkerLink {
    /// Connection to a worker in another process.
    Remote(LinkSender),
    /// Channel to the worker in this process.
    Local(SyncSender<WorkerEvent>),
}

#[derive(Debug)]
struct Member {
    link: WorkerLink,
    lost: Option<CaseFailure>,
}

/// Warning from a worker, to be written to the records.
#[derive(Debug)]
pub struct GangWarning {
    /// Worker rank.
    pub rank: u32,
    /// Reason for the warning.
    pub reason: WarningReason,
    /// Human-readable description.
    pub message: String,
}

/// All workers, by rank.
#[derive(Debug)]
pub struct Gang {
    members: Vec<Member>,
    events: Receiver<GangEvent>,
    warnings: Vec<GangWarning>,
    /// Whether a worker has lost an instrument since the last call to [`Gang::take_instrument_loss`].
    instrument_lost: bool,
    next_heartbeat: Instant,
    /// Minimum number of workers that the attempt needs to continue.
    required: usize,
}

/// Result of examining a report.
#[derive(Debug)]
pub enum PickResult<T> {
    /// The report is the worker's response.
    Response(T),
    /// The report is not the worker's response.
    Ignored,
    /// No more responses are needed.
    Stop,
}

impl Gang {
    /// Creates a gang from the `links` to its workers, ordered by rank. Their reports arrive in `events`. The attempt
    /// cannot continue with fewer than `required` workers.
    pub fn new(links: Vec<WorkerLink>, events: Receiver<GangEvent>, required: usize) -> Self {
        let members = links
            .into_iter()
            .map(|link| Member { link, lost: None })
            .collect();
        Self {
            members,
            events,
            warnings: Vec::new(),
            instrument_lost: false,
            next_heartbeat: Instant::now() + HEARTBEAT,
            required,
        }
    }

    /// Ranks of the workers that are not lost, in order.
    pub fn alive(&self) -> Vec<u32> {
        let ranks = 0..self.members.len() as u32;
        ranks.filter(|rank| self.loss(*rank).is_none()).collect()
    }

    /// Failure that caused the loss of worker `rank`; `None` if the worker is not lost.
    pub fn loss(&self, rank: u32) -> Option<&CaseFailure> {
        self.members.get(rank as usize)?.lost.as_ref()
    }

    /// Removes and returns the warnings received since the last call.
    pub fn take_warnings(&mut self) -> Vec<GangWarning> {
        std::mem::take(&mut self.warnings)
    }

    /// Whether a worker has lost an instrument since the last call.
    pub fn take_instrument_loss(&mut self) -> bool {
        std::mem::take(&mut self.instrument_lost)
    }

    /// Sends a command to one worker. If the command cannot be sent, the worker is marked as lost.
    pub fn send(&mut self, rank: u32, command: Command) {
        let Some(member) = self
            .members
            .get_mut(rank as usize)
            .filter(|member| member.lost.is_none())
        else {
            return;
        };
        let sent = match &mut member.link {
            WorkerLink::Remote(link) => link.send(&command).map_err(|error| error.to_string()),
            WorkerLink::Local(sender) => sender
                .send(WorkerEvent::Command(command))
                .map_err(|_| "the worker thread has exited".into()),
        };
        if let Err(cause) = sent {
            self.mark_lost(
                rank,
                FailureReason::PeerLost,
                &format!("cannot send a command: {cause}"),
            );
        }
    }

    /// Notifies all workers that the attempt has ended.
    pub fn notify_end(&mut self, end: &EndRecord) {
        for rank in self.alive() {
            self.send(rank, Command::Leave(end.clone()));
        }
    }

    /// Collects one response from each rank in `from`: the first report for which `pick` returns a value.
    ///
    /// A worker that does not respond within `timeout` is marked as lost. The result of a lost worker is its failure.
    /// `task` describes the current step in error messages.
    ///
    /// # Errors
    /// Returns an error if a signal stops this process, or fewer workers are left than the attempt requires.
    pub fn gather<T>(
        &mut self,
        from: &[u32],
        task: &str,
        timeout: Duration,
        mut pick: impl FnMut(u32, WorkerReport) -> Option<T>,
    ) -> Result<BTreeMap<u32, Result<T, CaseFailure>>, Halt> {
        self.gather_until(from, task, timeout, |rank, report| {
            pick(rank, report).map_or(PickResult::Ignored, PickResult::Response)
        })
    }

    /// Like [`Gang::gather`], but stops waiting for the other responses as soon as `pick` returns [`PickResult::Stop`].
    /// `pick` may return it even for a worker that has already responded.
    ///
    /// # Errors
    /// Returns an error if a signal stops this process, or fewer workers are left than the attempt requires.
    pub fn gather_until<T>(
        &mut self,
        from: &[u32],
        task: &str,
        timeout: Duration,
        mut pick: impl FnMut(u32, WorkerReport) -> PickResult<T>,
    ) -> Result<BTreeMap<u32, Result<T, CaseFailure>>, Halt> {
        let deadline = Instant::now() + timeout;
        let mut responses = BTreeMap::new();
        let mut waiting: BTreeSet<u32> = from.iter().copied().collect();
        loop {
            for rank in waiting.clone() {
                if let Some(failure) = self.loss(rank).cloned() {
                    waiting.remove(&rank);
                    responses.insert(rank, Err(failure));
                }
            }
            self.check_worker_count()?;
            if waiting.is_empty() {
                return Ok(responses);
            }
            match self.next_event(deadline)? {
                Some((rank, report)) => {
                    let unexpected = (!waiting.contains(&rank)).then(|| format!("{report:?}"));
                    match (pick(rank, report), unexpected) {
                        (PickResult::Stop, _) => return Ok(responses),
                        (PickResult::Response(response), None) => {
                            waiting.remove(&rank);
                            responses.insert(rank, Ok(response));
                        }
                        (PickResult::Ignored, None) => {}
                        (PickResult::Response(_) | PickResult::Ignored, Some(report)) => {
                            tracing::warn!(rank, report, "ignored an unexpected report");
                        }
                    }
                }
                None if Instant::now() < deadline => {}
                None => {
                    let message = format!("did not respond within {} s while {task}", timeout.as_secs());
                    for rank in &waiting {
                        self.mark_lost(*rank, FailureReason::DeadlineExceeded, &message);
                    }
                }
            }
        }
    }

    /// Waits for the next response from a worker; returns `None` after any other event, when a heartbeat is due, or
    /// when `deadline` passes. Sends the heartbeats that are due.
    fn next_event(&mut self, deadline: Instant) -> Result<Option<(u32, WorkerReport)>, Halt> {
        let now = Instant::now();
        if now >= self.next_heartbeat {
            self.next_heartbeat = now + HEARTBEAT;
            for rank in self.alive() {
                self.send(rank, Command::Heartbeat);
            }
        }
        let wait = deadline.min(self.next_heartbeat).saturating_duration_since(now);
        match self.events.recv_timeout(wait) {
            Ok(GangEvent::Stop(signal)) => Err(Halt::Attempt(CaseFailure {
                reason: FailureReason::Interrupted,
                message: format!("rank 0 was stopped by {signal}"),
            })),
            Ok(GangEvent::Lost { rank, cause }) => {
                self.mark_lost(rank, FailureReason::PeerLost, &cause);
                Ok(None)
            }
            Ok(GangEvent::Report { rank, report }) => self.handle_report(rank, report),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(Halt::Attempt(CaseFailure {
                reason: FailureReason::Internal,
                message: "all links to the workers are closed".into(),
            })),
        }
    }

    /// Returns `report` if it is a response to a command, and handles it otherwise.
    fn handle_report(
        &mut self,
        rank: u32,
        report: WorkerReport,
    ) -> Result<Option<(u32, WorkerReport)>, Halt> {
        match report {
            WorkerReport::Heartbeat => {}
            WorkerReport::InstrumentLost => self.instrument_lost = true,
            WorkerReport::Warning { reason, message } => self.warnings.push(GangWarning {
                rank,
                reason,
                message,
            }),
            // A signal to one worker stops the whole attempt. Otherwise, the block would continue without that worker
            // and would be recorded as complete.
            WorkerReport::Leaving(failure) if failure.reason == FailureReason::Interrupted => {
                return Err(Halt::Attempt(CaseFailure {
                    message: format!("rank {rank} was lost: {}", failure.message),
                    ..failure
                }));
            }
            WorkerReport::Leaving(failure) => self.mark_lost(rank, failure.reason, &failure.message),
            response => return Ok(Some((rank, response))),
        }
        Ok(None)
    }

    fn mark_lost(&mut self, rank: u32, reason: FailureReason, cause: &str) {
        let Some(member) = self
            .members
            .get_mut(rank as usize)
            .filter(|member| member.lost.is_none())
        else {
            return;
        };
        let message = format!("rank {rank} was lost: {cause}");
        tracing::warn!("{message}");
        member.lost = Some(CaseFailure {
            reason,
            message: message.clone(),
        });
        self.warnings.push(GangWarning {
            rank,
            reason: WarningReason::WorkerLost,
            message,
        });
    }

    /// Explains why the attempt cannot continue.
    fn requirement(&self) -> &'static str {
        match self.required == self.members.len() && self.required > MIN_WORKERS {
            true => "the many-to-many pattern needs all workers",
            false => "fewer than two workers are left",
        }
    }

    fn check_worker_count(&self) -> Result<(), Halt> {
        if self.alive().len() >= self.required {
            return Ok(());
        }
        let lost: Vec<_> = self
            .members
            .iter()
            .filter_map(|member| member.lost.as_ref())
            .collect();
        let reason = lost
            .last()
            .map_or(FailureReason::Internal, |failure| failure.reason);
        let messages: Vec<_> = lost.iter().map(|failure| failure.message.as_str()).collect();
        Err(Halt::Attempt(CaseFailure {
            reason,
            message: format!("{}: {}", self.requirement(), messages.join("; ")),
        }))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::sync_channel;

    use super::*;

    #[test]
    fn a_stopped_worker_ends_the_attempt() {
        let (sender, events) = sync_channel(8);
        let (links, _commands): (Vec<_>, Vec<_>) = (0..3)
            .map(|_| {
                let (link, commands) = sync_channel(8);
                (WorkerLink::Local(link), commands)
            })
            .unzip();
        let mut gang = Gang::new(links, events, MIN_WORKERS);
        let leaving = |reason| GangEvent::Report {
            rank: 2,
            report: WorkerReport::Leaving(CaseFailure {
                reason,
                message: "stopped by SIGTERM".to_owned(),
            }),
        };
        sender.send(leaving(FailureReason::Interrupted)).unwrap();
        let timeout = Duration::from_secs(10);
        match gang.gather(&[0, 1, 2], "waiting", timeout, |_, _| None::<()>) {
            Err(Halt::Attempt(failure)) => assert_eq!(failure.reason, FailureReason::Interrupted),
            other => panic!("{other:?}"),
        }
        assert_eq!(gang.alive(), [0, 1, 2]);

        sender.send(leaving(FailureReason::Internal)).unwrap();
        let responses = gang.gather(&[2], "waiting", timeout, |_, _| None::<()>).unwrap();
        assert_eq!(responses[&2].clone().unwrap_err().reason, FailureReason::Internal);
        assert_eq!(gang.alive(), [0, 1]);
    }
}
