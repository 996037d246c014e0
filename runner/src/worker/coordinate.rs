//! Runs the coordinator: rendezvous, attempt and record stream. The coordinator is also a worker.

use std::io::{self, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use crds::assignment::Assignment;
use crds::record::{CaseFailure, EndRecord, Record, WarningReason};
use snafu::ResultExt;

use super::agent::{Agent, EVENT_CAPACITY};
use super::coordinator_link::CoordinatorLink;
use super::signals::StopFlag;
use super::{
    LinkSnafu, OutputSnafu, ServerSnafu, StartSnafu, WorkerError, facts, follow, shared_memory_space,
    signals, termination,
};
use crate::environment;
use crate::output::{OutputError, RecordWriter};
use crate::rendezvous::coordinator::{self, AdmittedPeers, JoinedPeer};
use crate::rendezvous::link;
use crate::rendezvous::message::WorkerHello;
use crate::rendezvous::server::Server;
use crate::session::coordinator::Coordinator;
use crate::session::gang::{Gang, GangEvent, MIN_WORKERS, WorkerLink};

/// Runs the attempt, and writes its end record to the stream and to `termination_message`.
///
/// # Errors
/// Returns an error if a thread cannot be started, a signal handler cannot be installed, or the records cannot be
/// written.
pub fn coordinate(
    assignment: &Assignment,
    hello: WorkerHello,
    termination_message: Option<&Path>,
) -> Result<EndRecord, WorkerError> {
    let mut attempt = Attempt::new(assignment, hello, io::stdout())?;
    let rendezvous = &assignment.rendezvous;
    let admitted = coordinator::listen(rendezvous).and_then(|listener| {
        coordinator::wait_for_peers(
            &listener,
            &assignment.identity,
            assignment.workers,
            rendezvous,
            || attempt.is_stopped(),
        )
    });
    let end = match admitted {
        Err(error) => attempt.fail(error.failure()).context(OutputSnafu)?,
        Ok(admitted) => attempt.run(admitted)?,
    };
    termination::write(termination_message, &end);
    Ok(end)
}

/// Runs the attempt with `server`, which becomes rank 1.
///
/// # Errors
/// Returns an error if the server cannot be reached or refuses the assignment, and in the cases of [`coordinate`].
pub fn coordinate_with(server: &Server, mut assignment: Assignment) -> Result<EndRecord, WorkerError> {
    let reader = server.open_session(&mut assignment).context(ServerSnafu)?;
    let hello = facts::hello(&assignment, 0);
    let mut attempt = Attempt::new(&assignment, hello, io::stdout())?;
    match coordinator::admit_connected(reader, &assignment.identity) {
        Err(failure) => attempt.fail(failure).context(OutputSnafu),
        Ok(admitted) => attempt.run(admitted),
    }
}

/// An attempt that this process coordinates, from its first record to its last.
struct Attempt<'a, W> {
    assignment: &'a Assignment,
    /// First message of rank 0, which is this process.
    hello: WorkerHello,
    stream: RecordWriter<W>,
    started_at: String,
    sender: SyncSender<GangEvent>,
    events: Receiver<GangEvent>,
    stop: StopFlag,
}

impl<'a, W: Write> Attempt<'a, W> {
    /// Creates the record stream, which is written to `out`, and starts watching for signals.
    ///
    /// # Errors
    /// Returns an error if a signal handler cannot be installed.
    fn new(assignment: &'a Assignment, hello: WorkerHello, out: W) -> Result<Self, WorkerError> {
        let started_at = facts::now_rfc3339();
        let stream = RecordWriter::new(out);
        // For each worker, the channel has as much capacity as a command channel, so that the coordinator and a worker
        // cannot deadlock while each sends to the other.
        let (sender, events) = sync_channel(EVENT_CAPACITY * assignment.workers.max(1) as usize);
        let notify = sender.clone();
        let stop =
            signals::watch(move |signal| drop(notify.send(GangEvent::Stop(signal)))).context(StartSnafu {
                action: "installing the signal handlers",
            })?;
        Ok(Self {
            assignment,
            hello,
            stream,
            started_at,
            sender,
            events,
            stop,
        })
    }

    /// Whether this process has received a signal.
    fn is_stopped(&self) -> bool {
        self.stop.is_set()
    }

