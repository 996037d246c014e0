//! Measurements between two machines without a cluster, with the roles, scenarios and flags of the Starway benchmark
//! suite: `serve` on one machine and `connect` on the other, or `loopback` for both sides on one machine. [`segment`] has
//! the roles of the Transfer Engine Benchmark.
//!
//! The client sends a [`request`](request::Request) over a TCP connection that it opens. Each side builds the same
//! [assignment](assignment) from the request and becomes a worker in this assignment: the client is rank 0, which
//! coordinates and posts first, and the server is rank 1. From then on, the connection is the link between the two
//! workers, and the client turns the [records](records) into [figures].
//!
//! [`serve`], [`session`], [`connect`], [`loopback`], [`segment`], [`measurement`], [`negotiate`], [`records`] and [`trace`] perform I/O. The other modules do
//! not.

pub mod assignment;
pub mod connect;
pub mod figures;
pub mod flags;
pub mod loopback;
pub mod measurement;
pub mod negotiate;
pub mod records;
pub mod report;
pub mod request;
pub mod segment;
pub mod serve;
mod session;
mod software;
pub mod text;
pub mod trace;

use std::io::{self, Write};
use std::net::{IpAddr, TcpStream};
use std::path::PathBuf;

use crds::record::CaseFailure;
use crds::v1alpha1::TransportSpec;
use snafu::Snafu;

use crate::worker::WorkerError;
use negotiate::{NegotiationError, Refusal};
use request::{Request, RequestError};
use segment::metadata::MetadataError;

/// Reason why a role failed.
#[derive(Debug, Snafu)]
pub enum DirectError {
    /// The flags or the request are invalid.
    #[snafu(display("{source}"), context(false))]
    Request {
        /// Validation error.
        source: RequestError,
    },
    /// The address cannot be used.
    #[snafu(display("cannot listen on {address}: {source}; choose another --addr or --port"))]
    Listen {
        /// Address and port.
        address: String,
        /// Error of the system call.
        source: io::Error,
    },
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
        role: &'static str,
        /// Error of the last attempt.
        source: io::Error,
    },
    /// The two sides could not agree on a measurement.
    #[snafu(display("{source}"), context(false))]
    Negotiation {
        /// Reason.
        source: NegotiationError,
    },
    /// The server refused the request.
    #[snafu(display("the server at {address} refused the request ({:?}): {}", refusal.reason, refusal.message))]
    Refused {
        /// Address of the server.
        address: String,
        /// Reason and remedy.
        refusal: Refusal,
    },
    /// The measurement failed.
    #[snafu(display("{source}"), context(false))]
    Worker {
        /// Failure of the worker in this process.
        source: WorkerError,
    },
    /// The measurement ended early.
    #[snafu(display("the measurement is incomplete ({:?}): {}", failure.reason, failure.message))]
    Incomplete {
        /// Failure of the attempt.
        failure: CaseFailure,
    },
    /// Not every scenario was measured.
    #[snafu(display("not measured: {scenarios}; the reasons are listed above"))]
    NotMeasured {
        /// Names of the scenarios.
        scenarios: String,
    },
    /// The segment cannot be registered, or is lost.
    #[snafu(display("the segment is not available ({:?}): {}", failure.reason, failure.message))]
    Segment {
        /// Reason and remedy.
        failure: CaseFailure,
    },
    /// The metadata service has no valid entry, or cannot be used.
    #[snafu(display("{source}"), context(false))]
    Metadata {
        /// Reason and remedy.
        source: MetadataError,
    },
    /// A file cannot be written or read.
    #[snafu(display("cannot {action} {}: {source}", path.display()))]
    File {
        /// Attempted action, as a verb.
        action: &'static str,
        /// Path of the file.
        path: PathBuf,
        /// Error of the system call.
        source: io::Error,
    },
    /// A system operation failed.
    #[snafu(display("{action} failed: {source}"))]
    System {
        /// Attempted action.
        action: &'static str,
        /// Error of the system call.
        source: io::Error,
    },
}

impl DirectError {
    /// Exit status: 2 if the flags or the request are invalid, and 3 for all other errors.
    pub fn status(&self) -> u8 {
        match self {
            Self::Request { .. } | Self::Refused { .. } => 2,
            _ => 3,
        }
    }
}

/// TCP port of a server, as in the Starway benchmark suite.
pub const DEFAULT_PORT: u16 = 17777;

/// Devices of the rails if no flag names them: for transports over IP with one rail, the address of this side of the
/// connection, so that the data uses the network that the user chose with the address of the server. Empty if the
/// worker chooses the devices.
fn connection_rails(request: &Request, stream: &TcpStream) -> Vec<String> {
    let address = stream.local_addr().map(|address| address.ip());
    let device = rails_of_connection(&request.transport.spec(), address.ok());
    if let Err(reason) = device {
        // The note is lost if standard error is closed.
        let _ = writeln!(
            io::stderr(),
            "without --device, the devices are not necessarily those of the connection, because {reason}: the results \
             contain the devices that were used"
        );
    }
    device.unwrap_or_default().into_iter().collect()
}

/// Device of the only rail of the side that has this address on the connection. `None` if the transport does not use
/// IP.
///
/// # Errors
/// Returns the reason why the address of the connection cannot be used for an IP transport. The worker then chooses the
/// devices.
fn rails_of_connection(
    spec: &TransportSpec,
    address: Option<IpAddr>,
) -> Result<Option<String>, &'static str> {
    match address {
        _ if !spec.uses_ip() => Ok(None),
        _ if spec.rails() > 1 => Err("there are several rails"),
        Some(address @ IpAddr::V4(_)) => Ok(Some(address.to_string())),
        Some(IpAddr::V6(_)) => Err("the connection uses IPv6"),
        None => Err("the address of the connection is unknown"),
    }
}

/// Creates a random run identifier.
///
/// # Errors
/// Returns an error if the system returns no random bytes.
fn run_id() -> Result<String, DirectError> {
    let mut bytes = [0; 16];
    let read = rustix::rand::getrandom(&mut bytes[..], rustix::rand::GetRandomFlags::empty());
    match read {
        Ok(16) => Ok(crds::record::hex(&bytes)),
        Ok(_) => Err(DirectError::System {
            action: "reading random bytes",
            source: io::ErrorKind::UnexpectedEof.into(),
        }),
        Err(error) => Err(DirectError::System {
            action: "reading random bytes",
            source: error.into(),
        }),
    }
}

/// Writes a line to standard output.
fn print(line: &str) -> io::Result<()> {
    let mut out = io::stdout();
    writeln!(out, "{line}")?;
    out.flush()
}

#[cfg(test)]
mod tests {
    use crds::v1alpha1::{Ucx, UcxTransport};

    use super::*;

    #[test]
    fn the_device_of_the_connection_is_used_or_the_reason_is_given() {
        let rails = |transport, rails, address: &str| {
            let spec = TransportSpec::Ucx(Ucx::new(vec![transport], rails));
            rails_of_connection(&spec, Some(address.parse().unwrap()))
        };
        assert_eq!(
            rails(UcxTransport::Tcp, 1, "192.0.2.1"),
            Ok(Some("192.0.2.1".into()))
        );
        assert_eq!(rails(UcxTransport::Rc, 2, "2001:db8::1"), Ok(None));
        assert!(
            rails(UcxTransport::Tcp, 2, "192.0.2.1")
                .unwrap_err()
                .contains("several rails")
        );
        assert!(
            rails(UcxTransport::Tcp, 1, "2001:db8::1")
                .unwrap_err()
                .contains("IPv6")
        );
    }
}
