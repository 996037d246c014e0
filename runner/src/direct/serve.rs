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

/// Flags of the server.
#[derive(Clone, Debug, Args)]
pub struct ServeFlags {
    /// Address to listen on. With the default, only clients on this machine can connect.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub addr: String,
    /// TCP port to listen on. With 0, the system chooses a free port, which is printed.
    #[arg(long, default_value_t = super::DEFAULT_PORT)]
    pub port: u16,
    /// Largest message that a client may request. Each side allocates twice this size, or 256 MiB if that is more.
    #[arg(long, value_name = "SIZE", default_value_t = DEFAULT_MAX_BYTES)]
    pub max_bytes: Size,
    /// Maximum duration of the session with a client, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 3600)]
    pub time_limit: u64,
    /// Accept only clients that request these transports of UCX. The flag also replaces the variable UCX_TLS.
    #[arg(long, value_name = "LIST", conflicts_with = "provider")]
    pub tls: Option<String>,
    /// Accept only clients that request this provider of libfabric.
    #[arg(long, value_name = "NAME")]
    pub provider: Option<String>,
    /// Library and devices of this side.
    #[command(flatten)]
    pub local: LocalFlags,
}

/// Serves one client. Connections without a valid request are rejected and do not end the server.
///
/// # Errors
/// Returns an error if the address cannot be used, or the session with the client fails. A signal while the server
/// waits is not an error.
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
        // The variables and rails of this process apply to the library, but do not restrict the clients.
        transport: transport.transport(1, |_| None)?,
    };
    let (sender, events) = sync_channel(EVENT_CAPACITY);
    let notify = sender.clone();
    let stop = signals::watch(move |signal| drop(notify.send(WorkerEvent::Stop(signal))))
        .map_err(|source| system("installing the signal handlers", source))?;
    let listener = listen(&flags.addr, flags.port)?;
    let address = listener
        .local_addr()
        .map_err(|source| system("reading the address of the socket", source))?;
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
    super::print(line).map_err(|source| system("writing to standard output", source))
}

fn system(action: &'static str, source: io::Error) -> DirectError {
    DirectError::System { action, source }
}
