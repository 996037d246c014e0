//! Listens to a connection for as long as it lives. One thread for each.

use std::io;
use std::sync::mpsc::SyncSender;
use std::thread;

use super::event::WorkerEvent;
use crate::rendezvous::link::LinkReader;
use crate::rendezvous::message::Report;
use crate::session::gang::GangEvent;

/// Passes the coordinator's commands on, and its end.
///
/// # Errors
/// When no thread can be started.
pub fn coordinator(mut receiver: LinkReader, events: SyncSender<WorkerEvent>) -> io::Result<()> {
    let follow = move || {
        loop {
            let (event, last) = match receiver.receive() {
                Ok(command) => (WorkerEvent::Command(command), false),
                Err(error) => (WorkerEvent::CoordinatorGone(error.to_string()), true),
            };
            if events.send(event).is_err() || last {
                return;
            }
        }
    };
    thread::Builder::new()
        .name("commands".into())
        .spawn(follow)
        .map(drop)
}

/// Passes a worker's reports on, and its end.
///
/// # Errors
/// When no thread can be started.
pub fn worker(mut receiver: LinkReader, rank: u32, events: SyncSender<GangEvent>) -> io::Result<()> {
    let follow = move || {
        loop {
            let (event, last) = match receiver.receive() {
                // Hearing it was all it was for.
                Ok(Report::Heartbeat) => continue,
                Ok(report) => (GangEvent::Report { rank, report }, false),
                Err(error) => {
                    let how = error.to_string();
                    (GangEvent::Lost { rank, how }, true)
                }
            };
            if events.send(event).is_err() || last {
                return;
            }
        }
    };
    thread::Builder::new()
        .name("reports".into())
        .spawn(follow)
        .map(drop)
}
