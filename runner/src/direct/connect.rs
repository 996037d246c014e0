//! Client: sends the request, coordinates the measurement and prints the results. Uses TCP, standard output and files.

use std::env;
use std::fs;
use std::io::{self, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use crds::assignment::{Pass, Rendezvous};
use crds::record::{CaseResult, Record};

use super::assignment::{CLIENT, assignment};
use super::flags::{LocalFlags, OutputFlags, ScenarioFlags, TransportFlags};
use super::records::RecordSink;
use super::report::Report;
use super::request::{Limits, Request};
use super::trace::Trace;
use super::{DirectError, connection_rails, negotiate, run_id, text};
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
    /// Library and transports, on both sides.
    #[command(flatten)]
    pub transport: TransportFlags,
    /// Library and devices of this side.
    #[command(flatten)]
    pub local: LocalFlags,
    /// Scenarios.
    #[command(flatten)]
    pub scenarios: ScenarioFlags,
    /// Destinations of the results.
    #[command(flatten)]
    pub output: OutputFlags,
}

/// Measures the scenarios together with a server, and prints and writes the results.
///
/// # Errors
/// If the flags are invalid, the server cannot be reached or refuses the request, or a scenario is not measured.
pub fn connect(flags: &ConnectFlags) -> Result<(), DirectError> {
    let variable = |name: &str| env::var(name).ok();
    let transport = flags
        .transport
        .required_transport(flags.scenarios.rails, variable)?;
    let request = flags.scenarios.request(run_id()?, transport);
    // Limits on sizes are those of the server.
    request.check(&Limits {
        max_bytes: crds::units::Size(u64::MAX),
        ..Limits::default()
    })?;
    let results = Results::new(&flags.output)?;
    let mut variables = flags.transport.replaced_variables(variable);
    variables.extend(results.variable());
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
    let assignment = assignment(&request, rendezvous, &flags.local.choices(rails, variables));
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

/// Prints the end of each case to standard error.
pub(super) fn print_progress(record: &Record) {
    let Record::Case(case) = record else {
        return;
    };
    let verb = match (&case.result, case.pass) {
        (CaseResult::Failed(_), _) => "failed",
        (_, Pass::Integrity) => "verified",
        (_, Pass::Pilot | Pass::Measure) => "measured",
    };
    // Progress is lost if standard error is closed.
    let _ = writeln!(io::stderr(), "{verb} {}", case.scenario);
}

/// Destinations of the results of one measurement.
pub(super) struct Results<'a> {
    flags: &'a OutputFlags,
    trace: Option<Trace>,
}

impl<'a> Results<'a> {
    /// Prepares the destinations.
    ///
    /// # Errors
    /// If the directory for samples or the file cannot be created.
    pub(super) fn new(flags: &'a OutputFlags) -> Result<Self, DirectError> {
        // A path that cannot be written is reported before the measurement instead of after it.
        if let Some(path) = &flags.output {
            let opened = fs::OpenOptions::new().create(true).append(true).open(path);
            opened.map_err(|source| DirectError::File {
                action: "write",
                path: path.clone(),
                source,
            })?;
        }
        let trace = flags.store_trace.then(Trace::new).transpose();
        let trace = trace.map_err(|source| DirectError::System {
            action: "creating a temporary directory",
            source,
        })?;
        Ok(Self { flags, trace })
    }

    /// Variable that makes instruments store samples, if they are requested.
    pub(super) fn variable(&self) -> Option<(String, String)> {
        self.trace.as_ref().map(Trace::variable)
    }

    /// Prints the report, and writes it to the file.
    ///
    /// # Errors
    /// If the results cannot be written, or not every scenario was measured.
    pub(super) fn publish(&self, request: &Request, records: &[Record]) -> Result<(), DirectError> {
        let samples = self.trace.as_ref().map(Trace::read).transpose();
        let samples = samples.map_err(|source| DirectError::System {
            action: "reading the samples",
            source,
        })?;
        let report = Report::new(request, records, samples.unwrap_or_default());
        super::print(text::format(&report).trim_end()).map_err(|source| DirectError::System {
            action: "writing to standard output",
            source,
        })?;
        if let Some(path) = &self.flags.output {
            let document = serde_json::to_vec_pretty(&report).map_err(io::Error::from);
            let written = document.and_then(|document| fs::write(path, document));
            written.map_err(|source| DirectError::File {
                action: "write",
                path: path.clone(),
                source,
            })?;
        }
        let missing = report.not_measured();
        if missing.is_empty() {
            return Ok(());
        }
        Err(DirectError::NotMeasured {
            scenarios: missing.join(", "),
        })
    }
}
