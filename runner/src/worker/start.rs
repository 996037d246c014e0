//! From the command line to the exit. Reads the assignment, listens for signals, starts threads.

use std::sync::mpsc::sync_channel;

use crds::assignment::Assignment;
use crds::record::{CaseFailure, EndRecord};
use rustix::process::Signal;
use snafu::ResultExt;

use super::agent::{Agent, Departure, MOST_EVENTS};
use super::coordinate::coordinate;
use super::coordinator_link::CoordinatorLink;
use super::event::WorkerEvent;
use super::{StartSnafu, WorkerError, WorkerOptions, facts, follow, read_assignment, signals};
use crate::process::end_with_parent;
use crate::rendezvous::message::WorkerHello;
use crate::rendezvous::{link, peer};

/// Runs a worker to its end.
///
/// # Errors
/// When the assignment is wrong or the attempt does not come to its end; [`WorkerError::status`] is the exit status.
pub fn run(options: &WorkerOptions) -> Result<(), WorkerError> {
    if let Some(parent) = options.parent {
        end_with_parent(parent, Signal::TERM).context(StartSnafu {
            what: "tying this worker to the process that started it",
        })?;
    }
    let assignment = read_assignment(&options.assignment, options.rank)?;
    let hello = facts::hello(&assignment, options.rank);
    let end = match options.rank {
        0 => coordinate(&assignment, hello, options.termination_message.as_deref())?,
        rank => run_worker(&assignment, rank, hello)?,
    };
    end.failure.map_or(Ok(()), incomplete)
}

/// The life of every worker but the coordinator: comes, does what it is told, leaves.
fn run_worker(assignment: &Assignment, rank: u32, hello: WorkerHello) -> Result<EndRecord, WorkerError> {
    let (sender, events) = sync_channel(MOST_EVENTS);
    let stop = sender.clone();
    let stopping =
        signals::watch(move |signal| drop(stop.send(WorkerEvent::Stop(signal)))).context(StartSnafu {
            what: "listening for signals",
        })?;
    let identity = &assignment.identity;
    let joined = peer::join(&assignment.rendezvous, identity, rank, hello, || {
        stopping.is_set()
    });
    let (processors, reader) = joined.or_else(|error| incomplete(error.failure()))?;
    let (way, receiver) = link::split(reader, identity, rank, 0).context(super::LinkSnafu { peer: 0u32 })?;
    follow::coordinator(receiver, sender.clone()).context(StartSnafu {
        what: "starting a thread",
    })?;
    let coordinator = CoordinatorLink::Remote(way);
    match Agent::new(assignment, rank, processors, coordinator, (sender, events)).run() {
        Departure::Finished(end) => Ok(end),
        Departure::Failed(failure) => incomplete(failure),
    }
}

fn incomplete<T>(failure: CaseFailure) -> Result<T, WorkerError> {
    Err(WorkerError::Incomplete { failure })
}
