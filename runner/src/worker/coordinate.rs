//! Runs the coordinator: rendezvous, attempt and record stream. The coordinator is also a worker.

use std::io;
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use crds::assignment::Assignment;
use crds::record::{CaseFailure, EndRecord, HelloRecord, Record, WarningReason};
use snafu::ResultExt;

use super::agent::{Agent, EVENT_CAPACITY};
use super::coordinator_link::CoordinatorLink;
use super::{LinkSnafu, OutputSnafu, StartSnafu, WorkerError, facts, follow, signals, termination};
use crate::output::{OutputError, RecordStream};
use crate::rendezvous::coordinator::{self, AdmittedPeers, JoinedPeer};
use crate::rendezvous::link;
use crate::rendezvous::message::WorkerHello;
use crate::session::coordinator::Coordinator;
use crate::session::gang::{Gang, GangEvent, WorkerLink};

/// Runs the attempt, and writes its end record to the stream and to `termination_message`.
///
/// # Errors
/// If a thread cannot be started, a signal handler cannot be installed, or the records cannot be written.
pub fn coordinate(
    assignment: &Assignment,
    hello: WorkerHello,
    termination_message: Option<&Path>,
) -> Result<EndRecord, WorkerError> {
    let started_at = facts::now_rfc3339();
    let mut stream = RecordStream::new(io::stdout());
    // For each worker, the channel has the capacity of a command channel, so that the coordinator and a worker cannot
    // deadlock while each sends to the other.
    let (sender, events) = sync_channel(EVENT_CAPACITY * assignment.workers.max(1) as usize);
    let stop = sender.clone();
    let stop_flag =
        signals::watch(move |signal| drop(stop.send(GangEvent::Stop(signal)))).context(StartSnafu {
            action: "installing the signal handlers",
        })?;
    let rendezvous = &assignment.rendezvous;
    let admitted = coordinator::listen(rendezvous).and_then(|listener| {
        coordinator::wait_for_peers(
            &listener,
            &assignment.identity,
            assignment.workers,
            rendezvous,
            || stop_flag.is_set(),
        )
    });
    let record = |rank, hello| facts::hello_record(assignment, rank, hello, &started_at);
    let end = match admitted {
        Err(error) => {
            let hellos = [record(0, hello)];
            fail_rendezvous(&mut stream, hellos, error.failure()).context(OutputSnafu)?
        }
        Ok(admitted) => {
            let others = admitted
                .peers
                .iter()
                .map(|peer| record(peer.rank, peer.hello.clone()));
            let hellos = [record(0, hello.clone())].into_iter().chain(others);
            write_hellos(&mut stream, hellos, &admitted).context(OutputSnafu)?;
            run_attempt(assignment, &hello, admitted, stream, (sender, events))?
        }
    };
    termination::write(termination_message, &end);
    Ok(end)
}

/// Writes the complete record stream of an attempt whose rendezvous failed.
fn fail_rendezvous(
    stream: &mut RecordStream<io::Stdout>,
    hellos: [HelloRecord; 1],
    failure: CaseFailure,
) -> Result<EndRecord, OutputError> {
    for hello in hellos {
        stream.write(Record::Hello(Box::new(hello)))?;
    }
    let end = EndRecord {
        blocks: 0,
        complete: false,
        failure: Some(failure),
    };
    stream.write(Record::End(end.clone()))?;
    Ok(end)
}

/// Writes the hello records of all workers, and a warning if connections were rejected.
fn write_hellos(
    stream: &mut RecordStream<io::Stdout>,
    hellos: impl Iterator<Item = HelloRecord>,
    admitted: &AdmittedPeers,
) -> Result<(), OutputError> {
    for hello in hellos {
        stream.write(Record::Hello(Box::new(hello)))?;
    }
    if admitted.rejected.is_empty() {
        return Ok(());
    }
    let rejected = coordinator::format_rejections(&admitted.rejected);
    let message = format!(
        "connections rejected at the rendezvous: {rejected}; their senders did not take part in the attempt"
    );
    stream.warn(None, WarningReason::UnknownPeerRefused, &message)
}

/// Runs the attempt after the rendezvous. When this function returns, all worker threads in this process have exited.
fn run_attempt(
    assignment: &Assignment,
    hello: &WorkerHello,
    admitted: AdmittedPeers,
    stream: RecordStream<io::Stdout>,
    (sender, events): (SyncSender<GangEvent>, Receiver<GangEvent>),
) -> Result<EndRecord, WorkerError> {
    let hellos: Vec<_> = [hello]
        .into_iter()
        .chain(admitted.peers.iter().map(|peer| &peer.hello))
        .collect();
    let cpus = facts::assign_cpus(&hellos);
    coordinator::welcome(&admitted, &assignment.identity, &cpus);
    let local_cpus = cpus.into_iter().next().unwrap_or_default();
    let (command_sender, commands) = sync_channel(EVENT_CAPACITY);
    let mut links = vec![WorkerLink::Local(command_sender.clone())];
    for peer in admitted.peers {
        links.push(connect(peer, assignment, &sender)?);
    }
    let gang = Gang::new(links, events);
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
