//! The workers of an attempt, as the coordinator sees them: who is there, who is lost and why. Sends and receives
//! messages.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::time::{Duration, Instant};

use crds::record::{CaseFailure, EndRecord, FailureReason, WarningReason};

use super::Halt;
use crate::rendezvous::link::{HEARTBEAT, LinkSender};
use crate::rendezvous::message::{Command, Report};
use crate::worker::event::WorkerEvent;

/// Something that happened.
#[derive(Debug)]
pub enum GangEvent {
    /// A worker answered.
    Report {
        /// Its rank.
        rank: u32,
        /// What it says.
        report: Report,
    },
    /// The connection to a worker is of no more use.
    Lost {
        /// Its rank.
        rank: u32,
        /// How that was seen.
        how: String,
    },
    /// This process was told to stop, by a signal of this name.
    Stop(&'static str),
}

/// The way to a worker.
#[derive(Debug)]
pub enum WorkerLink {
    /// To another process.
    Remote(LinkSender),
    /// To the worker in this process.
    Here(SyncSender<WorkerEvent>),
}

#[derive(Debug)]
struct Member {
    way: WorkerLink,
    lost: Option<CaseFailure>,
}

/// A warning that a worker wants in the records.
#[derive(Debug)]
pub struct GangWarning {
    /// Its rank.
    pub rank: u32,
    /// What kind.
    pub reason: WarningReason,
    /// In words.
    pub message: String,
}

/// All workers, by rank.
#[derive(Debug)]
pub struct Gang {
    members: Vec<Member>,
    events: Receiver<GangEvent>,
    warnings: Vec<GangWarning>,
    next_heartbeat: Instant,
}

impl Gang {
    /// The gang of the workers that `ways` lead to, by rank; what they say arrives at `events`.
    pub fn new(ways: Vec<WorkerLink>, events: Receiver<GangEvent>) -> Self {
        let members = ways.into_iter().map(|way| Member { way, lost: None }).collect();
        Self {
            members,
            events,
            warnings: Vec::new(),
            next_heartbeat: Instant::now() + HEARTBEAT,
        }
    }

    /// Ranks that are still there, in order.
    pub fn alive(&self) -> Vec<u32> {
        let ranks = 0..self.members.len() as u32;
        ranks.filter(|rank| self.lost(*rank).is_none()).collect()
    }

    /// Why `rank` is not there any more.
    pub fn lost(&self, rank: u32) -> Option<&CaseFailure> {
        self.members.get(rank as usize)?.lost.as_ref()
    }

    /// The warnings since the last call.
    pub fn take_warnings(&mut self) -> Vec<GangWarning> {
        std::mem::take(&mut self.warnings)
    }

    /// Sends a command to one worker; it is lost when it does not take it.
    pub fn send(&mut self, rank: u32, command: Command) {
        let Some(member) = self
            .members
            .get_mut(rank as usize)
            .filter(|member| member.lost.is_none())
        else {
            return;
        };
        let sent = match &mut member.way {
            WorkerLink::Remote(link) => link.send(&command).map_err(|error| error.to_string()),
            WorkerLink::Here(sender) => sender
                .send(WorkerEvent::Command(command))
                .map_err(|_| "it has ended".into()),
        };
        if let Err(how) = sent {
            self.lose(
                rank,
                FailureReason::PeerLost,
                &format!("cannot be sent to: {how}"),
            );
        }
    }

    /// Tells everyone that the attempt is over.
    pub fn dismiss(&mut self, end: &EndRecord) {
        for rank in self.alive() {
            self.send(rank, Command::Leave(end.clone()));
        }
    }

