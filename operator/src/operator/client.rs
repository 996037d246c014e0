//! The way to the API server: from a kubeconfig or from inside a pod. I/O.

use std::time::Duration;

use hyper_util::client::legacy::Client as Connections;
use hyper_util::client::legacy::connect::{Connect, HttpConnector};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use kube::client::retry::RetryPolicy;
use kube::client::{Body, ConfigExt};
use kube::{Client, Config};
use snafu::{ResultExt, Snafu};
use tower::layer::util::Stack;
use tower::limit::{ConcurrencyLimitLayer, RateLimitLayer};
use tower::retry::RetryLayer;
use tower::{BoxError, ServiceBuilder};

use super::Metrics;
use super::api_latency::ApiLatencyLayer;
use super::options::RequestLimits;

/// An API server that does not answer a connection attempt for so long is not there.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// A connection on which nothing is acknowledged for so long leads nowhere: what waits for an answer begins anew.
const DEAD_AFTER: Duration = Duration::from_secs(30);

/// Most requests that are under way at a time, each on a connection of its own.
const AT_ONCE: usize = 64;

/// A connection without a request for so long is closed: a burst takes many, with 35 KiB each. Longer than from one
/// renewal of the Lease to the next, so that one is always open.
const IDLE_AFTER: Duration = Duration::from_secs(8);

/// Most bytes that are read of a connection at once, and that the head of an answer may have.
const BUFFER: usize = 16 << 10;

/// Why there is no way to an API server.
#[derive(Debug, Snafu)]
pub enum ClientError {
    /// Neither a kubeconfig nor a pod's account.
    #[snafu(display(
        "no way to a cluster: {source}. Set KUBECONFIG, or run in a pod with a service account"
    ))]
    Config {
        /// What was tried.
        source: kube::config::InferConfigError,
    },
    /// Certificates or keys that cannot be used.
    #[snafu(display("the cluster's certificates or credentials cannot be used: {source}"))]
    Build {
        /// Why not.
        source: kube::Error,
    },
}

/// Two ways to the same API server.
#[derive(Clone)]
pub(crate) struct Clients {
    /// For reconciling, within the limits.
    pub(crate) limited: Client,
    /// For the Lease, watches and logs: a backlog of reconciles must neither cost leadership nor hold up what it waits for.
    pub(crate) unlimited: Client,
}

/// Builds the clients; nothing is sent yet.
pub(super) async fn connect(limits: &RequestLimits, metrics: &Metrics) -> Result<Clients, ClientError> {
    let config = Config::infer().await.context(ConfigSnafu)?;
    let measured = ApiLatencyLayer::new(metrics.clone());
    let period = Duration::from_secs_f64(f64::from(limits.burst) / f64::from(limits.per_second));
    let rate = RateLimitLayer::new(limits.burst.into(), period);
    let connections = connections(&config).context(BuildSnafu)?;
    let limited = (rate, ConcurrencyLimitLayer::new(AT_ONCE));
    let limited = client(&config, &connections, &measured, Some(limited)).context(BuildSnafu)?;
    let unlimited = client(&config, &connections, &measured, None).context(BuildSnafu)?;
    Ok(Clients { limited, unlimited })
}

/// Connections, one for each request that is under way.
///
/// The library's own leaves it to the kernel to hold back the end of a request until its beginning is acknowledged, which
/// takes 40 ms where the other side delays that.
fn connections(
    config: &Config,
) -> kube::Result<Connections<impl Connect + Clone + Send + Sync + 'static, Body>> {
    let mut connector = HttpConnector::new();
    connector.enforce_http(false);
    connector.set_nodelay(true);
    connector.set_connect_timeout(Some(CONNECT_TIMEOUT));
    connector.set_keepalive(Some(DEAD_AFTER / 2));
    connector.set_tcp_user_timeout(Some(DEAD_AFTER));
    let connector = config.rustls_https_connector_with_connector(connector)?;
    Ok(Connections::builder(TokioExecutor::new())
        .pool_idle_timeout(IDLE_AFTER)
        .pool_timer(TokioTimer::new())
        .http1_max_buf_size(BUFFER)
        .build(connector))
}

/// A client within `limits`.
fn client(
    config: &Config,
    connections: &Connections<impl Connect + Clone + Send + Sync + 'static, Body>,
    measured: &ApiLatencyLayer,
    limits: Option<(RateLimitLayer, ConcurrencyLimitLayer)>,
) -> kube::Result<Client> {
    let service = ServiceBuilder::new()
        .option_layer(limits)
        .layer(measured_retries(measured))
        .layer(config.base_uri_layer())
        .option_layer(config.auth_layer()?)
        .layer(config.extra_headers_layer()?)
        .map_err(BoxError::from)
        .service(connections.clone());
    Ok(Client::new(service, config.default_namespace.as_str()))
}

/// Asks again where the server asks for it. Each answer is measured by itself: measured around the retries, a server that
/// turns requests away would look like a slow one that does not.
fn measured_retries(measured: &ApiLatencyLayer) -> Stack<ApiLatencyLayer, RetryLayer<RetryPolicy>> {
    Stack::new(measured.clone(), RetryLayer::new(RetryPolicy::server_retry()))
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use http::{Request, Response};
    use tower::{Layer, ServiceExt, service_fn};

    use super::*;

    #[tokio::test]
    async fn an_answer_that_is_not_the_last_is_counted_too() {
        let metrics = Metrics::new().unwrap();
        let answers = Arc::new(Mutex::new([429, 200].into_iter()));
        let server = service_fn(move |_: Request<Body>| {
            let status = answers.lock().unwrap().next().expect("two requests");
            let answer = Response::builder().status(status).body(());
            async { answer.map_err(BoxError::from) }
        });
        let client = measured_retries(&ApiLatencyLayer::new(metrics.clone())).layer(server);
        let request = Request::get("/api/v1/nodes").body(Body::empty()).unwrap();
        let answer = client.oneshot(request).await.unwrap();
        assert_eq!(answer.status(), 200);
        let text = metrics.text().unwrap();
        for status in [429, 200] {
            let line = format!(
                "fabricbench_api_request_duration_seconds_count{{status=\"{status}\",verb=\"list\"}} 1"
            );
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
    }
}
