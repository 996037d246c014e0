//! A door between operator and API server that counts what goes through, and kills the operator at a write.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::response::Response;
use http::{Method, StatusCode};
use kube::Client;
use rustix::process::{Pid, Signal, kill_process};
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
}

impl Proxy {
    pub async fn open(client: &Client) -> Self {
        let inner = Arc::new(Mutex::new(Inner::default()));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let served = Served {
            client: client.clone(),
            inner: Arc::clone(&inner),
        };
        let routes = Router::new().fallback(pass).with_state(served);
        let server = tokio::spawn(async move { axum::serve(listener, routes).await.unwrap() });
        let folder = tempfile::tempdir().unwrap();
        let kubeconfig = folder.path().join("kubeconfig");
        let text = format!(
            "{{apiVersion: v1, kind: Config, current-context: a, contexts: [{{name: a, context: {{cluster: a, user: a}}}}], \
             users: [{{name: a, user: {{}}}}], clusters: [{{name: a, cluster: {{server: 'http://{address}'}}}}]}}"
        );
        std::fs::write(&kubeconfig, text).unwrap();
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
    let mut request = http::Request::builder().method(parts.method).uri(parts.uri);
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

fn gone() -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::BAD_GATEWAY;
    response
}
