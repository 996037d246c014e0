//! The coordinator's side of the rendezvous: listens until every rank has joined. Uses TCP.

use std::collections::BTreeMap;
use std::io;
use std::net::{TcpListener, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use crds::assignment::{AttemptIdentity, Rendezvous};
use crds::record::{CaseFailure, FailureReason};
use snafu::{ResultExt, Snafu};

use super::admission::Admission;
use super::message::{Envelope, HelloResponse, MAX_HELLO_BYTES, Rejection, WorkerCpus, WorkerHello};
use crate::frame::{self, FrameError, FrameReader};
use crate::rank_list::rank_list;

/// Timeout for the first message on a connection.
const HELLO_TIMEOUT: Duration = Duration::from_secs(5);
/// Timeout for sending a response.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(1);
/// Maximum number of connections whose first message is being read: twice the maximum number of workers, to leave room
/// for unknown peers.
const MAX_PENDING: usize = 128;
/// Interval at which the stop flag is checked.
const TICK: Duration = Duration::from_millis(50);

/// Rendezvous failure on the coordinator's side.
#[derive(Debug, Snafu)]
pub enum RendezvousError {
    /// The coordinator cannot listen on the address.
    #[snafu(display("assignment.rendezvous: cannot listen on {address}: {source}"))]
    Listen {
        /// Address and port.
        address: String,
        /// Error returned by the system call.
        source: io::Error,
    },
    /// Not all ranks joined in time.
    #[snafu(display(
        "{ranks} did not join within {seconds} s ({joined} of {workers} workers joined; rejected connections: \
         {rejected}); check that the worker is scheduled and running, that the coordinator's name resolves and that \
         the worker may connect to port {port}"
    ))]
    Missing {
        /// The missing ranks, such as `ranks 1 and 3`.
        ranks: String,
        /// Rendezvous timeout in seconds.
        seconds: u32,
        /// Number of workers that joined, including the coordinator.
        joined: usize,
        /// Number of workers in the attempt.
        workers: u32,
        /// Rejected connection counts by reason, formatted for the message.
        rejected: String,
        /// Coordinator port.
        port: u16,
    },
    /// The coordinator received SIGTERM or SIGINT.
    #[snafu(display("stopped by a signal during the rendezvous"))]
    Stopped,
}

impl RendezvousError {
    /// Converts the error to a failure for the records.
    pub fn failure(&self) -> CaseFailure {
        let reason = match self {
            Self::Listen { .. } => FailureReason::InvalidAssignment,
            Self::Missing { .. } => FailureReason::WorkerMissing,
            Self::Stopped => FailureReason::Interrupted,
        };
        CaseFailure {
            reason,
            message: self.to_string(),
        }
    }
}

/// A worker that was admitted.
#[derive(Debug)]
pub struct JoinedPeer {
    /// Worker rank.
    pub rank: u32,
    /// First message from the worker.
    pub hello: WorkerHello,
    /// Connection to the worker.
    pub reader: FrameReader<TcpStream>,
}

/// Result of a successful rendezvous.
#[derive(Debug)]
pub struct AdmittedPeers {
    /// All ranks except the coordinator, in rank order.
    pub peers: Vec<JoinedPeer>,
    /// Number of rejected connections, by reason.
    pub rejected: BTreeMap<Rejection, u32>,
}

/// Listens on the address of `rendezvous`.
///
/// # Errors
/// Returns an error if the name does not resolve or the port cannot be bound.
pub fn listen(rendezvous: &Rendezvous) -> Result<TcpListener, RendezvousError> {
    let address = format!("{}:{}", rendezvous.bind, rendezvous.port);
    let open = || {
        let addresses: Vec<_> = (rendezvous.bind.as_str(), rendezvous.port)
            .to_socket_addrs()?
            .collect();
        let listener = TcpListener::bind(addresses.as_slice())?;
        listener.set_nonblocking(true)?;
        Ok(listener)
    };
    open().context(ListenSnafu { address })
}

