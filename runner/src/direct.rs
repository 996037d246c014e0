//! Measurements between two machines without a cluster, using the Starway benchmark suite's roles, scenarios and flags:
//! `serve` on one machine and `connect` on the other, or `loopback` for both sides on one machine. [`segment`]
//! implements the Transfer Engine Benchmark's roles.
//!
//! The client sends a [`request`](request::Request) over a TCP connection that it opens. Each side builds the same
//! [assignment](assignment) from the request and becomes a worker in this assignment: the client is rank 0, which
//! coordinates and posts first, and the server is rank 1. From then on, the connection is the link between the two
//! workers, and the client turns the [records](records) into [metrics].
//!
//! [`serve`], [`session`], [`busy`], [`current_session`], [`connect`], [`loopback`], [`segment`], [`measurement`],
//! [`negotiate`], [`records`] and [`trace`] perform I/O. The other modules do not.

pub mod assignment;
mod busy;
pub mod connect;
mod current_session;
pub mod flags;
pub mod loopback;
pub mod measurement;
pub mod metrics;
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
mod worker_address;

use std::env;
use std::io::{self, Write};
use std::net::{IpAddr, TcpStream};
use std::path::PathBuf;

use crds::file_error::with_remedy;
use crds::record::CaseFailure;
use crds::v1alpha1::TransportSpec;
use snafu::Snafu;

use crate::worker::WorkerError;
use negotiate::{NegotiationError, Refusal, RefusalReason};
use request::{Request, RequestError};
use segment::metadata::MetadataError;

/// Error returned by a role.
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
        /// System call error.
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
        /// Error from the last attempt.
        source: io::Error,
    },
    /// The two sides could not agree on a measurement.
    #[snafu(display("{source}"), context(false))]
    Negotiation {
        /// Why they could not agree.
        source: NegotiationError,
    },
    /// The server refused the request.
    #[snafu(display("the server at {address} refused the request ({:?}): {}", refusal.reason, refusal.message))]
    Refused {
        /// Address of the server.
        address: String,
        /// Reason and fix.
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
        /// Why the attempt failed.
        failure: CaseFailure,
    },
    /// Not every scenario was measured.
    #[snafu(display("not measured: {scenarios}; the reasons are listed above"))]
    NotMeasured {
        /// Names of the scenarios.
        scenarios: String,
    },
    /// The segment cannot be registered, or has been lost.
    #[snafu(display("the segment is not available ({:?}): {}", failure.reason, failure.message))]
    Segment {
        /// Reason and fix.
        failure: CaseFailure,
    },
    /// The metadata service has no valid entry, or cannot be used.
    #[snafu(display("{source}"), context(false))]
    Metadata {
        /// Reason and fix.
        source: MetadataError,
    },
    /// A file cannot be written or read.
    #[snafu(display("cannot {action} {}: {}", path.display(), with_remedy(source)))]
    File {
        /// Verb for the attempted action.
        action: &'static str,
        /// Path of the file.
        path: PathBuf,
        /// System call error.
        source: io::Error,
    },
    /// A system operation failed.
    #[snafu(display("{action} failed: {source}"))]
    System {
        /// Attempted action.
        action: &'static str,
        /// System call error.
        source: io::Error,
    },
}

impl DirectError {
    /// Exit status: 2 if the flags or the request are invalid, and 3 for all other errors.
    pub fn status(&self) -> u8 {
        match self {
            Self::Request { .. } => 2,
            Self::Refused { refusal, .. } if refusal.reason != RefusalReason::Busy => 2,
            _ => 3,
        }
    }
}

/// Default TCP port of a server, the same as in the Starway benchmark suite.
pub const DEFAULT_PORT: u16 = 17777;

/// Rail devices if no flag names them. For IP transports with one rail, this is the connection's local address, so that
/// the data uses the network that the user selected with the server address. Empty if the worker chooses the devices.
fn connection_rails(request: &Request, stream: &TcpStream) -> Vec<String> {
    let spec = request.transport.spec();
    if variable_names_devices(&spec) {
        return Vec::new();
    }
    let address = stream.local_addr().map(|address| address.ip());
    let device = rail_device(&spec, address.ok());
    if let Err(reason) = device {
        // The note is lost if standard error is closed.
        let _ = writeln!(
            io::stderr(),
            "without --device, the devices are not necessarily those that the connection uses, because {reason}: \
             the results list the devices that were used"
        );
    }
    device.unwrap_or_default().into_iter().collect()
}

/// Whether the `UCX_NET_DEVICES` variable of this process names UCX's devices, as users of the Starway benchmark suite
/// set it.
fn variable_names_devices(spec: &TransportSpec) -> bool {
    matches!(spec, TransportSpec::Ucx(_)) && env::var_os("UCX_NET_DEVICES").is_some()
}

/// Device of a side's only rail. `address` is that side's address on the connection. `None` if the transport does not
/// use IP.
///
/// # Errors
/// Returns why the connection's address cannot be used for an IP transport. The worker then chooses the devices.
fn rail_device(spec: &TransportSpec, address: Option<IpAddr>) -> Result<Option<String>, &'static str> {
    match address {
        _ if !spec.uses_ip() => Ok(None),
        _ if spec.rails() > 1 => Err("there are several rails"),
        Some(address @ IpAddr::V4(_)) => Ok(Some(address.to_string())),
        Some(IpAddr::V6(_)) => Err("the connection uses IPv6"),
        None => Err("the connection's address is unknown"),
    }
}

/// Creates a random run identifier.
///
/// # Errors
/// Returns an error if the system provides no random bytes.
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
    fn uses_the_connection_address_as_device_or_gives_the_reason() {
        let rails = |transport, rails, address: &str| {
            let spec = TransportSpec::Ucx(Ucx::new(vec![transport], rails));
            rail_device(&spec, Some(address.parse().unwrap()))
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
