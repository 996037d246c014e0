//! Server: waits for one client, checks its request and becomes its worker. Uses TCP and standard output.

use std::env;
use std::io::{self, Write};
use std::net::{TcpListener, TcpStream, ToSocketAddrs};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use crds::assignment::Rendezvous;
use crds::record::EndRecord;
use crds::units::Size;

use super::assignment::{SERVER, assignment};
use super::flags::{LocalFlags, TransportFlags};
use super::negotiate;
use super::request::{DEFAULT_MAX_BYTES, Limits, Request};
use super::{DirectError, connection_rails};
use crate::frame::{self, FrameReader};
use crate::rendezvous::peer::Connection;
use crate::worker::agent::EVENT_CAPACITY;
use crate::worker::signals::{self, StopFlag};
use crate::worker::{WorkerError, facts, follow_coordinator};
use crate::worker_event::WorkerEvent;

/// Interval at which the stop flag is checked while the server waits for a client.
const TICK: Duration = Duration::from_millis(50);
/// Time for the client to welcome the server after the request was accepted.
const WELCOME_TIMEOUT: Duration = Duration::from_secs(30);

/// Flags of the server.
#[derive(Clone, Debug, Args)]
pub struct ServeFlags {
    /// Address to listen on. With the default, only clients on this machine can connect.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub addr: String,
    /// TCP port to listen on. With 0, the system chooses a free port, which is printed.
    #[arg(long, default_value_t = super::DEFAULT_PORT)]
    pub port: u16,
    /// Largest message that a client may ask for. Each side allocates twice this size, or 256 MiB if that is more.
    #[arg(long, value_name = "SIZE", default_value_t = DEFAULT_MAX_BYTES)]
    pub max_bytes: Size,
    /// Maximum duration of the session with a client, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 3600)]
    pub time_limit: u64,
    /// Accept only clients that ask for these transports of UCX. The flag also replaces the variable UCX_TLS.
    #[arg(long, value_name = "LIST", conflicts_with = "provider")]
    pub tls: Option<String>,
    /// Accept only clients that ask for this provider of libfabric.
    #[arg(long, value_name = "NAME")]
    pub provider: Option<String>,
    /// Library and devices of this side.
    #[command(flatten)]
    pub local: LocalFlags,
}

/// Serves one client. Connections with anything other than a valid request are refused and do not end the server.
///
/// # Errors
/// If the address cannot be used, or the session with the client fails. A signal while the server waits is not an
/// error.
pub fn serve(flags: &ServeFlags) -> Result<(), DirectError> {
    let transport = TransportFlags {
        library: None,
        tls: flags.tls.clone(),
        provider: flags.provider.clone(),
    };
    let limits = Limits {
        max_bytes: flags.max_bytes,
        // The variables of this process apply to the library, but do not restrict the clients. Neither do the rails.
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
    let Some((request, reader, peer)) = wait_for_client(&listener, &limits, &stop) else {
        return print("stopped by a signal before a client connected");
    };
    // Later clients are refused by the system instead of waiting.
    drop(listener);
    let names: Vec<_> = request.scenarios.iter().map(|scenario| scenario.name()).collect();
    print(&format!(
        "client {peer}: {} with {}",
        names.join(" "),
        request.transport.flag()
    ))?;
    let rails = connection_rails(&request, reader.stream());
    let variables = transport.replaced_variables(|name| env::var(name).ok());
    let rendezvous = Rendezvous {
        host: peer.clone(),
        bind: flags.addr.clone(),
        port: address.port(),
        timeout_seconds: WELCOME_TIMEOUT.as_secs() as u32,
    };
    let assignment = assignment(&request, rendezvous, &flags.local.choices(rails, variables));
    let hello = facts::hello(&assignment, SERVER);
    negotiate::accept(&reader, &peer)?;
    let connection = Connection {
        reader,
        address: peer,
        deadline: Instant::now() + WELCOME_TIMEOUT,
    };
    let (cpus, reader) = connection
        .introduce(&assignment.identity, SERVER, hello, || stop.is_set())
        .map_err(|error| WorkerError::Incomplete {
            failure: error.failure(),
        })?;
    limit_time(Duration::from_secs(flags.time_limit), sender.clone())?;
    let end = follow_coordinator(&assignment, SERVER, cpus, reader, (sender, events))?;
    finish(end)
}

fn finish(end: EndRecord) -> Result<(), DirectError> {
    match end.failure {
        None => print("the client has finished"),
        Some(failure) => Err(DirectError::Incomplete { failure }),
    }
}

fn listen(address: &str, port: u16) -> Result<TcpListener, DirectError> {
    let open = || {
        let addresses: Vec<_> = (address, port).to_socket_addrs()?.collect();
        let listener = TcpListener::bind(addresses.as_slice())?;
        listener.set_nonblocking(true)?;
        Ok(listener)
    };
    open().map_err(|source| DirectError::Listen {
        address: format!("{address}:{port}"),
        source,
    })
}

/// Waits for a valid request. Returns `None` if the process receives a signal first.
fn wait_for_client(
    listener: &TcpListener,
    limits: &Limits,
    stop: &StopFlag,
) -> Option<(Request, FrameReader<TcpStream>, String)> {
    while !stop.is_set() {
        if !frame::readable(listener, Instant::now() + TICK).unwrap_or(false) {
            continue;
        }
        let Ok((stream, address)) = listener.accept() else {
            continue;
        };
        if stream.set_nonblocking(false).is_err() {
            continue;
        }
        match negotiate::receive(stream, limits) {
            Ok((request, reader)) => return Some((request, reader, address.to_string())),
            Err(refusal) => {
                // If standard error is closed, the refusal cannot be reported.
                let _ = writeln!(
                    io::stderr(),
                    "refused {address} ({:?}): {}",
                    refusal.reason,
                    refusal.message
                );
            }
        }
    }
    None
}

/// Ends the session after `limit`, so that a client cannot occupy the server indefinitely.
fn limit_time(limit: Duration, sender: SyncSender<WorkerEvent>) -> Result<(), DirectError> {
    let wait = move || {
        thread::sleep(limit);
        // The send fails if the session has ended.
        let _ = sender.send(WorkerEvent::Stop("--time-limit"));
    };
    thread::Builder::new()
        .name("time-limit".into())
        .spawn(wait)
        .map(drop)
        .map_err(|source| system("starting a thread", source))
}

fn print(line: &str) -> Result<(), DirectError> {
    super::print(line).map_err(|source| system("writing to standard output", source))
}

fn system(action: &'static str, source: io::Error) -> DirectError {
    DirectError::System { action, source }
}