/// Waits on `listener` until ranks 1 to `workers - 1` have joined, the `rendezvous` timeout expires, or `stopped`
/// returns true.
///
/// # Errors
/// Returns an error if ranks are missing when the timeout expires, or the coordinator was stopped. In both cases, the
/// joined peers are notified.
pub fn wait_for_peers(
    listener: &TcpListener,
    identity: &AttemptIdentity,
    workers: u32,
    rendezvous: &Rendezvous,
    stopped: impl Fn() -> bool,
) -> Result<AdmittedPeers, RendezvousError> {
    let deadline = Instant::now() + Duration::from_secs(rendezvous.timeout_seconds.into());
    let mut acceptor = Acceptor::new(identity.clone(), workers);
    loop {
        acceptor.admit_arrivals();
        acceptor.drop_disconnected();
        if acceptor.peers.len() as u32 == workers - 1 {
            return Ok(AdmittedPeers {
                peers: acceptor.peers.into_values().collect(),
                rejected: acceptor.admission.rejection_counts().clone(),
            });
        }
        let error = if stopped() {
            RendezvousError::Stopped
        } else if Instant::now() >= deadline {
            acceptor.missing_workers_error(workers, rendezvous)
        } else {
            let tick = deadline.min(Instant::now() + TICK);
            if frame::wait_until_readable(listener, tick).unwrap_or(false) {
                acceptor.accept(listener);
            }
            continue;
        };
        acceptor.cancel(&error.failure());
        return Err(error);
    }
}

/// Admits the only peer of an attempt with two workers over `reader`, a connection that is already open.
///
/// # Errors
/// Returns the attempt's failure if the peer is rejected. The peer is notified.
pub(crate) fn admit_connected(
    mut reader: FrameReader<TcpStream>,
    identity: &AttemptIdentity,
) -> Result<AdmittedPeers, CaseFailure> {
    let admission = Admission::new(identity.clone(), 2);
    let hello = read_first_message(&mut reader).and_then(|hello| admission.check(&hello).map(|()| hello));
    match hello {
        Ok(hello) => Ok(AdmittedPeers {
            peers: vec![JoinedPeer {
                rank: hello.rank,
                hello: hello.message,
                reader,
            }],
            rejected: BTreeMap::new(),
        }),
        Err(reason) => {
            let message = admission.describe(reason);
            let refused = HelloResponse::Refused {
                reason,
                message: message.clone(),
            };
            // The peer may have disconnected.
            let _ = send_response(reader.stream(), identity, refused);
            Err(CaseFailure {
                reason: FailureReason::UnknownPeerRefused,
                message,
            })
        }
    }
}

/// Notifies the peers that all workers have joined, and sends each peer its CPUs. `cpus` is indexed by rank.
pub fn welcome(admitted: &AdmittedPeers, identity: &AttemptIdentity, cpus: &[WorkerCpus]) {
    for peer in &admitted.peers {
        let peer_cpus = cpus.get(peer.rank as usize).cloned().unwrap_or_default();
        if let Err(error) = send_response(peer.reader.stream(), identity, HelloResponse::Welcome(peer_cpus)) {
            // The thread that reads from the connection handles the disconnection.
            tracing::warn!(rank = peer.rank, %error, "a worker disconnected just after all workers had joined");
        }
    }
}

struct Arrival {
    reader: FrameReader<TcpStream>,
    hello: Result<Box<Envelope<WorkerHello>>, Rejection>,
}

struct Acceptor {
    admission: Admission,
    identity: AttemptIdentity,
    peers: BTreeMap<u32, JoinedPeer>,
    pending: Arc<AtomicUsize>,
    sender: SyncSender<Arrival>,
    arrivals: Receiver<Arrival>,
}

impl Acceptor {
    fn new(identity: AttemptIdentity, workers: u32) -> Self {
        let (sender, arrivals) = sync_channel(MAX_PENDING);
        Self {
            admission: Admission::new(identity.clone(), workers),
            identity,
            peers: BTreeMap::new(),
            pending: Arc::default(),
            sender,
            arrivals,
        }
    }

    /// Accepts a connection. A separate thread reads its first message, so that a slow sender does not delay others.
    fn accept(&mut self, listener: &TcpListener) {
        let Ok((stream, _)) = listener.accept() else {
            return;
        };
        if self.pending.load(Ordering::Relaxed) >= MAX_PENDING {
            self.reject(&stream, Rejection::TooMany);
            return;
        }
        self.pending.fetch_add(1, Ordering::Relaxed);
        let pending = Arc::clone(&self.pending);
        let sender = self.sender.clone();
        let read = move || {
            let mut reader = FrameReader::new(stream);
            let hello = read_first_message(&mut reader);
            // Sending fails if the acceptor has finished.
            let _ = sender.send(Arrival { reader, hello });
            pending.fetch_sub(1, Ordering::Relaxed);
        };
        let started = thread::Builder::new().name("hello-reader".into()).spawn(read);
        if started.is_err() {
            self.pending.fetch_sub(1, Ordering::Relaxed);
            self.admission.record_rejection(Rejection::TooMany);
        }
    }

