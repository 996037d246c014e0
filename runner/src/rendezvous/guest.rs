//! The side of the workers that come: connects to the coordinator until it is let in. Uses TCP.

use std::io;
use std::net::{TcpStream, ToSocketAddrs};
use std::thread;
use std::time::{Duration, Instant};

use crds::assignment::{LegIdentity, Rendezvous};
use crds::record::{CaseFailure, FailureReason};
use snafu::{ResultExt, Snafu};

use super::message::{Answer, Envelope, MAX_HELLO_BYTES, Processors, Refusal, WorkerHello};
use crate::frame::{self, FrameError, FrameReader};

/// Time between two attempts to connect: the coordinator's pod may still be starting.
const RETRY: Duration = Duration::from_millis(200);
/// How long one attempt may take.
const CONNECT_WAIT: Duration = Duration::from_secs(3);
/// How long after the rendezvous timeout the coordinator's own word on it is waited for.
const GRACE: Duration = Duration::from_secs(10);

/// Why a worker was not let in.
#[derive(Debug, Snafu)]
pub enum JoinError {
    /// Nobody answers.
    #[snafu(display(
        "the coordinator (rank 0) cannot be reached at {address} within {seconds} s: {source}. Is it running, \
         does its name resolve, is the port open?"
    ))]
    Unreachable {
        /// Where it should be.
        address: String,
        /// How long it was tried.
        seconds: u32,
        /// The last attempt's failure.
        source: io::Error,
    },
    /// Someone is there and does not speak as a coordinator does.
    #[snafu(display("the coordinator at {address} broke off: {source}"))]
    Broken {
        /// Where it is.
        address: String,
        /// What went wrong.
        source: FrameError,
    },
    /// The coordinator belongs to another attempt.
    #[snafu(display("the coordinator at {address} belongs to another run, plan, leg or attempt"))]
    OtherCoordinator {
        /// Where it is.
        address: String,
    },
    /// The coordinator does not want this worker.
    #[snafu(display("{message} ({reason:?})"))]
    Refused {
        /// Why.
        reason: Refusal,
        /// In the coordinator's words.
        message: String,
    },
    /// The meeting failed.
    #[snafu(display("{}", failure.message))]
    Cancelled {
        /// Why.
        failure: CaseFailure,
    },
    /// The run was told to stop.
    #[snafu(display("told to stop while the workers met"))]
    Stopped,
}

impl JoinError {
    /// As it stands in the records.
    pub fn failure(&self) -> CaseFailure {
        let reason = match self {
            Self::Unreachable { .. } => FailureReason::WorkerMissing,
            Self::Broken { .. } => FailureReason::PeerLost,
            Self::OtherCoordinator { .. } | Self::Refused { .. } => FailureReason::UnknownPeerRefused,
            Self::Cancelled { failure } => failure.reason,
            Self::Stopped => FailureReason::Interrupted,
        };
        CaseFailure {
            reason,
            message: self.to_string(),
        }
    }
}

/// Connects to the coordinator, says `hello` and waits until all workers are there.
///
/// # Errors
/// When the coordinator cannot be reached in time, refuses this worker or sends all home.
pub fn join(
    rendezvous: &Rendezvous,
    identity: &LegIdentity,
    rank: u32,
    hello: WorkerHello,
    stopped: impl Fn() -> bool,
) -> Result<(Processors, FrameReader<TcpStream>), JoinError> {
    let began = Instant::now();
    let patience = Duration::from_secs(rendezvous.timeout_seconds.into());
    let address = format!("{}:{}", rendezvous.host, rendezvous.port);
    let mut stream = loop {
        match connect(rendezvous) {
            Ok(stream) => break stream,
            Err(_) if stopped() => return StoppedSnafu.fail(),
            Err(_) if began.elapsed() < patience => thread::sleep(RETRY),
            Err(source) => {
                let seconds = rendezvous.timeout_seconds;
                return Err(source).context(UnreachableSnafu { address, seconds });
            }
        }
    };
    let envelope = Envelope {
        identity: identity.clone(),
        rank,
        message: hello,
    };
    let said = stream
        .set_write_timeout(Some(CONNECT_WAIT))
        .map_err(|source| FrameError::Broken { source })
        .and_then(|()| frame::write(&mut stream, &envelope, MAX_HELLO_BYTES));
    if said.is_err() && stopped() {
        // A coordinator that was told to stop, too, may have closed the connection.
        return StoppedSnafu.fail();
    }
    said.context(BrokenSnafu {
        address: address.as_str(),
    })?;
    let mut reader = FrameReader::new(stream);
    let deadline = began + patience + GRACE;
    let line = loop {
        let tick = Instant::now() + RETRY;
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
    let answer: Envelope<Answer> = serde_json::from_slice(&line)
        .map_err(|source| FrameError::Syntax { source })
        .context(BrokenSnafu {
            address: address.as_str(),
        })?;
    match answer.message {
        Answer::Refused { reason, message } => RefusedSnafu { reason, message }.fail(),
        _ if answer.identity != *identity || answer.rank != 0 => OtherCoordinatorSnafu { address }.fail(),
        Answer::Welcome(processors) => Ok((processors, reader)),
        Answer::Cancelled(failure) => CancelledSnafu { failure }.fail(),
    }
}

fn connect(rendezvous: &Rendezvous) -> io::Result<TcpStream> {
    let mut last = io::Error::other("the name has no address");
    for address in (rendezvous.host.as_str(), rendezvous.port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, CONNECT_WAIT) {
            Ok(stream) => {
                // Messages are small and answers are waited for.
                stream.set_nodelay(true)?;
                return Ok(stream);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}
