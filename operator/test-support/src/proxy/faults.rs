//! Random API server and connection faults.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use futures::StreamExt;
use futures::stream;
use http::{Method, StatusCode, Uri, header};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::json;
use tokio::time::sleep;

/// Maximum delay of a request.
const MAX_DELAY: Duration = Duration::from_millis(1500);
/// Maximum time until a watch or log is interrupted.
const MAX_STREAM: Duration = Duration::from_secs(4);

/// Draws a fault for some of the requests.
#[derive(Debug)]
pub(super) struct Faults {
    random: ChaCha8Rng,
    /// Probability that a request is faulty.
    probability: f64,
    counts: BTreeMap<&'static str, u64>,
}

/// A fault that affects one request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Fault {
    /// The API server receives the request late.
    Delay(Duration),
    /// The request is not executed, and the response is this error.
    Reject(StatusCode, &'static str),
    /// The request is not executed, and the connection fails.
    LoseRequest,
    /// The request is executed, and the connection fails before the response is received.
    LoseResponse,
    /// The resource version of a watch is too old.
    Expire,
    /// A watch or log ends after this time. If the flag is true, it ends with a connection error.
    EndStream(Duration, bool),
}

impl Fault {
    fn name(self) -> &'static str {
        match self {
            Self::Delay(_) => "delayed",
            Self::Reject(_, reason) => reason,
            Self::LoseRequest => "request lost",
            Self::LoseResponse => "response lost",
            Self::Expire => "watch expired",
            Self::EndStream(_, true) => "stream reset",
            Self::EndStream(_, false) => "stream ended",
        }
    }
}

impl Faults {
    pub(super) fn new(seed: u64, probability: f64) -> Self {
        Self {
            random: ChaCha8Rng::seed_from_u64(seed),
            probability,
            counts: BTreeMap::new(),
        }
    }

    /// Returns the number of faults so far, by kind.
    pub(super) fn counts(&self) -> BTreeMap<&'static str, u64> {
        self.counts.clone()
    }

    /// Draws a fault for a request, or `None` for most requests. Every watch and every followed log gets a fault,
    /// because these streams are opened so rarely that few would get one by chance. If no other fault is drawn for a
    /// stream, a log ends early, in one third of these cases before its first byte, and a watch ends early or, in one
    /// third of these cases, expires.
    pub(super) fn draw(&mut self, method: &Method, uri: &Uri) -> Option<Fault> {
        let query = uri.query().unwrap_or_default();
        let is_watch = query.contains("watch=true");
        let is_stream = is_watch || query.contains("follow=true");
        let duration = |random: &mut ChaCha8Rng, max: Duration| max.mul_f64(random.random_range(0.0..1.0));
        let is_empty = !is_watch && self.random.random_ratio(1, 3);
        let max_stream = if is_empty { Duration::ZERO } else { MAX_STREAM };
        let end = Fault::EndStream(
            duration(&mut self.random, max_stream),
            self.random.random_bool(0.5),
        );
        if !self.random.random_bool(self.probability) {
            let end = if is_watch && self.random.random_ratio(1, 3) {
                Fault::Expire
            } else {
                end
            };
            return is_stream.then(|| self.count(end));
        }
        let mut faults = vec![
            Fault::Delay(duration(&mut self.random, MAX_DELAY)),
            Fault::Reject(StatusCode::TOO_MANY_REQUESTS, "TooManyRequests"),
            Fault::Reject(StatusCode::INTERNAL_SERVER_ERROR, "InternalError"),
            Fault::Reject(StatusCode::SERVICE_UNAVAILABLE, "ServiceUnavailable"),
            Fault::LoseRequest,
        ];
        if is_watch {
            faults.push(Fault::Expire);
        }
        if *method != Method::GET {
            faults.push(Fault::LoseResponse);
        }
        // An API server reports conflicts only for changes to existing objects.
        if [Method::PUT, Method::PATCH].contains(method) {
            faults.push(Fault::Reject(StatusCode::CONFLICT, "Conflict"));
        }
        let fault = faults[self.random.random_range(0..faults.len())];
        Some(self.count(fault))
    }

    fn count(&mut self, fault: Fault) -> Fault {
        *self.counts.entry(fault.name()).or_default() += 1;
        fault
    }
}

/// Returns an API server's error response with the HTTP status `status`.
pub(super) fn error(status: StatusCode, reason: &str) -> Response {
    let body = json!({
        "apiVersion": "v1", "kind": "Status", "metadata": {}, "status": "Failure", "reason": reason,
        "code": status.as_u16(), "message": format!("{reason}: a fault injected by the test proxy"),
    });
    let mut response = Response::new(Body::from(body.to_string()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        header::HeaderValue::from_static("application/json"),
    );
    if status == StatusCode::TOO_MANY_REQUESTS {
        headers.insert(header::RETRY_AFTER, header::HeaderValue::from_static("1"));
    }
    response
}

/// Returns the response to a watch whose resource version is too old.
pub(super) fn expired_response() -> Response {
    let status = json!({
        "apiVersion": "v1", "kind": "Status", "metadata": {}, "status": "Failure", "reason": "Expired", "code": 410,
        "message": "too old resource version",
    });
    let event = json!({"type": "ERROR", "object": status});
    Response::new(Body::from(format!("{event}\n")))
}

/// Returns a response whose connection fails before the body is complete.
pub(super) fn reset() -> Response {
    Response::new(Body::from_stream(stream::iter([Err::<String, _>(
        connection_reset(),
    )])))
}

/// Ends the body of `response` after `duration`, with a connection error if `is_reset` is true.
pub(super) fn end_after(response: Response, duration: Duration, is_reset: bool) -> Response {
    response.map(|body| {
        let beginning = body
            .into_data_stream()
            .map(|chunk| chunk.map_err(io::Error::other));
        let beginning = beginning.take_until(sleep(duration));
        let end = stream::iter(is_reset.then(|| Err(connection_reset())));
        Body::from_stream(beginning.chain(end))
    })
}

fn connection_reset() -> io::Error {
    io::Error::from(io::ErrorKind::ConnectionReset)
}
