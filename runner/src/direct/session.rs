//! A server's session with one client: waits for a valid request and becomes the client's worker. Uses TCP and standard
//! error.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel};
use std::thread;
use std::time::{Duration, Instant};

use crds::assignment::{Assignment, RankBinding, Rendezvous};
use crds::printable::printable_on_one_line;
use crds::record::EndRecord;

use super::DirectError;
use super::limits::Limits;
use crate::frame::{self, FrameReader};
use crate::rendezvous::connection_rails::connection_rails;
use crate::rendezvous::peer::Connection;
use crate::rendezvous::proposal;
use crate::worker::signals::StopFlag;
use crate::worker::{WorkerError, facts, follow_coordinator};
use crate::worker_event::WorkerEvent;

/// Interval at which the stop flag is checked while a server waits for a client.
const TICK: Duration = Duration::from_millis(50);
/// Maximum time for the client to send its welcome message after its proposal was accepted.
const WELCOME_TIMEOUT: Duration = Duration::from_secs(30);

/// Rank of the server. The client has rank 0, coordinates and posts first.
pub(super) const SERVER: u32 = 1;

/// Choices that each side makes for itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LocalChoices {
    /// Directory whose libraries are loaded instead of the system libraries.
    pub library: Option<String>,
    /// Source address or device name of each rail. If empty, the worker chooses the rails.
    pub rails: Vec<String>,
    /// Environment variables to set for the instrument, in addition to those of this process.
    pub env: BTreeMap<String, String>,
}

/// Client whose proposal was accepted.
pub(super) struct Client {
    /// The assignment that the client proposed.
    pub assignment: Assignment,
    /// Reader for the connection to the client.
    pub reader: FrameReader<TcpStream>,
    /// The client's address.
    pub address: String,
}

impl Client {
    /// Completes the client's assignment with the choices of this side. `choose` gets the rails of the connection. `listener`
    /// is the address that the client has connected to.
    pub(super) fn complete(
        &mut self,
        listener: SocketAddr,
        choose: impl FnOnce(Vec<String>) -> LocalChoices,
    ) {
        let assignment = &mut self.assignment;
        let choices = choose(connection_rails(&assignment.transport, self.reader.stream()));
        assignment.rendezvous = Rendezvous {
            host: self.address.clone(),
            bind: listener.ip().to_string(),
            port: listener.port(),
            timeout_seconds: WELCOME_TIMEOUT.as_secs() as u32,
        };
        for process in &mut assignment.processes {
            process.env = choices.env.clone();
            process.library = choices.library.clone();
        }
        // Each side reads only the element for its own rank.
        assignment.bindings = vec![
            RankBinding {
                rails: choices.rails,
                cpus: Vec::new(),
            };
            assignment.workers as usize
        ];
    }

    /// Accepts the client and executes its commands until the attempt ends or `limit` has passed.
    ///
    /// # Errors
    /// Returns an error if the connection fails or the attempt is not complete.
    pub(super) fn serve(
        self,
        limit: Duration,
        (sender, events): (SyncSender<WorkerEvent>, Receiver<WorkerEvent>),
        stop: &StopFlag,
    ) -> Result<(), DirectError> {
        let assignment = &self.assignment;
        let hello = facts::hello(assignment, SERVER);
        proposal::accept(&self.reader).map_err(|source| DirectError::Client {
            address: self.address.clone(),
            source,
        })?;
        let connection = Connection {
            reader: self.reader,
            address: self.address,
            deadline: Instant::now() + WELCOME_TIMEOUT,
        };
        let (cpus, reader) = connection
            .introduce(&assignment.identity, SERVER, hello, || stop.is_set())
            .map_err(|error| WorkerError::Incomplete {
                failure: error.failure(),
            })?;
        // The time limit is removed when this value is dropped.
        let _limit = start_time_limit(limit, sender.clone())?;
        let end: EndRecord = follow_coordinator(assignment, SERVER, cpus, reader, (sender, events))?;
        match end.failure {
            None => Ok(()),
            Some(failure) => Err(DirectError::Incomplete { failure }),
        }
    }
}

/// Listens on `address` and `port`.
///
/// # Errors
/// Returns an error if the address cannot be used.
pub(super) fn listen(address: &str, port: u16) -> Result<TcpListener, DirectError> {
    let open = || {
        let addresses: Vec<_> = (address, port).to_socket_addrs()?.collect();
        let listener = TcpListener::bind(addresses.as_slice())?;
        listener.set_nonblocking(true)?;
        Ok(listener)
    };
    open().map_err(|source| DirectError::Listen {
        address: format!("{address}:{port}"),
        source,
    })
}

/// Waits for a valid request while `should_continue` returns true. Returns `None` as soon as `should_continue` returns
/// false.
pub(super) fn wait_for_client(
    listener: &TcpListener,
    limits: &Limits,
    mut should_continue: impl FnMut() -> bool,
) -> Option<Client> {
    while should_continue() {
        if !frame::wait_until_readable(listener, Instant::now() + TICK).unwrap_or(false) {
            continue;
        }
        let Ok((stream, address)) = listener.accept() else {
            continue;
        };
        if stream.set_nonblocking(false).is_err() {
            continue;
        }
        match proposal::receive(stream, limits.client(), |proposal| limits.check(proposal)) {
            Ok((proposal, reader)) => {
                return Some(Client {
                    assignment: proposal.assignment,
                    reader,
                    address: address.to_string(),
                });
            }
            Err(refusal) => {
                // If standard error is closed, the refusal cannot be reported.
                let _ = writeln!(
                    io::stderr(),
                    "refused {address} ({:?}): {}",
                    refusal.reason,
                    printable_on_one_line(&refusal.message)
                );
            }
        }
    }
    None
}

/// Ends the session after `limit`, so that a client cannot occupy the server indefinitely. The limit is removed when
/// the returned value is dropped.
fn start_time_limit(limit: Duration, sender: SyncSender<WorkerEvent>) -> Result<Sender<()>, DirectError> {
    let (guard, ended) = channel::<()>();
    let wait = move || {
        if ended.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
            // The send fails if the session has ended.
            let _ = sender.send(WorkerEvent::Stop("--time-limit"));
        }
    };
    thread::Builder::new()
        .name("time-limit".into())
        .spawn(wait)
        .map_err(|source| DirectError::System {
            action: "starting a thread",
            source,
        })?;
    Ok(guard)
}
