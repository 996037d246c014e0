//! Server: waits for clients, checks their requests and becomes the worker of one after another. Uses TCP and standard
//! output.

use std::env;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::time::Duration;

use clap::Args;
use crds::number::whole_number;
use crds::units::Size;

use super::busy::BusyServer;
use super::connect::ConnectionMode;
use super::current_session::CurrentSession;
use super::flags::{LocalFlags, TransportFlags};
use super::limits::{AcceptedScenarios, DEFAULT_MAX_BYTES, Limits};
use super::session::{Client, listen, wait_for_client};
use super::{DirectError, transport, worker_address};
use crate::topology;

/// Server flags.
#[derive(Clone, Debug, Args)]
pub struct ServeFlags {
    /// Address to listen on. By default, only clients on this machine can connect.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub addr: String,
    /// TCP port to listen on. If 0, the system chooses a free port, which is printed.
    #[arg(long, default_value_t = super::DEFAULT_PORT,
        allow_negative_numbers = true, value_parser = whole_number(0..=u16::MAX))]
    pub port: u16,
    /// Exit after this many clients. By default, the server exits when SIGINT or SIGTERM arrives.
    #[arg(long, value_name = "COUNT",
        allow_negative_numbers = true, value_parser = whole_number(1..=u32::MAX))]
    pub clients: Option<u32>,
    /// How clients find the server: by its address and port, or by a hexadecimal address that the server prints for
    /// --worker-address.
    #[arg(long, value_enum, default_value_t = ConnectionMode::Socket)]
    pub listen_mode: ConnectionMode,
    /// Largest message that a client may request. Each side allocates twice this size, or 256 MiB if that is more.
    #[arg(long, value_name = "SIZE", default_value_t = DEFAULT_MAX_BYTES)]
    pub max_bytes: Size,
    /// Maximum duration of a client's session, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 3600,
        allow_negative_numbers = true, value_parser = whole_number(0..=u64::MAX))]
    pub time_limit: u64,
    /// Accept only clients that request these UCX transports. The flag also replaces the UCX_TLS environment variable.
    #[arg(long, value_name = "LIST", conflicts_with = "provider")]
    pub tls: Option<String>,
    /// Accept only clients that request this libfabric provider.
    #[arg(long, value_name = "NAME")]
    pub provider: Option<String>,
    /// Library and devices on this machine.
    #[command(flatten)]
    pub local: LocalFlags,
}

/// Serves clients, one after another, until a signal arrives or as many have been served as the flags specify.
/// Connections without a valid request are rejected and do not end the server. Neither does a session that fails.
///
/// # Errors
/// Returns an error if the address cannot be used, or a signal ends a session. If the number of clients is limited, also
/// returns the failure of the last session that failed.
pub fn serve(flags: &ServeFlags) -> Result<(), DirectError> {
    let transport_flags = TransportFlags {
        library: None,
        tls: flags.tls.clone(),
        provider: flags.provider.clone(),
    };
    let limits = Limits {
        accepted: AcceptedScenarios::Suite {
            max_bytes: flags.max_bytes,
        },
        // This process's variables and rails apply to the library, but do not restrict the clients.
        transport: transport_flags.transport(1, |_| None)?,
    };
    let session = CurrentSession::default();
    let stop = session.watch_signals()?;
    let listener = listen(&flags.addr, flags.port)?;
    let address = listener
        .local_addr()
        .map_err(|source| system_error("reading the socket address", source))?;
    announce(flags, address)?;
    let variables = transport_flags.replaced_variables(|name| env::var(name).ok());
    let mut result = Ok(());
    let mut served = 0;
    while flags.clients.is_none_or(|clients| served < clients) {
        let Some(mut client) = wait_for_client(&listener, &limits, || !stop.is_set()) else {
            return match served {
                0 => print("stopped by a signal before a client connected"),
                _ => print("stopped by a signal"),
            };
        };
        served += 1;
        print(&description(&client))?;
        client.complete(address, |rails| flags.local.choices(rails, variables.clone()));
        let _busy = BusyServer::start(&listener, &client.address)
            .map_err(|source| system_error("starting a thread", source))?;
        let limit = Duration::from_secs(flags.time_limit);
        match session.run(&stop, |events| client.serve(limit, events, &stop)) {
            Ok(()) => print("the client has finished")?,
            // The signal has also ended the server.
            Err(error) if stop.is_set() => return Err(error),
            Err(error) => {
                // If standard error is closed, the failure cannot be reported.
                let _ = writeln!(io::stderr(), "the session failed: {error}");
                result = Err(error);
            }
        }
    }
    result
}

/// Prints where the server listens.
fn announce(flags: &ServeFlags, address: SocketAddr) -> Result<(), DirectError> {
    let clients = match flags.clients {
        None => "clients, one after another".to_owned(),
        Some(1) => "one client".to_owned(),
        Some(count) => format!("{count} clients, one after another"),
    };
    print(&format!("listening on {address} for {clients}; Ctrl-C to stop"))?;
    if flags.listen_mode == ConnectionMode::Socket {
        return Ok(());
    }
    let hosts: Vec<String> = match address.ip().is_unspecified() {
        true => topology::addresses().iter().map(ToString::to_string).collect(),
        false => vec![address.ip().to_string()],
    };
    let addresses: Vec<_> = hosts.into_iter().map(|host| (host, address.port())).collect();
    print(&format!("worker address: {}", worker_address::encode(&addresses)))
}

/// Describes what a client requests.
fn description(client: &Client) -> String {
    let scenarios = client.assignment.scenarios.iter();
    let names: Vec<_> = scenarios.map(|scenario| scenario.name.as_str()).collect();
    format!(
        "client {}: {} with {}",
        client.address,
        names.join(" "),
        transport::flag(&client.assignment.transport)
    )
}

fn print(line: &str) -> Result<(), DirectError> {
    super::print(line).map_err(|source| system_error("writing to standard output", source))
}

fn system_error(action: &'static str, source: io::Error) -> DirectError {
    DirectError::System { action, source }
}
