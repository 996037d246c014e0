//! Server: waits for one client, checks its request and becomes its worker. Uses TCP and standard output.

use std::env;
use std::io;
use std::sync::mpsc::sync_channel;
use std::time::Duration;

use clap::Args;
use crds::units::Size;

use super::assignment::assignment;
use super::flags::{LocalFlags, TransportFlags};
use super::request::{AcceptedScenarios, DEFAULT_MAX_BYTES, Limits};
use super::session::{listen, wait_for_client};
use super::{DirectError, connection_rails};
use crate::worker::agent::EVENT_CAPACITY;
use crate::worker::signals;
use crate::worker_event::WorkerEvent;

/// Server flags.
#[derive(Clone, Debug, Args)]
pub struct ServeFlags {
    /// Address to listen on. By default, only clients on this machine can connect.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub addr: String,
    /// TCP port to listen on. If 0, the system chooses a free port, which is printed.
    #[arg(long, default_value_t = super::DEFAULT_PORT)]
    pub port: u16,
    /// Largest message that a client may request. Each side allocates twice this size, or 256 MiB if that is more.
    #[arg(long, value_name = "SIZE", default_value_t = DEFAULT_MAX_BYTES)]
    pub max_bytes: Size,
    /// Maximum duration of a client's session, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 3600)]
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

/// Serves one client. Connections without a valid request are rejected and do not end the server.
///
/// # Errors
/// Returns an error if the address cannot be used, or the session with the client fails. A signal while the server is
/// waiting is not an error.
pub fn serve(flags: &ServeFlags) -> Result<(), DirectError> {
    let transport = TransportFlags {
        library: None,
        tls: flags.tls.clone(),
        provider: flags.provider.clone(),
    };
    let limits = Limits {
        accepted: AcceptedScenarios::Suite {
            max_bytes: flags.max_bytes,
        },
        // This process's variables and rails apply to the library, but do not restrict the clients.
        transport: transport.transport(1, |_| None)?,
    };
    let (sender, events) = sync_channel(EVENT_CAPACITY);
    let notify = sender.clone();
    let stop = signals::watch(move |signal| drop(notify.send(WorkerEvent::Stop(signal))))
        .map_err(|source| system_error("installing the signal handlers", source))?;
    let listener = listen(&flags.addr, flags.port)?;
    let address = listener
        .local_addr()
        .map_err(|source| system_error("reading the socket address", source))?;
    print(&format!("listening on {address} for one client; Ctrl-C to stop"))?;
    let Some(client) = wait_for_client(&listener, &limits, || !stop.is_set()) else {
        return print("stopped by a signal before a client connected");
    };
    // The operating system rejects further clients, so they do not wait.
    drop(listener);
    let request = &client.request;
    let names: Vec<_> = request.scenarios.iter().map(|scenario| scenario.name()).collect();
    print(&format!(
        "client {}: {} with {}",
        client.address,
        names.join(" "),
        request.transport.flag()
    ))?;
    let rails = connection_rails(request, client.reader.stream());
    let variables = transport.replaced_variables(|name| env::var(name).ok());
    let assignment = assignment(
        request,
        client.rendezvous(&flags.addr, address.port()),
        &flags.local.choices(rails, variables),
    );
    let limit = Duration::from_secs(flags.time_limit);
    client.serve(&assignment, limit, (sender, events), &stop)?;
    print("the client has finished")
}

fn print(line: &str) -> Result<(), DirectError> {
    super::print(line).map_err(|source| system_error("writing to standard output", source))
}

fn system_error(action: &'static str, source: io::Error) -> DirectError {
    DirectError::System { action, source }
}
