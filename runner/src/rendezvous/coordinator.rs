//! The coordinator's side of the meeting: listens until every rank is there. Uses TCP.

use std::collections::BTreeMap;
use std::io;
use std::net::{TcpListener, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use crds::assignment::{LegIdentity, Rendezvous};
use crds::record::{CaseFailure, FailureReason};
use snafu::{ResultExt, Snafu};

use super::admission::Admission;
use super::message::{Answer, Envelope, MAX_HELLO_BYTES, Refusal, WorkerCpus, WorkerHello};
use crate::frame::{self, FrameError, FrameReader};

/// How long a connection may take for its first message.
const HELLO_WAIT: Duration = Duration::from_secs(5);
/// How long an answer may take to leave.
const ANSWER_WAIT: Duration = Duration::from_secs(1);
/// Connections looked at at the same time: all workers there can be, and as many strangers.
const MOST_AT_ONCE: usize = 128;
/// How often the stop sign is looked at.
const TICK: Duration = Duration::from_millis(50);

/// Why the workers did not meet.
#[derive(Debug, Snafu)]
pub enum RendezvousError {
    /// The address cannot be listened on.
    #[snafu(display("assignment.rendezvous: cannot listen on {address}: {source}"))]
    Listen {
        /// The address.
        address: String,
        /// What the system says.
        source: io::Error,
    },
    /// Someone did not come.
    #[snafu(display(
        "rank {ranks} did not come within {seconds} s (came: {came} of {workers}; refused: {refused}). Is the \
         worker scheduled and running, does its name resolve, may it connect to port {port}?"
    ))]
    Missing {
        /// The ranks.
        ranks: String,
        /// How long they were waited for.
        seconds: u32,
        /// How many came.
        came: usize,
        /// How many should have come.
        workers: u32,
        /// Who was refused, by reason.
        refused: String,
        /// Where they should have connected to.
        port: u16,
    },
    /// The run was told to stop.
    #[snafu(display("told to stop while the workers met"))]
    Stopped,
}

impl RendezvousError {
    /// As it stands in the records.
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

/// A worker that was let in.
#[derive(Debug)]
pub struct JoinedPeer {
    /// Its rank.
    pub rank: u32,
    /// What it said of itself.
    pub hello: WorkerHello,
    /// Its connection.
    pub reader: FrameReader<TcpStream>,
}

/// Who came.
#[derive(Debug)]
pub struct AdmittedPeers {
    /// All other ranks, in order.
    pub peers: Vec<JoinedPeer>,
    /// Who was refused, by reason.
    pub refused: BTreeMap<Refusal, u32>,
}

/// Listens where `rendezvous` says.
///
/// # Errors
/// When the address cannot be listened on.
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

/// Waits on `listener` until workers 1 to `workers - 1` are there, at most as long as `rendezvous` says, or until
/// `stopped` says so.
///
/// # Errors
/// When a rank is missing at the end, with those named; who came is told.
pub fn wait_for_peers(
    listener: &TcpListener,
    identity: &LegIdentity,
    workers: u32,
    rendezvous: &Rendezvous,
    stopped: impl Fn() -> bool,
) -> Result<AdmittedPeers, RendezvousError> {
    let deadline = Instant::now() + Duration::from_secs(rendezvous.timeout_seconds.into());
    let mut acceptor = Acceptor::new(identity.clone(), workers);
    loop {
        acceptor.greet();
        acceptor.drop_departed();
        if acceptor.peers.len() as u32 == workers - 1 {
            return Ok(AdmittedPeers {
                peers: acceptor.peers.into_values().collect(),
                refused: acceptor.admission.refused().clone(),
            });
        }
        let failed = if stopped() {
            RendezvousError::Stopped
        } else if Instant::now() >= deadline {
            acceptor.missing(workers, rendezvous)
        } else {
            let tick = deadline.min(Instant::now() + TICK);
            if frame::readable(listener, tick).unwrap_or(false) {
                acceptor.accept(listener);
            }
            continue;
        };
        acceptor.cancel(&failed.failure());
        return Err(failed);
    }
}

/// Tells the peers that all are there, and each its processors, which are given by rank.
pub fn welcome(meeting: &AdmittedPeers, identity: &LegIdentity, processors: &[WorkerCpus]) {
    for peer in &meeting.peers {
        let own = processors.get(peer.rank as usize).cloned().unwrap_or_default();
        if let Err(error) = answer(peer.reader.stream(), identity, Answer::Welcome(own)) {
            // Whoever listens to the connection sees its end.
            tracing::warn!(rank = peer.rank, %error, "a worker left as soon as all were there");
        }
    }
}

struct Arrival {
    reader: FrameReader<TcpStream>,
    hello: Result<Box<Envelope<WorkerHello>>, Refusal>,
}

struct Acceptor {
    admission: Admission,
    identity: LegIdentity,
    peers: BTreeMap<u32, JoinedPeer>,
    at_once: Arc<AtomicUsize>,
    sender: SyncSender<Arrival>,
    arrivals: Receiver<Arrival>,
}

impl Acceptor {
    fn new(identity: LegIdentity, workers: u32) -> Self {
        let (sender, arrivals) = sync_channel(MOST_AT_ONCE);
        Self {
            admission: Admission::new(identity.clone(), workers),
            identity,
            peers: BTreeMap::new(),
            at_once: Arc::default(),
            sender,
            arrivals,
        }
    }

