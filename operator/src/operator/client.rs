//! The way to the API server: from a kubeconfig or from inside a pod. I/O.

use std::time::Duration;

use kube::client::ClientBuilder;
use kube::{Client, Config};
use snafu::{ResultExt, Snafu};
use tower::limit::RateLimitLayer;

use super::Metrics;
use super::api_latency::ApiLatencyLayer;
use super::options::RequestLimits;

/// An API server that does not answer a connection attempt for so long is not there.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

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
    let mut config = Config::infer().await.context(ConfigSnafu)?;
    config.connect_timeout = Some(CONNECT_TIMEOUT);
    let measured = ApiLatencyLayer::new(metrics.clone());
    let build = |config: Config| ClientBuilder::try_from(config).context(BuildSnafu);
    let unlimited = build(config.clone())?.with_layer(&measured).build();
    let period = Duration::from_secs_f64(f64::from(limits.burst) / f64::from(limits.per_second));
    let limited = build(config)?
        .with_layer(&measured)
        .with_layer(&RateLimitLayer::new(limits.burst.into(), period))
        .build();
    Ok(Clients { limited, unlimited })
}
