//! A proxy between the operator and the API server that records requests, can kill the operator at a given write, and
//! can inject faults.
//!
//! It forwards the operator's credentials, so the API server applies the operator's permissions.

mod faults;
mod kubelet_clock;

use std::collections::BTreeMap;
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
use tokio::time::sleep;

use faults::{Fault, Faults};

/// When the operator is killed, relative to the write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// Before the API server receives the write.
    Before,
    /// After the API server has executed the write, but before the operator receives the response.
    After,
}

/// The write at which the operator is killed.
#[derive(Clone, Debug)]
pub struct KillPoint {
    /// Kind of the write, as returned by [`kind_of_write`]; `None` for any kind.
    pub kind: Option<String>,
    /// Index among the writes of this kind, starting at 0.
    pub index: usize,
    /// Whether the operator is killed before or after the write.
    pub moment: Moment,
    /// Process ID of the operator.
    pub pid: u32,
}

/// Proxy options.
#[derive(Clone, Debug, Default)]
pub struct ProxyOptions {
    /// Bearer token for the operator's kubeconfig; if `None`, the operator has the permissions of the proxy's client.
    pub token: Option<String>,
    /// Namespace to which requests for runs in all namespaces are restricted; `None` for no restriction.
    pub namespace: Option<String>,
    /// Whether the proxy rejects streaming lists, as older API servers do.
    pub no_streaming_lists: bool,
    /// Seed and probability of faults; `None` for a proxy without faults.
    pub faults: Option<(u64, f64)>,
    /// Seconds by which the clocks of all kubelets are ahead; negative if they are behind.
    pub kubelets_ahead: i64,
}

#[derive(Default)]
struct Inner {
    requests: u64,
    writes: Vec<String>,
    faults: Option<Faults>,
    kill_point: Option<KillPoint>,
    has_killed: bool,
}

/// A running proxy. Dropping it stops the server.
pub struct Proxy {
    inner: Arc<Mutex<Inner>>,
    /// Path of a kubeconfig for the proxy.
    pub kubeconfig: PathBuf,
    server: JoinHandle<()>,
    _directory: tempfile::TempDir,
}

#[derive(Clone)]
struct ProxyResources {
    client: Client,
    inner: Arc<Mutex<Inner>>,
    options: ProxyOptions,
}

impl Proxy {
    /// Starts a proxy for an operator with the permissions of `client`.
    pub async fn open(client: &Client) -> Self {
        Self::with_options(client, ProxyOptions::default()).await
    }

    /// Starts a proxy with `options`. `client` needs no permissions if the operator has a token.
    pub async fn with_options(client: &Client, options: ProxyOptions) -> Self {
        let inner = Arc::new(Mutex::new(Inner {
            faults: options
                .faults
                .map(|(seed, probability)| Faults::new(seed, probability)),
            ..Inner::default()
        }));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let served = ProxyResources {
            client: client.clone(),
            inner: Arc::clone(&inner),
            options: options.clone(),
        };
        let routes = Router::new().fallback(forward).with_state(served);
        let server = tokio::spawn(async move { axum::serve(listener, routes).await.unwrap() });
        let directory = tempfile::tempdir().unwrap();
        let kubeconfig = directory.path().join("kubeconfig");
        let token = options.token.map(|token| json!({"token": token}));
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
            _directory: directory,
        }
    }

    /// Returns the writes so far, each as `METHOD PATH`, excluding writes to Leases.
    pub fn writes(&self) -> Vec<String> {
        self.inner.lock().unwrap().writes.clone()
    }

    /// Returns the number of requests so far, excluding those for Leases.
    pub fn requests(&self) -> u64 {
        self.inner.lock().unwrap().requests
    }

    /// Returns the number of faults so far, by kind.
    pub fn faults(&self) -> BTreeMap<&'static str, u64> {
        let inner = self.inner.lock().unwrap();
        inner.faults.as_ref().map(Faults::counts).unwrap_or_default()
    }

    /// Schedules the operator to be killed at `kill_point`.
    pub fn kill_at(&self, kill_point: KillPoint) {
        let mut inner = self.inner.lock().unwrap();
        inner.kill_point = Some(kill_point);
        inner.has_killed = false;
    }

    /// Whether the operator was killed.
    pub fn has_killed(&self) -> bool {
        self.inner.lock().unwrap().has_killed
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.server.abort();
    }
}

/// Returns the kind of a write, which is a method and a resource, such as `PATCH benchmarkruns/status`.
pub fn kind_of_write(write: &str) -> String {
    let (method, path) = write.split_once(' ').unwrap();
    let resource = path.split('/').skip_while(|part| *part != "namespaces").skip(2);
    let parts: Vec<_> = resource.collect();
    match parts[..] {
        [resource] | [resource, _] => format!("{method} {resource}"),
        [resource, _, subresource] => format!("{method} {resource}/{subresource}"),
        _ => write.to_owned(),
    }
}

