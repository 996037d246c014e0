//! Client: sends the request to a server and coordinates the measurement. Uses TCP.

use std::io::{self, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::thread;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use crds::assignment::Rendezvous;
use crds::number::whole_number;

use super::assignment::{CLIENT, LocalChoices, assignment};
use super::measurement::{Measurement, MeasurementFlags, Results, print_progress};
use super::negotiate::RefusalReason;
use super::records::RecordSink;
use super::request::{AcceptedScenarios, Limits, Request};
use super::{DirectError, connection_rails, negotiate, worker_address};
use crate::frame::FrameReader;
use crate::rendezvous::coordinator;
use crate::worker::coordinate::Attempt;
use crate::worker::{WorkerError, facts};

/// Timeout for one connection attempt.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(3);
/// Interval between connection attempts. The server may still be starting.
const RETRY_INTERVAL: Duration = Duration::from_millis(200);

/// Client flags.
#[derive(Clone, Debug, Args)]
pub struct ConnectFlags {
    /// Name or address of the server.
    #[arg(long, value_name = "HOST", default_value = "127.0.0.1")]
    pub server_host: String,
    /// TCP port of the server.
    #[arg(long, default_value_t = super::DEFAULT_PORT,
        allow_negative_numbers = true, value_parser = whole_number(0..=u16::MAX))]
    pub port: u16,
    /// How the server is found: by --server-host and --port, or by the address that it prints with --listen-mode
    /// worker.
    #[arg(long, value_enum, default_value_t = ConnectionMode::Socket)]
    pub connect_mode: ConnectionMode,
    /// Hexadecimal address that the server has printed, for --connect-mode worker.
    #[arg(long, value_name = "HEX", required_if_eq("connect_mode", "worker"))]
    pub worker_address: Option<String>,
    /// Time to wait for the server to listen and to finish with other clients, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 10,
        allow_negative_numbers = true, value_parser = whole_number(0..=86_400_u64))]
    pub connect_timeout: u64,
    /// Measurement and results.
    #[command(flatten)]
    pub measurement: MeasurementFlags,
}

/// Measures the scenarios together with a server, and prints and writes the results.
///
/// # Errors
/// Returns an error if the flags are invalid, the server cannot be reached or refuses the request, or a scenario is not
/// measured.
pub fn connect(flags: &ConnectFlags) -> Result<(), DirectError> {
    // The server enforces the limits on sizes.
    let limits = Limits {
        accepted: AcceptedScenarios::Suite {
            max_bytes: crds::units::Size(u64::MAX),
        },
        transport: None,
    };
    let Measurement {
        request,
        results,
        variables,
    } = flags.measurement.prepare(&limits)?;
    let addresses = match (flags.connect_mode, &flags.worker_address) {
        (ConnectionMode::Worker, Some(address)) => worker_address::decode(address)?,
        _ => vec![(flags.server_host.clone(), flags.port)],
    };
    coordinate(
        Destination {
            addresses: &addresses,
            timeout_seconds: flags.connect_timeout,
            role: "serve",
        },
        &request,
        &results,
        |rails| flags.measurement.local.choices(rails, variables),
    )
}

/// How a client finds its server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ConnectionMode {
    /// By host name and TCP port.
    Socket,
    /// By a hexadecimal address that the user copies.
    Worker,
}

/// Server to connect to.
#[derive(Clone, Copy)]
pub(super) struct Destination<'a> {
    /// Names or addresses of the server, with TCP ports. The first one that can be reached is used.
    pub addresses: &'a [(String, u16)],
    /// Time to wait for the server to listen and to finish with other clients, in seconds.
    pub timeout_seconds: u64,
    /// Subcommand that starts the server.
    pub role: &'static str,
}

/// Sends `request` to the server, coordinates the measurement, and publishes the results. `choices` returns this
/// machine's choices, given the rail devices derived from the connection.
///
/// # Errors
/// Returns an error if the server cannot be reached or refuses the request, or a scenario is not measured.
pub(super) fn coordinate(
    server: Destination<'_>,
    request: &Request,
    results: &Results<'_>,
    choices: impl FnOnce(Vec<String>) -> LocalChoices,
) -> Result<(), DirectError> {
    let Session {
        host,
        port,
        reader,
        rails,
    } = open_session(server, request)?;
    let rendezvous = Rendezvous {
        bind: host.clone(),
        host,
        port,
        timeout_seconds: server.timeout_seconds.try_into().unwrap_or(u32::MAX),
    };
    let assignment = assignment(request, rendezvous, &choices(rails));
    let mut sink = RecordSink::new(print_progress);
    let attempt = Attempt::new(&assignment, facts::hello(&assignment, CLIENT), &mut sink)?;
    let admitted = coordinator::admit_connected(reader, &assignment.identity)
        .map_err(|failure| WorkerError::Incomplete { failure })?;
    attempt.run(admitted)?;
    results.publish(request, &sink.into_records())
}

/// Session that a server has accepted.
struct Session {
    /// Name or address of the server.
    host: String,
    /// TCP port of the server.
    port: u16,
    /// Reader for the connection to the server.
    reader: FrameReader<TcpStream>,
    /// Rail devices derived from the connection.
    rails: Vec<String>,
}

/// Sends `request` to the server, as soon as it can be reached and has finished with other clients.
fn open_session(server: Destination<'_>, request: &Request) -> Result<Session, DirectError> {
    let seconds = server.timeout_seconds;
    let deadline = Instant::now() + Duration::from_secs(seconds);
    let mut is_waiting = false;
    loop {
        let (host, port, stream) = open_connection(server, deadline)?;
        let rails = connection_rails(request, &stream);
        let address = format!("{host}:{port}");
        match negotiate::propose(stream, &address, request)? {
            Ok(reader) => {
                return Ok(Session {
                    host: host.to_owned(),
                    port,
                    reader,
                    rails,
                });
            }
            Err(refusal) if refusal.reason == RefusalReason::Busy && Instant::now() < deadline => {
                if !is_waiting {
                    // The note is lost if standard error is closed.
                    let _ = writeln!(
                        io::stderr(),
                        "waiting up to {seconds} s for {address}: {}",
                        refusal.message
                    );
                    is_waiting = true;
                }
                thread::sleep(RETRY_INTERVAL);
            }
            Err(refusal) => return Err(DirectError::Refused { address, refusal }),
        }
    }
}

/// Connects to the first of the server's addresses that can be reached before `deadline`.
fn open_connection(
    server: Destination<'_>,
    deadline: Instant,
) -> Result<(&str, u16, TcpStream), DirectError> {
    loop {
        let mut last = io::Error::other("the host name did not resolve to an address");
        for (host, port) in server.addresses {
            match connect_to(host, *port) {
                Ok(stream) => return Ok((host, *port, stream)),
                Err(error) => last = error,
            }
        }
        if Instant::now() >= deadline {
            let addresses = server
                .addresses
                .iter()
                .map(|(host, port)| format!("{host}:{port}"));
            return Err(DirectError::Unreachable {
                address: addresses.collect::<Vec<_>>().join(" or "),
                seconds: server.timeout_seconds,
                role: server.role,
                source: last,
            });
        }
        thread::sleep(RETRY_INTERVAL);
    }
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
