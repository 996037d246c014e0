//! The coordinator's life: meets the others, drives the attempt, writes the records. It is a worker, too.

use std::io;
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use crds::assignment::Assignment;
use crds::record::{CaseFailure, EndRecord, HelloRecord, Record, WarningReason};
use snafu::ResultExt;

use super::agent::{Agent, MOST_EVENTS};
use super::coordinator_link::ToCoordinator;
use super::{LinkSnafu, OutputSnafu, StartSnafu, WorkerError, facts, follow, signals, termination};
use crate::output::{OutputError, RecordStream};
use crate::rendezvous::host::{self, Guest, Meeting};
use crate::rendezvous::link;
use crate::rendezvous::message::WorkerHello;
use crate::session::coordinator::Coordinator;
use crate::session::gang::{Gang, GangEvent, ToWorker};

/// Runs the attempt to its end, which is also written to `termination_message`.
///
/// # Errors
/// When the machine does not let it start, or nobody reads the records.
pub fn coordinate(
    assignment: &Assignment,
    hello: WorkerHello,
    termination_message: Option<&Path>,
) -> Result<EndRecord, WorkerError> {
    let started_at = facts::now_rfc3339();
    let mut stream = RecordStream::new(io::stdout());
    // As much room for each worker as it has for commands, so that neither ever waits for the other in turn.
    let (sender, events) = sync_channel(MOST_EVENTS * assignment.workers.max(1) as usize);
    let stop = sender.clone();
    let stopping =
        signals::watch(move |signal| drop(stop.send(GangEvent::Stop(signal)))).context(StartSnafu {
            what: "listening for signals",
        })?;
    let rendezvous = &assignment.rendezvous;
    let met = host::listen(rendezvous).and_then(|listener| {
        host::meet(
            &listener,
            &assignment.identity,
            assignment.workers,
            rendezvous,
            || stopping.is_set(),
        )
    });
    let record = |rank, hello| facts::record(assignment, rank, hello, &started_at);
    let end = match met {
        Err(error) => {
            let hellos = [record(0, hello)];
            alone(&mut stream, hellos, error.failure()).context(OutputSnafu)?
        }
        Ok(meeting) => {
            let others = meeting
                .guests
                .iter()
                .map(|guest| record(guest.rank, guest.hello.clone()));
            let hellos = [record(0, hello.clone())].into_iter().chain(others);
            introduce(&mut stream, hellos, &meeting).context(OutputSnafu)?;
            together(assignment, &hello, meeting, stream, (sender, events))?
        }
    };
    termination::write(termination_message, &end);
    Ok(end)
}

/// The whole stream of an attempt whose workers did not meet.
fn alone(
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

/// Writes who is there and who was refused.
fn introduce(
    stream: &mut RecordStream<io::Stdout>,
    hellos: impl Iterator<Item = HelloRecord>,
    meeting: &Meeting,
) -> Result<(), OutputError> {
    for hello in hellos {
        stream.write(Record::Hello(Box::new(hello)))?;
    }
    if meeting.refused.is_empty() {
        return Ok(());
    }
    let refused = host::refused_text(&meeting.refused);
    let message = format!("refused at the rendezvous: {refused}; they had no part in what follows");
    stream.warn(None, WarningReason::UnknownPeerRefused, &message)
}

/// Drives the attempt of workers that have met, and ends with all threads of this process done.
fn together(
    assignment: &Assignment,
    hello: &WorkerHello,
    meeting: Meeting,
    stream: RecordStream<io::Stdout>,
    (sender, events): (SyncSender<GangEvent>, Receiver<GangEvent>),
) -> Result<EndRecord, WorkerError> {
    let hellos: Vec<_> = [hello]
        .into_iter()
        .chain(meeting.guests.iter().map(|guest| &guest.hello))
        .collect();
    let processors = facts::processors(&hellos);
    host::welcome(&meeting, &assignment.identity, &processors);
    let own = processors.into_iter().next().unwrap_or_default();
    let (command_sender, commands) = sync_channel(MOST_EVENTS);
    let mut ways = vec![ToWorker::Here(command_sender.clone())];
    for guest in meeting.guests {
        ways.push(way_to(guest, assignment, &sender)?);
    }
    let gang = Gang::new(ways, events);
    thread::scope(|scope| {
        let here = ToCoordinator::Here(sender);
        let agent = Agent::new(assignment, 0, own, here, (command_sender, commands));
        thread::Builder::new()
            .name("worker".into())
            .spawn_scoped(scope, move || agent.run())
            .context(StartSnafu {
                what: "starting a thread",
            })?;
        Coordinator::new(assignment, gang, stream)
            .run()
            .context(OutputSnafu)
    })
}

fn way_to(
    guest: Guest,
    assignment: &Assignment,
    sender: &SyncSender<GangEvent>,
) -> Result<ToWorker, WorkerError> {
    let Guest {
        rank: peer, reader, ..
    } = guest;
    let (way, receiver) = link::link(reader, &assignment.identity, 0, peer).context(LinkSnafu { peer })?;
    follow::worker(receiver, peer, sender.clone()).context(StartSnafu {
        what: "starting a thread",
    })?;
    Ok(ToWorker::Remote(way))
}