    /// Admits or rejects the connections whose first message has been read.
    fn admit_arrivals(&mut self) {
        while let Ok(Arrival { reader, hello }) = self.arrivals.try_recv() {
            let checked = hello.and_then(|hello| self.admission.check(&hello).map(|()| hello));
            let checked = checked.and_then(|hello| {
                let taken = self.peers.get(&hello.rank).is_some_and(is_connected);
                if taken {
                    Err(Rejection::RankTaken)
                } else {
                    Ok(hello)
                }
            });
            match checked {
                Err(rejection) => self.reject(reader.stream(), rejection),
                Ok(hello) => {
                    tracing::info!(rank = hello.rank, "a worker joined");
                    let peer = JoinedPeer {
                        rank: hello.rank,
                        hello: hello.message,
                        reader,
                    };
                    self.peers.insert(hello.rank, peer);
                }
            }
        }
    }

    /// Removes peers that disconnected while waiting, so that a restarted worker can join with the same rank.
    fn drop_disconnected(&mut self) {
        self.peers.retain(|rank, peer| {
            let connected = is_connected(peer);
            if !connected {
                tracing::warn!(rank, "a worker disconnected before all workers had joined");
            }
            connected
        });
    }

    fn reject(&mut self, stream: &TcpStream, reason: Rejection) {
        self.admission.record_rejection(reason);
        let message = self.admission.describe(reason);
        tracing::warn!(?reason, "rejected a connection");
        // The sender may have disconnected.
        let _ = send_response(stream, &self.identity, HelloResponse::Refused { reason, message });
    }

    fn missing_workers_error(&self, workers: u32, rendezvous: &Rendezvous) -> RendezvousError {
        let missing: Vec<u32> = (1..workers)
            .filter(|rank| !self.peers.contains_key(rank))
            .collect();
        RendezvousError::Missing {
            ranks: rank_list(&missing),
            seconds: rendezvous.timeout_seconds,
            joined: self.peers.len() + 1,
            workers,
            rejected: format_rejections(self.admission.rejection_counts()),
            port: rendezvous.port,
        }
    }

    /// Notifies the joined peers that the rendezvous failed.
    fn cancel(&self, failure: &CaseFailure) {
        for peer in self.peers.values() {
            // The peer may have disconnected.
            let _ = send_response(
                peer.reader.stream(),
                &self.identity,
                HelloResponse::Cancelled(failure.clone()),
            );
        }
    }
}

/// Formats rejected connection counts by reason, such as `2 Garbage, 1 OtherRun`, or `none`.
pub fn format_rejections(rejected: &BTreeMap<Rejection, u32>) -> String {
    if rejected.is_empty() {
        return "none".into();
    }
    let counts: Vec<_> = rejected
        .iter()
        .map(|(reason, count)| format!("{count} {reason:?}"))
        .collect();
    counts.join(", ")
}

fn read_first_message(reader: &mut FrameReader<TcpStream>) -> Result<Box<Envelope<WorkerHello>>, Rejection> {
    let blocking = reader.stream().set_nonblocking(false);
    let line = blocking.map_err(|_| Rejection::Garbage).and_then(|()| {
        match reader.read(MAX_HELLO_BYTES, Some(Instant::now() + HELLO_TIMEOUT)) {
            Ok(line) => Ok(line),
            Err(FrameError::TooLong { .. }) => Err(Rejection::TooLong),
            Err(FrameError::TooSlow) => Err(Rejection::TooSlow),
            Err(_) => Err(Rejection::Garbage),
        }
    })?;
    serde_json::from_slice(&line).map_err(|_| Rejection::Garbage)
}

/// Whether a waiting peer is still connected. Peers send nothing while they wait, so a readable stream has ended.
fn is_connected(peer: &JoinedPeer) -> bool {
    !frame::wait_until_readable(peer.reader.stream(), Instant::now()).unwrap_or(true)
}

fn send_response(
    stream: &TcpStream,
    identity: &AttemptIdentity,
    message: HelloResponse,
) -> Result<(), FrameError> {
    let envelope = Envelope {
        identity: identity.clone(),
        rank: 0,
        message,
    };
    let mut stream = stream;
    stream
        .set_write_timeout(Some(RESPONSE_TIMEOUT))
        .map_err(|source| FrameError::Broken { source })?;
    frame::write(&mut stream, &envelope, MAX_HELLO_BYTES)
}