/// Kills the operator if the kill point matches `moment` and the write with index `index` among all writes. Returns
/// whether the operator was killed.
fn kill_if_due(served: &ProxyResources, index: usize, moment: Moment) -> bool {
    let mut inner = served.inner.lock().unwrap();
    let Inner {
        writes, kill_point, ..
    } = &mut *inner;
    let is_due = |point: &KillPoint| {
        let counts = |write: &String| {
            point
                .kind
                .as_ref()
                .is_none_or(|kind| *kind == kind_of_write(write))
        };
        let previous = writes[..index].iter().filter(|write| counts(write)).count();
        counts(&writes[index]) && previous == point.index && point.moment == moment
    };
    let Some(point) = kill_point.take_if(|point| is_due(point)) else {
        return false;
    };
    let pid = Pid::from_raw(i32::try_from(point.pid).unwrap()).unwrap();
    kill_process(pid, Signal::KILL).unwrap();
    inner.has_killed = true;
    true
}

async fn forward(State(served): State<ProxyResources>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, 8 << 20).await.unwrap();
    let path = parts.uri.path().to_owned();
    let is_lease = path.contains("/leases");
    let is_write = parts.method != Method::GET && !is_lease;
    let (index, fault) = {
        let mut inner = served.inner.lock().unwrap();
        if is_write {
            inner.writes.push(format!("{} {path}", parts.method));
        }
        inner.requests += u64::from(!is_lease);
        let faults = inner.faults.as_mut();
        let fault = faults.and_then(|faults| faults.draw(&parts.method, &parts.uri));
        (inner.writes.len().wrapping_sub(1), fault)
    };
    match fault {
        Some(Fault::Delay(delay)) => sleep(delay).await,
        Some(Fault::Reject(status, reason)) => return faults::error(status, reason),
        Some(Fault::LoseRequest) => return faults::reset(),
        Some(Fault::Expire) => return faults::expired_response(),
        Some(Fault::LoseResponse | Fault::EndStream(..)) | None => {}
    }
    if is_write && kill_if_due(&served, index, Moment::Before) {
        return bad_gateway();
    }
    if served.options.no_streaming_lists && is_streamed_list(&parts.uri) {
        return streaming_list_rejection();
    }
    let has_pods = kubelet_clock::has_pods(&parts.uri);
    let uri = served.options.restrict(&parts.uri);
    let mut request = http::Request::builder().method(parts.method).uri(uri);
    for (name, value) in &parts.headers {
        if name != http::header::HOST && name != http::header::CONTENT_LENGTH {
            request = request.header(name, value);
        }
    }
    let request = request.body(kube::client::Body::from(body.to_vec())).unwrap();
    let response = served.client.send(request).await;
    if is_write && kill_if_due(&served, index, Moment::After) {
        return bad_gateway();
    }
    match (response, fault) {
        (_, Some(Fault::LoseResponse)) => faults::reset(),
        (Ok(response), Some(Fault::EndStream(duration, is_reset))) => {
            faults::end_after(response.map(Body::new), duration, is_reset)
        }
        (Ok(response), _) => match served.options.kubelets_ahead {
            0 => response.map(Body::new),
            ahead if has_pods => kubelet_clock::shift(response.map(Body::new), ahead),
            _ => response.map(Body::new),
        },
        (Err(_), _) => bad_gateway(),
    }
}

impl ProxyOptions {
    /// Restricts a request for runs in all namespaces to one namespace with a field selector. The operator still needs
    /// permission for all namespaces.
    fn restrict(&self, uri: &Uri) -> Uri {
        let is_for_all = uri.path() == "/apis/fabricbench.dev/v1alpha1/benchmarkruns";
        let Some(namespace) = self.namespace.as_ref().filter(|_| is_for_all) else {
            return uri.clone();
        };
        let query = uri.query().unwrap_or_default();
        let restricted = format!(
            "{}?{query}&fieldSelector=metadata.namespace%3D{namespace}",
            uri.path()
        );
        restricted.parse().unwrap()
    }
}

fn is_streamed_list(uri: &Uri) -> bool {
    uri.query()
        .is_some_and(|query| query.contains("sendInitialEvents=true"))
}

/// Returns the response of an API server whose `WatchList` feature gate is disabled.
fn streaming_list_rejection() -> Response {
    let status = json!({
        "apiVersion": "v1", "kind": "Status", "status": "Failure", "reason": "Invalid", "code": 422,
        "message": "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled",
    });
    let mut response = Response::new(Body::from(status.to_string()));
    *response.status_mut() = StatusCode::UNPROCESSABLE_ENTITY;
    response
}

fn bad_gateway() -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::BAD_GATEWAY;
    response
}
