//! Reads messages from a connection until it closes, on one thread per connection.

use std::io;
use std::sync::mpsc::SyncSender;
use std::thread;

use crate::rendezvous::link::LinkReader;
use crate::rendezvous::message::WorkerReport;
use crate::session::gang::GangEvent;
use crate::worker_event::WorkerEvent;

/// Forwards the coordinator's commands to `events`, and reports a lost connection there.
///
/// # Errors
/// Returns an error if the thread cannot be started.
pub fn follow_coordinator(mut receiver: LinkReader, events: SyncSender<WorkerEvent>) -> io::Result<()> {
    let follow = move || {
        loop {
            let (event, last) = match receiver.receive() {
                Ok(command) => (WorkerEvent::Command(command), false),
                Err(error) => (WorkerEvent::CoordinatorLost(error.to_string()), true),
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

/// Forwards a worker's reports to `events`, and reports a lost connection there.
///
/// # Errors
/// Returns an error if the thread cannot be started.
pub fn follow_worker(mut receiver: LinkReader, rank: u32, events: SyncSender<GangEvent>) -> io::Result<()> {
    let follow = move || {
        loop {
            let (event, last) = match receiver.receive() {
                // A heartbeat only prevents the read from timing out.
                Ok(WorkerReport::Heartbeat) => continue,
                Ok(report) => (GangEvent::Report { rank, report }, false),
                Err(error) => {
                    let cause = error.to_string();
                    (GangEvent::Lost { rank, cause }, true)
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
