//! Client: sends the request to a server and coordinates the measurement. Uses TCP.

use std::io;
use std::net::{TcpStream, ToSocketAddrs};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use crds::assignment::Rendezvous;

use super::assignment::{CLIENT, LocalChoices, assignment};
use super::measurement::{Measurement, MeasurementFlags, Results, print_progress};
use super::records::RecordSink;
use super::request::{AcceptedScenarios, Limits, Request};
use super::{DirectError, connection_rails, negotiate};
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
    #[arg(long, default_value_t = super::DEFAULT_PORT)]
    pub port: u16,
    /// Time to wait for the server to listen, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(..=86_400))]
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
    coordinate(
        Destination {
            host: &flags.server_host,
            port: flags.port,
            timeout_seconds: flags.connect_timeout,
            role: "serve",
        },
        &request,
        &results,
        |rails| flags.measurement.local.choices(rails, variables),
    )
}

/// Server to connect to.
#[derive(Clone, Copy)]
pub(super) struct Destination<'a> {
    /// Name or address of the server.
    pub host: &'a str,
    /// TCP port of the server.
    pub port: u16,
    /// Time to wait for the server to listen, in seconds.
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
    let address = format!("{}:{}", server.host, server.port);
    let stream = open_connection(server, &address)?;
    let rails = connection_rails(request, &stream);
    let reader = negotiate::propose(stream, &address, request)?
        .map_err(|refusal| DirectError::Refused { address, refusal })?;
    let rendezvous = Rendezvous {
        host: server.host.to_owned(),
        bind: server.host.to_owned(),
        port: server.port,
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

fn open_connection(server: Destination<'_>, address: &str) -> Result<TcpStream, DirectError> {
    let seconds = server.timeout_seconds;
    let deadline = Instant::now() + Duration::from_secs(seconds);
    let attempt = || {
        let mut last = io::Error::other("the host name did not resolve to an address");
        for address in (server.host, server.port).to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, ATTEMPT_TIMEOUT) {
                Ok(stream) => return Ok(stream),
                Err(error) => last = error,
            }
        }
        Err(last)
    };
    loop {
        match attempt() {
            Ok(stream) => return Ok(stream),
            Err(_) if Instant::now() < deadline => thread::sleep(RETRY_INTERVAL),
            Err(source) => {
                return Err(DirectError::Unreachable {
                    address: address.to_owned(),
                    seconds,
                    role: server.role,
                    source,
                });
            }
        }
    }
}
