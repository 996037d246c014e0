//! HTTP server for `/healthz` and `/readyz`, which everyone may read, and for `/metrics`. Performs I/O.

use std::fmt;
use std::iter;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use futures::{Stream, StreamExt, stream};
use http::header::{CONTENT_TYPE, WWW_AUTHENTICATE};
use http::{HeaderMap, StatusCode};
use tokio::net::TcpListener;
use tower::limit::GlobalConcurrencyLimitLayer;
use tracing::warn;

use super::metrics_access::{self, Decision, MetricsAccess};
use crate::metrics::operator::Metrics;
use crate::readiness::Readiness;
use crate::results::Results;

/// Maximum number of concurrent requests for the metrics. Further requests wait. The health probes do not wait for them.
const MAX_REQUESTS: usize = 16;

#[derive(Clone)]
struct Resources {
    metrics: Metrics,
    access: MetricsAccess,
    readiness: Readiness,
    results: Results,
}

/// Serves requests until the listener fails.
pub(super) async fn serve(
    listener: TcpListener,
    metrics: Metrics,
    access: MetricsAccess,
    readiness: Readiness,
    results: Results,
) -> std::io::Result<()> {
    let served = Resources {
        metrics,
        access,
        readiness,
        results,
    };
    axum::serve(listener, routes(served)).await
}

fn routes(served: Resources) -> Router {
    Router::new()
        // This is served by the thread that reconciles, so that the probe fails if a reconciliation blocks that thread.
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(readyz))
        .route(
            metrics_access::PATH,
            get(scrape).layer(GlobalConcurrencyLimitLayer::new(MAX_REQUESTS)),
        )
        .with_state(served)
}

async fn readyz(State(served): State<Resources>) -> (StatusCode, &'static str) {
    match served.readiness.ready() {
        true => (StatusCode::OK, "ok\n"),
        false => (StatusCode::SERVICE_UNAVAILABLE, "the caches are not synced\n"),
    }
}

async fn scrape(State(served): State<Resources>, headers: HeaderMap) -> Response {
    match served.access.decide(&headers).await {
        Ok(Decision::Allowed) => {}
        Ok(Decision::Unauthenticated) => {
            let text =
                "the metrics need the bearer token of a user who may get the nonResourceURL /metrics\n";
            return (StatusCode::UNAUTHORIZED, [(WWW_AUTHENTICATE, "Bearer")], text).into_response();
        }
        Ok(Decision::Forbidden) => {
            let text = "the user of this token may not get the nonResourceURL /metrics. Bind the user to a ClusterRole that \
                        permits it\n";
            return (StatusCode::FORBIDDEN, text).into_response();
        }
        Err(error) => {
            warn!(%error, "a request for the metrics was refused");
            return (StatusCode::SERVICE_UNAVAILABLE, format!("{error}\n")).into_response();
        }
    }
    match served.metrics.text() {
        Ok(own) => {
            let body = Body::from_stream(stream_metrics(own, served.results.metric_texts()));
            ([(CONTENT_TYPE, prometheus::TEXT_FORMAT)], body).into_response()
        }
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")).into_response(),
    }
}

/// Streams the operator's metrics, then the results, one metric at a time. Each metric is formatted only after the
/// previous one has been sent.
fn stream_metrics(
    own: String,
    results: impl Iterator<Item = Result<String, fmt::Error>> + Send,
) -> impl Stream<Item = Result<String, fmt::Error>> + Send {
    stream::iter(iter::once(Ok(own)).chain(results)).then(|piece| async {
        // Formatting runs on the thread that reconciles, so it yields to other tasks after each metric.
        tokio::task::yield_now().await;
        piece
    })
}

#[cfg(test)]
mod tests {
    use http::Request;
    use kube::client::Body as KubeBody;
    use tower::ServiceExt;

    use super::*;

    async fn status_of(readiness: &Readiness, path: &str) -> StatusCode {
        status_with(MetricsAccess::Open, readiness, path).await
    }

    async fn status_with(access: MetricsAccess, readiness: &Readiness, path: &str) -> StatusCode {
        let routes = routes(Resources {
            metrics: Metrics::new().unwrap(),
            access,
            readiness: readiness.clone(),
            results: Results::new(1000),
        });
        let request = Request::get(path).body(Body::empty()).unwrap();
        routes.oneshot(request).await.unwrap().status()
    }

    #[tokio::test]
    async fn ready_on_standby_or_with_complete_caches() {
        let readiness = Readiness::default();
        assert_eq!(status_of(&readiness, "/healthz").await, StatusCode::OK);
        assert_eq!(
            status_of(&readiness, "/readyz").await,
            StatusCode::SERVICE_UNAVAILABLE
        );
        readiness.set_standby();
        assert_eq!(status_of(&readiness, "/readyz").await, StatusCode::OK);
        readiness.set_caches_complete(false);
        assert_eq!(
            status_of(&readiness, "/readyz").await,
            StatusCode::SERVICE_UNAVAILABLE
        );
        readiness.set_caches_complete(true);
        assert_eq!(status_of(&readiness, "/readyz").await, StatusCode::OK);
        assert_eq!(status_of(&readiness, "/metrics").await, StatusCode::OK);
        assert_eq!(status_of(&readiness, "/else").await, StatusCode::NOT_FOUND);
    }

    #[tokio::test]
    async fn probes_need_no_right_and_metrics_without_a_token_are_refused() {
        let (service, _handle) = tower_test::mock::pair::<Request<KubeBody>, http::Response<KubeBody>>();
        let access = MetricsAccess::authorized(kube::Client::new(service, "default"));
        let readiness = Readiness::default();
        readiness.set_standby();
        for (path, expected) in [
            ("/healthz", StatusCode::OK),
            ("/readyz", StatusCode::OK),
            ("/metrics", StatusCode::UNAUTHORIZED),
        ] {
            assert_eq!(
                status_with(access.clone(), &readiness, path).await,
                expected,
                "{path}"
            );
        }
    }
}