    /// Takes a connection; its first message is read by a thread of its own, so that a slow one delays nobody.
    fn accept(&mut self, listener: &TcpListener) {
        let Ok((stream, _)) = listener.accept() else {
            return;
        };
        if self.at_once.load(Ordering::Relaxed) >= MOST_AT_ONCE {
            self.refuse(&stream, Refusal::TooMany);
            return;
        }
        self.at_once.fetch_add(1, Ordering::Relaxed);
        let at_once = Arc::clone(&self.at_once);
        let sender = self.sender.clone();
        let read = move || {
            let mut reader = FrameReader::new(stream);
            let hello = first_message(&mut reader);
            // The door may be closed by now.
            let _ = sender.send(Arrival { reader, hello });
            at_once.fetch_sub(1, Ordering::Relaxed);
        };
        let started = thread::Builder::new().name("greeter".into()).spawn(read);
        if started.is_err() {
            self.at_once.fetch_sub(1, Ordering::Relaxed);
            self.admission.count(Refusal::TooMany);
        }
    }

    fn greet(&mut self) {
        while let Ok(Arrival { reader, hello }) = self.arrivals.try_recv() {
            let judged = hello.and_then(|hello| self.admission.judge(&hello).map(|()| hello));
            let judged = judged.and_then(|hello| {
                let taken = self.peers.get(&hello.rank).is_some_and(is_there);
                if taken { Err(Refusal::RankTaken) } else { Ok(hello) }
            });
            match judged {
                Err(refusal) => self.refuse(reader.stream(), refusal),
                Ok(hello) => {
                    tracing::info!(rank = hello.rank, "a worker came");
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

    /// A worker that died while it waited may come again as another process.
    fn drop_departed(&mut self) {
        self.peers.retain(|rank, peer| {
            let there = is_there(peer);
            if !there {
                tracing::warn!(rank, "a worker left before all were there");
            }
            there
        });
    }

    fn refuse(&mut self, stream: &TcpStream, reason: Refusal) {
        self.admission.count(reason);
        let message = self.admission.explain(reason);
        tracing::warn!(?reason, "a connection was refused");
        // Whoever it is may be gone.
        let _ = answer(stream, &self.identity, Answer::Refused { reason, message });
    }

    fn missing(&self, workers: u32, rendezvous: &Rendezvous) -> RendezvousError {
        let missing: Vec<_> = (1..workers)
            .filter(|rank| !self.peers.contains_key(rank))
            .map(|rank| rank.to_string())
            .collect();
        RendezvousError::Missing {
            ranks: missing.join(", "),
            seconds: rendezvous.timeout_seconds,
            came: self.peers.len() + 1,
            workers,
            refused: refused_text(self.admission.refused()),
            port: rendezvous.port,
        }
    }

    fn cancel(&self, failure: &CaseFailure) {
        for peer in self.peers.values() {
            // Whoever is gone needs no answer.
            let _ = answer(
                peer.reader.stream(),
                &self.identity,
                Answer::Cancelled(failure.clone()),
            );
        }
    }
}

/// Who was refused, in words: `2 Garbage, 1 OtherRun`, or `nobody`.
pub fn refused_text(refused: &BTreeMap<Refusal, u32>) -> String {
    if refused.is_empty() {
        return "nobody".into();
    }
    let counts: Vec<_> = refused
        .iter()
        .map(|(reason, count)| format!("{count} {reason:?}"))
        .collect();
    counts.join(", ")
}

fn first_message(reader: &mut FrameReader<TcpStream>) -> Result<Box<Envelope<WorkerHello>>, Refusal> {
    let blocking = reader.stream().set_nonblocking(false);
    let line = blocking.map_err(|_| Refusal::Garbage).and_then(|()| {
        match reader.read(MAX_HELLO_BYTES, Some(Instant::now() + HELLO_WAIT)) {
            Ok(line) => Ok(line),
            Err(FrameError::TooLong { .. }) => Err(Refusal::TooLong),
            Err(FrameError::TooSlow) => Err(Refusal::TooSlow),
            Err(_) => Err(Refusal::Garbage),
        }
    })?;
    serde_json::from_slice(&line).map_err(|_| Refusal::Garbage)
}

/// A waiting guest says nothing, so anything to read is its end.
fn is_there(peer: &JoinedPeer) -> bool {
    !frame::readable(peer.reader.stream(), Instant::now()).unwrap_or(true)
}

fn answer(stream: &TcpStream, identity: &LegIdentity, message: Answer) -> Result<(), FrameError> {
    let envelope = Envelope {
        identity: identity.clone(),
        rank: 0,
        message,
    };
    let mut stream = stream;
    stream
        .set_write_timeout(Some(ANSWER_WAIT))
        .map_err(|source| FrameError::Broken { source })?;
    frame::write(&mut stream, &envelope, MAX_HELLO_BYTES)
}
