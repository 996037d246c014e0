//! Measures the time from sending an API server request to receiving the response headers, and reads the API server's clock from
//! these headers.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

use http::{Method, Request, Response, Uri};
use tower::{Layer, Service};

use super::Clock;
use crate::metrics::operator::Metrics;

/// Layer that wraps a client's service in [`ApiLatency`].
#[derive(Clone)]
pub(super) struct ApiLatencyLayer {
    metrics: Metrics,
    clock: Clock,
}

impl ApiLatencyLayer {
    pub(super) fn new(metrics: Metrics, clock: Clock) -> Self {
        Self { metrics, clock }
    }
}

impl<S> Layer<S> for ApiLatencyLayer {
    type Service = ApiLatency<S>;

    fn layer(&self, inner: S) -> ApiLatency<S> {
        ApiLatency {
            inner,
            metrics: self.metrics.clone(),
            clock: self.clock.clone(),
        }
    }
}

/// Service that measures the latency of its requests, and sets the clock.
#[derive(Clone)]
pub(super) struct ApiLatency<S> {
    inner: S,
    metrics: Metrics,
    clock: Clock,
}

impl<S, In, Out> Service<Request<In>> for ApiLatency<S>
where
    S: Service<Request<In>, Response = Response<Out>>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<In>) -> Self::Future {
        let verb = verb(request.method(), request.uri());
        let (metrics, clock) = (self.metrics.clone(), self.clock.clone());
        let response = self.inner.call(request);
        let started = Instant::now();
        Box::pin(async move {
            let response = response.await;
            let received = Instant::now();
            let status = response.as_ref().ok().map(|head| head.status());
            metrics.api_request(verb, status, received.duration_since(started));
            if let Ok(head) = &response {
                clock.observe(head, started, received);
            }
            response
        })
    }
}

/// Returns the RBAC verb of a request, or `log` for pod logs.
fn verb(method: &Method, uri: &Uri) -> &'static str {
    match method.as_str() {
        "POST" => "create",
        "PUT" => "update",
        "PATCH" => "patch",
        "DELETE" => "delete",
        "GET" => read_verb(uri),
        _ => "other",
    }
}

fn read_verb(uri: &Uri) -> &'static str {
    let query = uri.query().unwrap_or_default();
    if query
        .split('&')
        .any(|field| field == "watch=true" || field == "watch=1")
    {
        return "watch";
    }
    let mut parts: Vec<&str> = uri.path().split('/').filter(|part| !part.is_empty()).collect();
    if parts.last() == Some(&"log") {
        return "log";
    }
    // The resource follows api/VERSION or apis/GROUP/VERSION, and namespaces/NAME for namespaced resources.
    let head = if parts.first() == Some(&"api") { 2 } else { 3 };
    parts.drain(..head.min(parts.len()));
    if parts.first() == Some(&"namespaces") && parts.len() > 2 {
        parts.drain(..2);
    }
    if parts.len() == 1 { "list" } else { "get" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uses_rbac_verbs() {
        let of = |method: Method, uri: &str| verb(&method, &uri.parse().unwrap());
        let runs = "/apis/fabricbench.dev/v1alpha1/benchmarkruns";
        assert_eq!(of(Method::GET, runs), "list");
        assert_eq!(of(Method::GET, &format!("{runs}?&watch=true&x=1")), "watch");
        assert_eq!(of(Method::GET, "/api/v1/nodes/a"), "get");
        assert_eq!(of(Method::GET, "/api/v1/namespaces/n/pods"), "list");
        assert_eq!(of(Method::GET, "/api/v1/namespaces/n/pods/p"), "get");
        assert_eq!(of(Method::GET, "/api/v1/namespaces/n"), "get");
        assert_eq!(
            of(Method::GET, "/api/v1/namespaces/n/pods/p/log?follow=true"),
            "log"
        );
        assert_eq!(of(Method::PATCH, "/api/v1/namespaces/n/pods/p"), "patch");
        assert_eq!(of(Method::POST, "/apis/batch/v1/namespaces/n/jobs"), "create");
    }
}