    /// Writes the complete record stream of an attempt whose rendezvous failed.
    fn fail(&mut self, failure: CaseFailure) -> Result<EndRecord, OutputError> {
        let hello = self.record(0, self.hello.clone());
        self.stream.write(hello)?;
        let end = failed(failure);
        self.stream.write(Record::End(end.clone()))?;
        Ok(end)
    }

    /// Runs the attempt after the rendezvous. When this function returns, all worker threads in this process have
    /// exited.
    ///
    /// # Errors
    /// Returns an error if a thread cannot be started, or the records cannot be written.
    fn run(mut self, admitted: AdmittedPeers) -> Result<EndRecord, WorkerError> {
        self.write_hellos(&admitted).context(OutputSnafu)?;
        let Self {
            assignment,
            hello,
            mut stream,
            sender,
            events,
            ..
        } = self;
        let hellos: Vec<_> = [&hello]
            .into_iter()
            .chain(admitted.peers.iter().map(|peer| &peer.hello))
            .collect();
        if let Some(failure) = shared_memory_space::failure(assignment, &hellos, environment::cpu::online()) {
            let end = failed(failure);
            stream.write(Record::End(end.clone())).context(OutputSnafu)?;
            return Ok(end);
        }
        let cpus = facts::assign_cpus(&hellos);
        coordinator::welcome(&admitted, &assignment.identity, &cpus);
        let local_cpus = cpus.into_iter().next().unwrap_or_default();
        let (command_sender, commands) = sync_channel(EVENT_CAPACITY);
        let mut links = vec![WorkerLink::Local(command_sender.clone())];
        for peer in admitted.peers {
            links.push(connect(peer, assignment, &sender)?);
        }
        let required = match assignment.many_to_many {
            Some(_) => links.len(),
            None => MIN_WORKERS,
        };
        let gang = Gang::new(links, events, required);
        thread::scope(|scope| {
            let link = CoordinatorLink::Local(sender);
            let agent = Agent::new(assignment, 0, local_cpus, link, (command_sender, commands));
            thread::Builder::new()
                .name("worker".into())
                .spawn_scoped(scope, move || agent.run())
                .context(StartSnafu {
                    action: "starting a thread",
                })?;
            Coordinator::new(assignment, gang, stream)
                .run()
                .context(OutputSnafu)
        })
    }

    /// Writes the hello records of all workers, and a warning if connections were rejected.
    fn write_hellos(&mut self, admitted: &AdmittedPeers) -> Result<(), OutputError> {
        let peers = admitted
            .peers
            .iter()
            .map(|peer| self.record(peer.rank, peer.hello.clone()));
        let records: Vec<_> = [self.record(0, self.hello.clone())]
            .into_iter()
            .chain(peers)
            .collect();
        for record in records {
            self.stream.write(record)?;
        }
        if admitted.rejected.is_empty() {
            return Ok(());
        }
        let rejected = coordinator::format_rejections(&admitted.rejected);
        let message = format!(
            "connections rejected at the rendezvous: {rejected}; their senders did not take part in the attempt"
        );
        self.stream
            .warn(None, WarningReason::UnknownPeerRefused, &message)
    }

    fn record(&self, rank: u32, hello: WorkerHello) -> Record {
        let record = facts::hello_record(self.assignment, rank, hello, &self.started_at);
        Record::Hello(Box::new(record))
    }
}

/// Starts a thread that reads from an admitted peer, and returns the link for sending commands to the peer.
fn connect(
    peer: JoinedPeer,
    assignment: &Assignment,
    sender: &SyncSender<GangEvent>,
) -> Result<WorkerLink, WorkerError> {
    let JoinedPeer {
        rank: peer, reader, ..
    } = peer;
    let (sending, receiving) =
        link::split(reader, &assignment.identity, 0, peer).context(LinkSnafu { peer })?;
    follow::follow_worker(receiving, peer, sender.clone()).context(StartSnafu {
        action: "starting a thread",
    })?;
    Ok(WorkerLink::Remote(sending))
}

/// End of an attempt that failed before its first block.
fn failed(failure: CaseFailure) -> EndRecord {
    EndRecord {
        blocks: 0,
        complete: false,
        failure: Some(failure),
    }
}
