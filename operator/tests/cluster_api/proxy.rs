//! A door between operator and API server that counts what goes through, and kills the operator at a write.
//!
//! It passes on whatever the operator says of who it is, so that the API server decides what it may.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::response::Response;
use http::{Method, StatusCode, Uri};
use kube::Client;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// When the operator is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// Before the API server gets the write.
    Before,
    /// After it has done it, before the operator knows.
    After,
}

/// The operator with process `victim` dies at its write number `write`, from 0.
#[derive(Clone, Copy, Debug)]
pub struct Shot {
    pub write: usize,
    pub moment: Moment,
    pub victim: u32,
}

/// How the API server behind the door looks.
#[derive(Clone, Debug, Default)]
pub struct Manner {
    /// Token that the operator has; nothing where the door itself may do anything.
    pub token: Option<String>,
    /// The one namespace whose runs are seen by who asks for those of all.
    pub only: Option<String>,
    /// Whether it refuses lists that are the beginning of a watch, as older API servers do.
    pub lists_first: bool,
}

#[derive(Default)]
struct Inner {
    writes: Vec<String>,
    shot: Option<Shot>,
    fired: bool,
}

/// The door; dropping it closes it.
pub struct Proxy {
    inner: Arc<Mutex<Inner>>,
    pub kubeconfig: PathBuf,
    server: JoinHandle<()>,
    _folder: tempfile::TempDir,
}

#[derive(Clone)]
struct Served {
    client: Client,
    inner: Arc<Mutex<Inner>>,
    manner: Manner,
}

impl Proxy {
    /// For an operator that may do anything.
    pub async fn open(client: &Client) -> Self {
        Self::with(client, Manner::default()).await
    }

    /// In this manner; `client` needs no rights where the operator has a token.
    pub async fn with(client: &Client, manner: Manner) -> Self {
        let inner = Arc::new(Mutex::new(Inner::default()));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let served = Served {
            client: client.clone(),
            inner: Arc::clone(&inner),
            manner: manner.clone(),
        };
        let routes = Router::new().fallback(pass).with_state(served);
        let server = tokio::spawn(async move { axum::serve(listener, routes).await.unwrap() });
        let folder = tempfile::tempdir().unwrap();
        let kubeconfig = folder.path().join("kubeconfig");
        let token = manner.token.map(|token| json!({"token": token}));
        let text = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "a",
            "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
            "users": [{"name": "a", "user": token.unwrap_or_else(|| json!({}))}],
            "clusters": [{"name": "a", "cluster": {"server": format!("http://{address}")}}],
        });
        std::fs::write(&kubeconfig, text.to_string()).unwrap();
        Self {
            inner,
            kubeconfig,
            server,
            _folder: folder,
        }
    }

    /// Writes so far, as `METHOD PATH`, without those to Leases.
    pub fn writes(&self) -> Vec<String> {
        self.inner.lock().unwrap().writes.clone()
    }

    pub fn arm(&self, shot: Shot) {
        let mut inner = self.inner.lock().unwrap();
        inner.shot = Some(shot);
        inner.fired = false;
    }

    pub fn fired(&self) -> bool {
        self.inner.lock().unwrap().fired
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.server.abort();
    }
}

fn fire(served: &Served, index: usize, moment: Moment) -> bool {
    let mut inner = served.inner.lock().unwrap();
    let due = |shot: &Shot| shot.write == index && shot.moment == moment;
    let Some(shot) = inner.shot.take_if(|shot| due(shot)) else {
        return false;
    };
    let victim = Pid::from_raw(i32::try_from(shot.victim).unwrap()).unwrap();
    kill_process(victim, Signal::KILL).unwrap();
    inner.fired = true;
    true
}

async fn pass(State(served): State<Served>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, 8 << 20).await.unwrap();
    let path = parts.uri.path().to_owned();
    let is_write = parts.method != Method::GET && !path.contains("/leases");
    let index = {
        let mut inner = served.inner.lock().unwrap();
        if is_write {
            inner.writes.push(format!("{} {path}", parts.method));
        }
        inner.writes.len().wrapping_sub(1)
    };
    if is_write && fire(&served, index, Moment::Before) {
        return gone();
    }
    if served.manner.lists_first && is_streamed_list(&parts.uri) {
        return unknown_list();
    }
    let uri = served.manner.narrowed(&parts.uri);
    let mut request = http::Request::builder().method(parts.method).uri(uri);
    for (name, value) in &parts.headers {
        if name != http::header::HOST && name != http::header::CONTENT_LENGTH {
            request = request.header(name, value);
        }
    }
    let request = request.body(kube::client::Body::from(body.to_vec())).unwrap();
    let answer = served.client.send(request).await;
    if is_write && fire(&served, index, Moment::After) {
        return gone();
    }
    match answer {
        Ok(answer) => answer.map(Body::new),
        Err(_) => gone(),
    }
}

impl Manner {
    /// `uri` for the runs of one namespace, where it is for those of all. Whoever asks still needs the right to all.
    fn narrowed(&self, uri: &Uri) -> Uri {
        let all = uri.path() == "/apis/fabricbench.dev/v1alpha1/benchmarkruns";
        let Some(namespace) = self.only.as_ref().filter(|_| all) else {
            return uri.clone();
        };
        let query = uri.query().unwrap_or_default();
        let narrowed = format!(
            "{}?{query}&fieldSelector=metadata.namespace%3D{namespace}",
            uri.path()
        );
        narrowed.parse().unwrap()
    }
}

fn is_streamed_list(uri: &Uri) -> bool {
    uri.query()
        .is_some_and(|query| query.contains("sendInitialEvents=true"))
}

/// As an API server answers whose feature gate WatchList is off.
fn unknown_list() -> Response {
    let status = json!({
        "apiVersion": "v1", "kind": "Status", "status": "Failure", "reason": "Invalid", "code": 422,
        "message": "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled",
    });
    let mut response = Response::new(Body::from(status.to_string()));
    *response.status_mut() = StatusCode::UNPROCESSABLE_ENTITY;
    response
}

fn gone() -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::BAD_GATEWAY;
    response
}
