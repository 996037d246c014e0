//! Measures with a server on another machine. Starts a program.

use std::env;

use clap::{Args, ValueEnum};
use crds::number::whole_number;

use super::campaign::Measurement;
use super::flags::{LocalFlags, OutputFlags, ScenarioFlags, TransportFlags};
use super::transport::suite_default;
use super::{DirectError, worker_address};
use crate::rendezvous::server::Server;

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

/// Flags of a measurement that the client coordinates.
#[derive(Clone, Debug, Args)]
pub struct MeasurementFlags {
    /// Library and transports, on both sides.
    #[command(flatten)]
    pub transport: TransportFlags,
    /// Library and devices on this machine.
    #[command(flatten)]
    pub local: LocalFlags,
    /// Scenarios to measure.
    #[command(flatten)]
    pub scenarios: ScenarioFlags,
    /// Destinations of the results.
    #[command(flatten)]
    pub output: OutputFlags,
}

impl MeasurementFlags {
    /// Measures with `server` or, if it is unset, on this machine. Returns only on errors.
    ///
    /// # Errors
    /// Returns an error if the flags are invalid, or the measurement cannot be started.
    pub(super) fn measure(&self, server: Option<Server>) -> Result<(), DirectError> {
        let rails = self.scenarios.rails;
        self.local.check_devices(rails)?;
        let transport = self
            .transport
            .transport_or(suite_default(rails), |name| env::var(name).ok())?;
        Measurement {
            name: "starway",
            transport: &transport,
            transport_flags: &self.transport,
            scenarios: self.scenarios.scenarios()?,
            case_timeout_seconds: self.scenarios.case_timeout,
            local: &self.local,
            output: &self.output,
            server,
        }
        .execute()
    }
}

/// Measures the scenarios together with a server, and prints and writes the results. Returns only on errors.
///
/// # Errors
/// Returns an error if the flags are invalid, or the measurement cannot be started.
pub fn connect(flags: &ConnectFlags) -> Result<(), DirectError> {
    let addresses = match (flags.connect_mode, &flags.worker_address) {
        (ConnectionMode::Worker, Some(address)) => worker_address::decode(address)?,
        _ => vec![(flags.server_host.clone(), flags.port)],
    };
    flags.measurement.measure(Some(Server {
        addresses,
        timeout_seconds: flags.connect_timeout,
        role: "serve".to_owned(),
        segment: None,
    }))
}

/// How a client finds its server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ConnectionMode {
    /// By host name and TCP port.
    Socket,
    /// By a hexadecimal address that the user copies.
    Worker,
}
