//! Starts and runs a worker. Reads the assignment, installs signal handlers and starts threads.

use std::net::TcpStream;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use crds::assignment::Assignment;
use crds::record::{CaseFailure, EndRecord};
use rustix::process::Signal;
use snafu::ResultExt;

use super::agent::{Agent, Departure, EVENT_CAPACITY};
use super::coordinate::{coordinate, coordinate_with};
use super::coordinator_link::CoordinatorLink;
use super::{
    StartSnafu, WorkerError, WorkerOptions, facts, follow, is_standard_input, lifeline, read_assignment,
    signals,
};
use crate::frame::FrameReader;
use crate::process::end_with_parent;
use crate::rendezvous::message::{WorkerCpus, WorkerHello};
use crate::rendezvous::{link, peer};
use crate::worker_event::WorkerEvent;

/// Runs a worker until it exits.
///
/// # Errors
/// Returns an error if the assignment is invalid or the attempt is not complete; [`WorkerError::status`] is the exit
/// status.
pub fn run(options: &WorkerOptions) -> Result<(), WorkerError> {
    if let Some(parent) = options.parent {
        end_with_parent(parent, Signal::TERM).context(StartSnafu {
            action: "setting the parent-death signal",
        })?;
    }
    let assignment = read_assignment(&options.assignment, options.rank)?;
    if is_standard_input(&options.assignment) {
        lifeline::start().context(StartSnafu {
            action: "starting a thread",
        })?;
    }
    let hello = facts::hello(&assignment, options.rank);
    let end = match (options.rank, &options.server) {
        (0, Some(server)) => coordinate_with(server, assignment)?,
        (0, None) => coordinate(&assignment, hello, options.termination_message.as_deref())?,
        (rank, _) => run_worker(&assignment, rank, hello)?,
    };
    end.failure.map_or(Ok(()), incomplete)
}

/// Runs a worker other than the coordinator: joins the rendezvous and executes commands until the attempt ends.
fn run_worker(assignment: &Assignment, rank: u32, hello: WorkerHello) -> Result<EndRecord, WorkerError> {
    let (sender, events) = sync_channel(EVENT_CAPACITY);
    let stop = sender.clone();
    let stop_flag =
        signals::watch(move |signal| drop(stop.send(WorkerEvent::Stop(signal)))).context(StartSnafu {
            action: "installing the signal handlers",
        })?;
    let identity = &assignment.identity;
    let joined = peer::join(&assignment.rendezvous, identity, rank, hello, || {
        stop_flag.is_set()
    });
    let (cpus, reader) = joined.or_else(|error| incomplete(error.failure()))?;
    follow_coordinator(assignment, rank, cpus, reader, (sender, events))
}

/// Executes the commands that the coordinator sends over an admitted connection until the attempt ends.
///
/// # Errors
/// Returns an error if the attempt is not complete, or a thread cannot be started.
pub(crate) fn follow_coordinator(
    assignment: &Assignment,
    rank: u32,
    cpus: WorkerCpus,
    reader: FrameReader<TcpStream>,
    (sender, events): (SyncSender<WorkerEvent>, Receiver<WorkerEvent>),
) -> Result<EndRecord, WorkerError> {
    let (sender_link, receiver) =
        link::split(reader, &assignment.identity, rank, 0).context(super::LinkSnafu { peer: 0u32 })?;
    follow::follow_coordinator(receiver, sender.clone()).context(StartSnafu {
        action: "starting a thread",
    })?;
    let coordinator = CoordinatorLink::Remote(sender_link);
    match Agent::new(assignment, rank, cpus, coordinator, (sender, events)).run() {
        Departure::Finished(end) => Ok(end),
        Departure::Failed(failure) => incomplete(failure),
    }
}

fn incomplete<T>(failure: CaseFailure) -> Result<T, WorkerError> {
    Err(WorkerError::Incomplete { failure })
}
