//! A server that listens for workers of rank 0, as the command line of the worker describes it, and the connection to it.
//! Uses TCP and standard error.

use std::io::{self, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::str::FromStr;
use std::thread;
use std::time::{Duration, Instant};

use crds::assignment::{Assignment, RankBinding};
use serde::{Deserialize, Serialize};
use snafu::{ResultExt, Snafu};

use super::connection_rails::connection_rails;
use super::proposal::{ExpectedSegment, Proposal, Refusal, RefusalReason, propose};
use crate::frame::{FrameError, FrameReader};

/// Timeout for one connection attempt.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(3);
/// Interval between connection attempts. The server may still be starting.
const RETRY_INTERVAL: Duration = Duration::from_millis(200);

/// A server that becomes the worker with rank 1.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Server {
    /// Names or addresses of the server, with TCP ports. The first one that can be reached is used.
    pub addresses: Vec<(String, u16)>,
    /// Time to wait for the server to listen and to finish with other clients, in seconds.
    pub timeout_seconds: u64,
    /// Subcommand that starts the server.
    pub role: String,
    /// Segment that the server must have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segment: Option<ExpectedSegment>,
}

impl FromStr for Server {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        serde_json::from_str(text).map_err(|error| format!("it is not the description of a server: {error}"))
    }
}

/// Error returned if a server does not become the worker with rank 1.
#[derive(Debug, Snafu)]
pub enum ServerError {
    /// The server cannot be reached.
    #[snafu(display(
        "cannot connect to {address} within {seconds} s: {source}; start `fabricbench-runner {role}` there with an --addr \
         that this machine can reach, and check the address, the port and firewalls"
    ))]
    Unreachable {
        /// Address and port.
        address: String,
        /// How long the client tried to connect, in seconds.
        seconds: u64,
        /// Subcommand that starts the server.
        role: String,
        /// Error from the last attempt.
        source: io::Error,
    },
    /// The connection failed before the two sides agreed.
    #[snafu(display(
        "{address} did not send a valid response from fabricbench-runner: {source}; check that \
         `fabricbench-runner {role}` of the same version is listening there"
    ))]
    Connection {
        /// Address and port.
        address: String,
        /// Subcommand that starts the server.
        role: String,
        /// Connection failure.
        source: FrameError,
    },
    /// The server refused the request.
    #[snafu(display("the server at {address} refused the request ({:?}): {}", refusal.reason, refusal.message))]
    Refused {
        /// Address and port.
        address: String,
        /// Reason and fix.
        refusal: Refusal,
    },
}

impl ServerError {
    /// Exit status: 2 if the server does not accept the assignment, and 3 for all other errors.
    pub fn status(&self) -> u8 {
        match self {
            Self::Refused { refusal, .. } if refusal.reason != RefusalReason::Busy => 2,
            _ => 3,
        }
    }
}

impl Server {
    /// Proposes `assignment` to the server, as soon as it can be reached and has finished with other clients. If the
    /// assignment names no rails for rank 0, those of the connection are added to it.
    ///
    /// # Errors
    /// Returns an error if the server cannot be reached or refuses the assignment.
    pub(crate) fn open_session(
        &self,
        assignment: &mut Assignment,
    ) -> Result<FrameReader<TcpStream>, ServerError> {
        let proposal = Proposal {
            assignment: without_own_choices(assignment),
            segment: self.segment.clone(),
        };
        assignment
            .bindings
            .resize(assignment.workers as usize, RankBinding::default());
        let deadline = Instant::now() + Duration::from_secs(self.timeout_seconds);
        let mut is_waiting = false;
        loop {
            let (address, stream) = self.connect(deadline)?;
            let role = &self.role;
            match propose(stream, &proposal).context(ConnectionSnafu {
                address: &address,
                role,
            })? {
                Ok(reader) => {
                    if let Some(own) = assignment.bindings.first_mut().filter(|own| own.rails.is_empty()) {
                        own.rails = connection_rails(&assignment.transport, reader.stream());
                    }
                    return Ok(reader);
                }
                Err(refusal) if refusal.reason == RefusalReason::Busy && Instant::now() < deadline => {
                    if !is_waiting {
                        // The note is lost if standard error is closed.
                        let _ = writeln!(
                            io::stderr(),
                            "note: waiting up to {} s for {address}: {}",
                            self.timeout_seconds,
                            refusal.message
                        );
                        is_waiting = true;
                    }
                    thread::sleep(RETRY_INTERVAL);
                }
                Err(refusal) => return Err(ServerError::Refused { address, refusal }),
            }
        }
    }

    /// Connects to the first of the addresses that can be reached before `deadline`.
    fn connect(&self, deadline: Instant) -> Result<(String, TcpStream), ServerError> {
        loop {
            let mut last = io::Error::other("the host name did not resolve to an address");
            for (host, port) in &self.addresses {
                match connect_to(host, *port) {
                    Ok(stream) => return Ok((format!("{host}:{port}"), stream)),
                    Err(error) => last = error,
                }
            }
            if Instant::now() >= deadline {
                let addresses = self.addresses.iter().map(|(host, port)| format!("{host}:{port}"));
                return Err(ServerError::Unreachable {
                    address: addresses.collect::<Vec<_>>().join(" or "),
                    seconds: self.timeout_seconds,
                    role: self.role.clone(),
                    source: last,
                });
            }
            thread::sleep(RETRY_INTERVAL);
        }
    }
}

/// `assignment` without what each side chooses for itself.
fn without_own_choices(assignment: &Assignment) -> Assignment {
    let mut proposed = Assignment {
        bindings: Vec::new(),
        ..assignment.clone()
    };
    for process in &mut proposed.processes {
        process.env.clear();
        process.library = None;
    }
    proposed
}

/// Connects to the first address of `host` that can be reached.
fn connect_to(host: &str, port: u16) -> io::Result<TcpStream> {
    let mut last = io::Error::other("the host name did not resolve to an address");
    for address in (host, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, ATTEMPT_TIMEOUT) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}