    /// Collects one answer from each of `from`: the first report of it that `pick` makes something of. Whoever does
    /// not answer within `wait` is lost; the answer of a lost worker is why.
    ///
    /// # Errors
    /// When this process is told to stop, or no two workers are left.
    pub fn gather<T>(
        &mut self,
        from: &[u32],
        what: &str,
        wait: Duration,
        mut pick: impl FnMut(u32, Report) -> Option<T>,
    ) -> Result<BTreeMap<u32, Result<T, CaseFailure>>, Halt> {
        let deadline = Instant::now() + wait;
        let mut answers = BTreeMap::new();
        let mut waiting: BTreeSet<u32> = from.iter().copied().collect();
        loop {
            for rank in waiting.clone() {
                if let Some(failure) = self.lost(rank).cloned() {
                    waiting.remove(&rank);
                    answers.insert(rank, Err(failure));
                }
            }
            self.check_pairs()?;
            if waiting.is_empty() {
                return Ok(answers);
            }
            match self.next_event(deadline)? {
                Some((rank, report)) if waiting.contains(&rank) => {
                    if let Some(answer) = pick(rank, report) {
                        waiting.remove(&rank);
                        answers.insert(rank, Ok(answer));
                    }
                }
                Some((rank, report)) => tracing::warn!(rank, ?report, "not waited for"),
                None if Instant::now() < deadline => {}
                None => {
                    let message = format!("did not answer ({what}) within {} s", wait.as_secs());
                    for rank in &waiting {
                        self.lose(*rank, FailureReason::DeadlineExceeded, &message);
                    }
                }
            }
        }
    }

    /// The next answer of a worker; `None` when something else happened or `deadline` came. Keeps the heartbeat going.
    fn next_event(&mut self, deadline: Instant) -> Result<Option<(u32, Report)>, Halt> {
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
                message: format!("rank 0 was told to stop by {signal}"),
            })),
            Ok(GangEvent::Lost { rank, how }) => {
                self.lose(rank, FailureReason::PeerLost, &how);
                Ok(None)
            }
            Ok(GangEvent::Report { rank, report }) => self.sort(rank, report),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(Halt::Attempt(CaseFailure {
                reason: FailureReason::Internal,
                message: "all ways to the workers ended".into(),
            })),
        }
    }

    fn sort(&mut self, rank: u32, report: Report) -> Result<Option<(u32, Report)>, Halt> {
        match report {
            Report::Heartbeat => {}
            Report::Warning { reason, message } => self.warnings.push(GangWarning {
                rank,
                reason,
                message,
            }),
            // Whoever stops one worker means the attempt: a block that went on without it would count as done.
            Report::Leaving(failure) if failure.reason == FailureReason::Interrupted => {
                return Err(Halt::Attempt(CaseFailure {
                    message: format!("rank {rank} was lost: {}", failure.message),
                    ..failure
                }));
            }
            Report::Leaving(failure) => self.lose(rank, failure.reason, &failure.message),
            answer => return Ok(Some((rank, answer))),
        }
        Ok(None)
    }

    fn lose(&mut self, rank: u32, reason: FailureReason, how: &str) {
        let Some(member) = self
            .members
            .get_mut(rank as usize)
            .filter(|member| member.lost.is_none())
        else {
            return;
        };
        let message = format!("rank {rank} was lost: {how}");
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

    fn check_pairs(&self) -> Result<(), Halt> {
        if self.alive().len() >= 2 {
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
        let how: Vec<_> = lost.iter().map(|failure| failure.message.as_str()).collect();
        Err(Halt::Attempt(CaseFailure {
            reason,
            message: format!("no two workers are left: {}", how.join("; ")),
        }))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::sync_channel;

    use super::*;

    #[test]
    fn a_worker_that_was_told_to_stop_ends_the_attempt_of_three() {
        let (sender, events) = sync_channel(8);
        let (ways, _commands): (Vec<_>, Vec<_>) = (0..3)
            .map(|_| {
                let (way, commands) = sync_channel(8);
                (WorkerLink::Here(way), commands)
            })
            .unzip();
        let mut gang = Gang::new(ways, events);
        let leaving = |reason| GangEvent::Report {
            rank: 2,
            report: Report::Leaving(CaseFailure {
                reason,
                message: "told to stop by SIGTERM".to_owned(),
            }),
        };
        sender.send(leaving(FailureReason::Interrupted)).unwrap();
        let wait = Duration::from_secs(10);
        match gang.gather(&[0, 1, 2], "waiting", wait, |_, _| None::<()>) {
            Err(Halt::Attempt(failure)) => assert_eq!(failure.reason, FailureReason::Interrupted),
            other => panic!("{other:?}"),
        }
        assert_eq!(gang.alive(), [0, 1, 2]);

        sender.send(leaving(FailureReason::Internal)).unwrap();
        let answers = gang.gather(&[2], "waiting", wait, |_, _| None::<()>).unwrap();
        assert_eq!(answers[&2].clone().unwrap_err().reason, FailureReason::Internal);
        assert_eq!(gang.alive(), [0, 1]);
    }
}
