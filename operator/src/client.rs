//! Clients for the API server, configured from a kubeconfig or a pod's service account. Performs I/O.

mod api_latency;
mod clock;

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

use crate::connection::describe_config;
use crate::metrics::operator::Metrics;
use crate::options::RequestLimits;
use api_latency::ApiLatencyLayer;
pub(crate) use clock::Clock;

/// Timeout for connection attempts to the API server.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// TCP user timeout: if sent data remains unacknowledged for this long, the connection is closed and its requests fail.
const TCP_USER_TIMEOUT: Duration = Duration::from_secs(30);

/// Maximum number of concurrent requests, each on a separate connection.
const MAX_CONCURRENT_REQUESTS: usize = 64;

/// Time after which an idle connection is closed. A burst opens many connections, and each one uses memory. The timeout
/// exceeds the Lease renewal interval, so that the renewals keep one connection open.
const IDLE_TIMEOUT: Duration = Duration::from_secs(8);

/// Error creating the clients for the API server.
#[derive(Debug, Snafu)]
pub(crate) enum ClientError {
    /// No usable kubeconfig or service account was found.
    #[snafu(display("{}", describe_config(source)))]
    Config {
        /// Cause, including the configuration sources that were tried.
        source: kube::config::InferConfigError,
    },
    /// Certificates or credentials are invalid.
    #[snafu(display("invalid certificates or credentials for the cluster: {source}"))]
    Build {
        /// Cause.
        source: kube::Error,
    },
}

/// Clients for one API server.
#[derive(Clone)]
pub(crate) struct Clients {
    /// Rate-limited client for reconciliations.
    pub(crate) limited: Client,
    /// Client for the Lease, watches and logs. It has no rate limit, because these requests must not wait behind a
    /// backlog of requests from reconciliations.
    pub(crate) unlimited: Client,
    /// The API server's clock, which the responses to both clients set.
    pub(crate) clock: Clock,
}

/// Creates the clients without sending a request.
pub(crate) async fn build_clients(limits: &RequestLimits, metrics: &Metrics) -> Result<Clients, ClientError> {
    let config = Config::infer().await.context(ConfigSnafu)?;
    let clock = Clock::local();
    let measured = ApiLatencyLayer::new(metrics.clone(), clock.clone());
    let period = Duration::from_secs_f64(f64::from(limits.burst) / f64::from(limits.per_second));
    let rate = RateLimitLayer::new(limits.burst.into(), period);
    let connections = connections(&config).context(BuildSnafu)?;
    let limited = (rate, ConcurrencyLimitLayer::new(MAX_CONCURRENT_REQUESTS));
    let limited = client(&config, &connections, &measured, Some(limited)).context(BuildSnafu)?;
    let unlimited = client(&config, &connections, &measured, None).context(BuildSnafu)?;
    Ok(Clients {
        limited,
        unlimited,
        clock,
    })
}

/// Creates the connection pool, with one connection per concurrent request.
///
/// The default `kube` connector does not set TCP_NODELAY. Without this option, the kernel holds back the last segment
/// of a request until the previous segments are acknowledged, which takes 40 ms if the server delays acknowledgments.
fn connections(
    config: &Config,
) -> kube::Result<Connections<impl Connect + Clone + Send + Sync + 'static, Body>> {
    let mut connector = HttpConnector::new();
    connector.enforce_http(false);
    connector.set_nodelay(true);
    connector.set_connect_timeout(Some(CONNECT_TIMEOUT));
    connector.set_keepalive(Some(TCP_USER_TIMEOUT / 2));
    connector.set_tcp_user_timeout(Some(TCP_USER_TIMEOUT));
    let connector = config.rustls_https_connector_with_connector(connector)?;
    Ok(Connections::builder(TokioExecutor::new())
        .pool_idle_timeout(IDLE_TIMEOUT)
        .pool_timer(TokioTimer::new())
        .build(connector))
}

/// Creates a client that is subject to `limits`, if any.
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

/// Retries requests to which the API server responds with status 429, 503 or 504.
///
/// Latency is measured separately for each attempt. If it included the retries, rejected requests would appear slow.
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
    async fn counts_every_response_of_a_retried_request() {
        let metrics = Metrics::new().unwrap();
        let responses = Arc::new(Mutex::new([429, 200].into_iter()));
        let server = service_fn(move |_: Request<Body>| {
            let status = responses.lock().unwrap().next().expect("two requests");
            let response = Response::builder().status(status).body(());
            async { response.map_err(BoxError::from) }
        });
        let client = measured_retries(&ApiLatencyLayer::new(metrics.clone(), Clock::local())).layer(server);
        let request = Request::get("/api/v1/nodes").body(Body::empty()).unwrap();
        let response = client.oneshot(request).await.unwrap();
        assert_eq!(response.status(), 200);
        let text = metrics.text().unwrap();
        for status in [429, 200] {
            let line = format!(
                "fabricbench_api_request_duration_seconds_count{{status=\"{status}\",verb=\"list\"}} 1"
            );
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
    }
}
