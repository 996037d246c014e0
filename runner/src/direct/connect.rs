//! Client: sends the request to a server and coordinates the measurement. Uses TCP.

use std::io;
use std::net::{TcpStream, ToSocketAddrs};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use crds::assignment::Rendezvous;

use super::assignment::{CLIENT, assignment};
use super::measurement::{Measurement, MeasurementFlags, print_progress};
use super::records::RecordSink;
use super::request::Limits;
use super::{DirectError, connection_rails, negotiate};
use crate::rendezvous::coordinator;
use crate::worker::coordinate::Attempt;
use crate::worker::{WorkerError, facts};

/// Timeout for one connection attempt.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(3);
/// Interval between connection attempts. The server may still be starting.
const RETRY_INTERVAL: Duration = Duration::from_millis(200);

/// Flags of the client.
#[derive(Clone, Debug, Args)]
pub struct ConnectFlags {
    /// Name or address of the server.
    #[arg(long, value_name = "HOST", default_value = "127.0.0.1")]
    pub server_host: String,
    /// TCP port of the server.
    #[arg(long, default_value_t = super::DEFAULT_PORT)]
    pub port: u16,
    /// Time to wait for the server to listen, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    pub connect_timeout: u64,
    /// Measurement and results.
    #[command(flatten)]
    pub measurement: MeasurementFlags,
}

/// Measures the scenarios together with a server, and prints and writes the results.
///
/// # Errors
/// If the flags are invalid, the server cannot be reached or refuses the request, or a scenario is not measured.
pub fn connect(flags: &ConnectFlags) -> Result<(), DirectError> {
    // Limits on sizes are those of the server.
    let limits = Limits {
        max_bytes: crds::units::Size(u64::MAX),
        ..Limits::default()
    };
    let Measurement {
        request,
        results,
        variables,
    } = flags.measurement.prepare(&limits)?;
    let address = format!("{}:{}", flags.server_host, flags.port);
    let stream = open_connection(flags, &address)?;
    let rails = connection_rails(&request, &stream);
    let reader = negotiate::propose(stream, &address, &request)?
        .map_err(|refusal| DirectError::Refused { address, refusal })?;
    let rendezvous = Rendezvous {
        host: flags.server_host.clone(),
        bind: flags.server_host.clone(),
        port: flags.port,
        timeout_seconds: flags.connect_timeout.try_into().unwrap_or(u32::MAX),
    };
    let assignment = assignment(
        &request,
        rendezvous,
        &flags.measurement.local.choices(rails, variables),
    );
    let mut sink = RecordSink::new(print_progress);
    let attempt = Attempt::new(&assignment, facts::hello(&assignment, CLIENT), &mut sink)?;
    let admitted = coordinator::admit_connected(reader, &assignment.identity)
        .map_err(|failure| WorkerError::Incomplete { failure })?;
    attempt.run(admitted)?;
    results.publish(&request, &sink.into_records())
}

fn open_connection(flags: &ConnectFlags, address: &str) -> Result<TcpStream, DirectError> {
    let seconds = flags.connect_timeout;
    let deadline = Instant::now() + Duration::from_secs(seconds);
    let attempt = || {
        let mut last = io::Error::other("the host name did not resolve to an address");
        for address in (flags.server_host.as_str(), flags.port).to_socket_addrs()? {
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
                    source,
                });
            }
        }
    }
}
