//! The peers' side of the rendezvous: connects to the coordinator and waits for admission. Uses TCP.

use std::io;
use std::net::{TcpStream, ToSocketAddrs};
use std::thread;
use std::time::{Duration, Instant};

use crds::assignment::{AttemptIdentity, Rendezvous};
use crds::record::{CaseFailure, FailureReason};
use snafu::{ResultExt, Snafu};

use super::message::{Envelope, HelloResponse, MAX_HELLO_BYTES, Rejection, WorkerCpus, WorkerHello};
use crate::frame::{self, FrameError, FrameReader};

/// Interval between connection attempts. Retries are needed because the coordinator's pod may still be starting.
const RETRY_INTERVAL: Duration = Duration::from_millis(200);
/// Timeout for one connection attempt.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// Additional time to wait, after the rendezvous timeout, for the coordinator's message that the rendezvous failed.
const GRACE: Duration = Duration::from_secs(10);

/// Failure to join the rendezvous.
#[derive(Debug, Snafu)]
pub enum JoinError {
    /// No connection to the coordinator could be established.
    #[snafu(display(
        "could not connect to the coordinator (rank 0) at {address} within {seconds} s: {source}; check that it is \
         running, that its name resolves and that the port is open"
    ))]
    Unreachable {
        /// Coordinator address.
        address: String,
        /// Rendezvous timeout in seconds.
        seconds: u32,
        /// Error from the last connection attempt.
        source: io::Error,
    },
    /// The connection failed, or the other side does not follow the protocol.
    #[snafu(display("connection to the coordinator at {address} failed: {source}"))]
    Broken {
        /// Coordinator address.
        address: String,
        /// Connection failure.
        source: FrameError,
    },
    /// The coordinator belongs to another attempt.
    #[snafu(display("the coordinator at {address} belongs to another run, plan, leg or attempt"))]
    WrongCoordinator {
        /// Coordinator address.
        address: String,
    },
    /// The coordinator rejected this worker.
    #[snafu(display("{message} ({reason:?})"))]
    Refused {
        /// Reason for the rejection.
        reason: Rejection,
        /// Explanation from the coordinator.
        message: String,
    },
    /// The coordinator reported that the rendezvous failed.
    #[snafu(display("{}", failure.message))]
    Cancelled {
        /// Rendezvous failure.
        failure: CaseFailure,
    },
    /// The worker received SIGTERM or SIGINT.
    #[snafu(display("stopped by a signal during the rendezvous"))]
    Stopped,
}

impl JoinError {
    /// Converts the error to a failure for the records.
    pub fn failure(&self) -> CaseFailure {
        let reason = match self {
            Self::Unreachable { .. } => FailureReason::WorkerMissing,
            Self::Broken { .. } => FailureReason::PeerLost,
            Self::WrongCoordinator { .. } | Self::Refused { .. } => FailureReason::UnknownPeerRefused,
            Self::Cancelled { failure } => failure.reason,
            Self::Stopped => FailureReason::Interrupted,
        };
        CaseFailure {
            reason,
            message: self.to_string(),
        }
    }
}

/// Connects to the coordinator, sends `hello` and waits until all workers have joined.
///
/// `stopped` returns true if this worker has received a signal to stop.
///
/// # Errors
/// Returns an error if the coordinator cannot be reached in time, rejects this worker or cancels the rendezvous.
pub fn join(
    rendezvous: &Rendezvous,
    identity: &AttemptIdentity,
    rank: u32,
    hello: WorkerHello,
    stopped: impl Fn() -> bool,
) -> Result<(WorkerCpus, FrameReader<TcpStream>), JoinError> {
    let start = Instant::now();
    let timeout = Duration::from_secs(rendezvous.timeout_seconds.into());
    let address = format!("{}:{}", rendezvous.host, rendezvous.port);
    let stream = loop {
        match connect(rendezvous) {
            Ok(stream) => break stream,
            Err(_) if stopped() => return StoppedSnafu.fail(),
            Err(_) if start.elapsed() < timeout => thread::sleep(RETRY_INTERVAL),
            Err(source) => {
                let seconds = rendezvous.timeout_seconds;
                return Err(source).context(UnreachableSnafu { address, seconds });
            }
        }
    };
    let connection = Connection {
        reader: FrameReader::new(stream),
        address,
        deadline: start + timeout + GRACE,
    };
    connection.introduce(identity, rank, hello, stopped)
}

/// Connection to the coordinator before the rendezvous.
#[derive(Debug)]
pub struct Connection {
    /// The stream, and the data that has already been read from it.
    pub reader: FrameReader<TcpStream>,
    /// Coordinator address, for error messages.
    pub address: String,
    /// Deadline for the coordinator's response.
    pub deadline: Instant,
}

impl Connection {
    /// Sends `hello` and waits until all workers have joined.
    ///
    /// # Errors
    /// Returns an error if the connection fails, or the coordinator rejects this worker or cancels the rendezvous.
    pub fn introduce(
        self,
        identity: &AttemptIdentity,
        rank: u32,
        hello: WorkerHello,
        stopped: impl Fn() -> bool,
    ) -> Result<(WorkerCpus, FrameReader<TcpStream>), JoinError> {
        let Self {
            mut reader,
            address,
            deadline,
        } = self;
        let envelope = Envelope {
            identity: identity.clone(),
            rank,
            message: hello,
        };
        let sent = reader
            .stream()
            .set_write_timeout(Some(CONNECT_TIMEOUT))
            .map_err(|source| FrameError::Broken { source })
            .and_then(|()| frame::write(&mut reader.stream(), &envelope, MAX_HELLO_BYTES));
        if sent.is_err() && stopped() {
            // The coordinator may also have received the signal and closed the connection.
            return StoppedSnafu.fail();
        }
        sent.context(BrokenSnafu {
            address: address.as_str(),
        })?;
        let line = loop {
            let tick = Instant::now() + RETRY_INTERVAL;
            match reader.read(MAX_HELLO_BYTES, Some(tick.min(deadline))) {
                Err(_) if stopped() => return StoppedSnafu.fail(),
                Err(FrameError::TooSlow) if tick < deadline => {}
                result => {
                    break result.context(BrokenSnafu {
                        address: address.as_str(),
                    })?;
                }
            }
        };
        let response: Envelope<HelloResponse> = serde_json::from_slice(&line)
            .map_err(|source| FrameError::Syntax { source })
            .context(BrokenSnafu {
                address: address.as_str(),
            })?;
        match response.message {
            HelloResponse::Refused { reason, message } => RefusedSnafu { reason, message }.fail(),
            _ if response.identity != *identity || response.rank != 0 => {
                WrongCoordinatorSnafu { address }.fail()
            }
            HelloResponse::Welcome(cpus) => Ok((cpus, reader)),
            HelloResponse::Cancelled(failure) => CancelledSnafu { failure }.fail(),
        }
    }
}

fn connect(rendezvous: &Rendezvous) -> io::Result<TcpStream> {
    let mut last = io::Error::other("the host name did not resolve to an address");
    for address in (rendezvous.host.as_str(), rendezvous.port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, CONNECT_TIMEOUT) {
            Ok(stream) => {
                // Disables Nagle's algorithm, because messages are small and the sender waits for each response.
                stream.set_nodelay(true)?;
                return Ok(stream);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}
