//! `fabricbench metadata`: the HTTP service to which `fabricbench-runner target` publishes its segments.

mod bounded;
mod entries;

use std::env;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::Router;
use axum::extract::{DefaultBodyLimit, Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::routing::get;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bounded::BoundedListener;
use clap::Args;
use crds::number::whole_number;
use entries::{Entries, Rejection};
use futures::FutureExt;
use futures::channel::oneshot;
use operator::terminal::print;
use serde::Deserialize;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use tokio::time::sleep;

use super::{Exit, Failure};

/// Environment variable that contains the password that clients must send.
const ENV_PASSWORD: &str = "FABRICBENCH_METADATA_PASSWORD";
/// Time allowed for requests in progress to complete after a signal.
const GRACE: Duration = Duration::from_secs(5);
/// Maximum length of an entry, in bytes.
const MAX_ENTRY_BYTES: usize = 16 * 1024;

/// Run an HTTP metadata service for `fabricbench-runner target` and `initiator` (`--metadata-type http`), until SIGINT
/// or SIGTERM is received.
///
/// Entries are kept in memory and expire. If FABRICBENCH_METADATA_PASSWORD is set, clients must send this password.
/// Traffic is not encrypted, so listen only on a network where you trust every machine.
#[derive(Debug, Args)]
#[command(after_help = "Example: fabricbench metadata --addr 192.168.1.10 --port 8080")]
pub(super) struct Metadata {
    /// Address to listen on. By default, only programs on this machine can connect.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    addr: String,
    /// TCP port to listen on. If 0, the system chooses a free port, which is printed.
    #[arg(long, default_value_t = 8080,
        allow_negative_numbers = true, value_parser = whole_number(0..=u16::MAX))]
    port: u16,
}

/// State of the metadata service.
#[derive(Clone)]
struct Service {
    entries: Arc<Mutex<Entries>>,
    password: Option<Arc<str>>,
}

/// Query parameters of a request.
#[derive(Deserialize)]
struct Parameters {
    key: String,
    run: Option<String>,
}

type TextResponse = (StatusCode, String);

impl Metadata {
    pub(super) fn execute(self) -> Result<Exit, Failure> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| {
            Failure::incomplete(format!("the asynchronous runtime cannot be started: {error}"))
        })?;
        runtime.block_on(self.serve())?;
        Ok(Exit::Complete)
    }

    async fn serve(self) -> Result<(), Failure> {
        let address = format!("{}:{}", self.addr, self.port);
        let listener = tokio::net::TcpListener::bind(&address).await.map_err(|error| {
            Failure::invalid_input(format!(
                "cannot listen on {address}: {error}; choose another --addr or --port"
            ))
        })?;
        let failed = |error: io::Error| Failure::incomplete(format!("the metadata service failed: {error}"));
        let stopped = stop_signal().map_err(failed)?;
        let service = Service {
            entries: Arc::default(),
            password: env::var(ENV_PASSWORD).ok().map(Arc::from),
        };
        announce(listener.local_addr().map_err(failed)?).map_err(failed)?;
        let stopped = stopped.shared();
        let grace = stopped.clone();
        let server =
            axum::serve(BoundedListener::new(listener), router(service)).with_graceful_shutdown(async move {
                // The sender is never dropped before it sends.
                let _ = stopped.await;
            });
        tokio::select! {
            result = server => result.map_err(failed),
            () = async {
                let _ = grace.await;
                sleep(GRACE).await;
            } => Ok(()),
        }
    }
}

fn announce(address: SocketAddr) -> io::Result<()> {
    print(&format!(
        "listening on http://{address}/metadata; Ctrl-C to stop\n"
    ))
}

/// Returns a receiver that resolves when this process receives SIGINT or SIGTERM. A second signal ends the process
/// immediately.
fn stop_signal() -> io::Result<oneshot::Receiver<()>> {
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    let (sender, receiver) = oneshot::channel();
    thread::Builder::new().name("signals".into()).spawn(move || {
        let mut signals = signals.forever();
        signals.next();
        // The receiver is dropped if the service has failed.
        let _ = sender.send(());
        if let Some(signal) = signals.next() {
            // The default action of both signals terminates the process.
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
    })?;
    Ok(receiver)
}

fn router(service: Service) -> Router {
    Router::new()
        .route("/metadata", get(find).put(store).delete(remove))
        .layer(DefaultBodyLimit::max(MAX_ENTRY_BYTES))
        .with_state(service)
}

impl Service {
    /// Whether the request contains the password, or no password is required. Any user name is accepted.
    fn is_allowed(&self, headers: &HeaderMap) -> bool {
        let Some(password) = &self.password else {
            return true;
        };
        let value = headers
            .get(header::AUTHORIZATION)
            .and_then(|value| value.to_str().ok());
        let encoded = value.and_then(|value| value.strip_prefix("Basic "));
        let login = encoded.and_then(|encoded| STANDARD.decode(encoded).ok());
        let login = login.and_then(|bytes| String::from_utf8(bytes).ok());
        login.is_some_and(|login| {
            login
                .split_once(':')
                .is_some_and(|(_, given)| *given == **password)
        })
    }

    fn with_entries<R>(&self, operation: impl FnOnce(&mut Entries) -> R) -> R {
        operation(&mut self.entries.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

async fn find(
    State(service): State<Service>,
    Query(parameters): Query<Parameters>,
    headers: HeaderMap,
) -> TextResponse {
    if !service.is_allowed(&headers) {
        return unauthorized_response();
    }
    match service.with_entries(|entries| entries.get(&parameters.key, now())) {
        Some(text) => (StatusCode::OK, text),
        None => (StatusCode::NOT_FOUND, "no entry\n".to_owned()),
    }
}

async fn store(
    State(service): State<Service>,
    Query(parameters): Query<Parameters>,
    headers: HeaderMap,
    body: String,
) -> TextResponse {
    if !service.is_allowed(&headers) {
        return unauthorized_response();
    }
    match service.with_entries(|entries| entries.put(&parameters.key, body, now())) {
        Ok(()) => (StatusCode::OK, String::new()),
        Err(Rejection::Invalid(reason)) => (StatusCode::BAD_REQUEST, format!("{reason}\n")),
        Err(Rejection::Taken) => (
            StatusCode::CONFLICT,
            "another run has published this key\n".to_owned(),
        ),
        Err(Rejection::Full) => (StatusCode::INSUFFICIENT_STORAGE, "too many entries\n".to_owned()),
    }
}

async fn remove(
    State(service): State<Service>,
    Query(parameters): Query<Parameters>,
    headers: HeaderMap,
) -> TextResponse {
    if !service.is_allowed(&headers) {
        return unauthorized_response();
    }
    service.with_entries(|entries| entries.remove(&parameters.key, parameters.run.as_deref()));
    (StatusCode::OK, String::new())
}

fn unauthorized_response() -> TextResponse {
    (StatusCode::UNAUTHORIZED, "a password is required\n".to_owned())
}

/// Current time in seconds since 1970 (UTC).
fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |duration| duration.as_secs())
}
