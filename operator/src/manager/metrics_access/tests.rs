//! Decisions about requests, with a simulated API server. The tests of the API server (`cluster_api`) use a real one.

use std::sync::atomic::{AtomicUsize, Ordering};

use http::{Request, Response};
use kube::client::Body;
use serde_json::{Value, json};
use tower_test::mock;

use super::*;

fn headers(authorization: &str) -> HeaderMap {
    [(AUTHORIZATION, authorization.parse().unwrap())]
        .into_iter()
        .collect()
}

/// Returns access whose API server answers each review by `answer`, with the number of reviews.
fn access(
    answer: impl Fn(&str, Value) -> (u16, Value) + Send + 'static,
) -> (MetricsAccess, Arc<AtomicUsize>) {
    let (service, mut handle) = mock::pair::<Request<Body>, Response<Body>>();
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    tokio::spawn(async move {
        while let Some((request, response)) = handle.next_request().await {
            counted.fetch_add(1, Ordering::SeqCst);
            let (parts, body) = request.into_parts();
            let body = serde_json::from_slice(&body.collect_bytes().await.unwrap()).unwrap();
            let (status, answer) = answer(parts.uri.path(), body);
            let answer = Body::from(serde_json::to_vec(&answer).unwrap());
            response.send_response(Response::builder().status(status).body(answer).unwrap());
        }
    });
    (MetricsAccess::authorized(Client::new(service, "default")), count)
}

/// An API server that knows the tokens `reader` and `other`, and permits only `reader` to read the metrics.
fn reviewed(path: &str, mut review: Value) -> (u16, Value) {
    review["status"] = match path {
        "/apis/authentication.k8s.io/v1/tokenreviews" => match review["spec"]["token"].as_str().unwrap() {
            name @ ("reader" | "other") => json!({
                "authenticated": true,
                "user": {"username": name, "groups": ["system:authenticated"], "extra": {"key": ["value"]}},
            }),
            _ => json!({"authenticated": false, "error": "[invalid bearer token]"}),
        },
        "/apis/authorization.k8s.io/v1/subjectaccessreviews" => {
            let spec = &review["spec"];
            assert_eq!(
                spec["nonResourceAttributes"],
                json!({"path": "/metrics", "verb": "get"})
            );
            assert_eq!(spec["groups"], json!(["system:authenticated"]));
            assert_eq!(spec["extra"], json!({"key": ["value"]}));
            json!({"allowed": spec["user"] == "reader"})
        }
        other => panic!("unexpected request: {other}"),
    };
    (201, review)
}

#[tokio::test(start_paused = true)]
async fn only_users_with_the_right_read_the_metrics() {
    let (access, reviews) = access(reviewed);
    for (authorization, expected) in [
        ("Bearer reader", Decision::Allowed),
        ("bearer  other ", Decision::Forbidden),
        ("Bearer invented", Decision::Unauthenticated),
        ("Bearer ", Decision::Unauthenticated),
        ("Basic cmVhZGVy", Decision::Unauthenticated),
        ("reader", Decision::Unauthenticated),
    ] {
        let decision = access.decide(&headers(authorization)).await.unwrap();
        assert_eq!(decision, expected, "{authorization}");
    }
    assert_eq!(
        access.decide(&HeaderMap::new()).await.unwrap(),
        Decision::Unauthenticated
    );
    // Two reviews for each known user, one for the invented token, and none without a token.
    assert_eq!(reviews.load(Ordering::SeqCst), 5);
    for _ in 0..3 {
        assert_eq!(
            access.decide(&headers("Bearer reader")).await.unwrap(),
            Decision::Allowed
        );
    }
    assert_eq!(reviews.load(Ordering::SeqCst), 5, "the decision is kept");
    tokio::time::advance(Duration::from_secs(61)).await;
    access.decide(&headers("Bearer reader")).await.unwrap();
    assert_eq!(reviews.load(Ordering::SeqCst), 7, "the decision ends");
}

#[tokio::test(start_paused = true)]
async fn a_failure_of_the_api_server_permits_nothing_and_is_not_kept() {
    let failure = json!({"kind": "Status", "status": "Failure", "message": "etcd is away", "code": 500});
    let (access, reviews) = access(move |_, _| (500, failure.clone()));
    for expected in [1, 2] {
        let error = access.decide(&headers("Bearer reader")).await.unwrap_err();
        assert!(error.to_string().contains("etcd is away"), "{error}");
        assert_eq!(reviews.load(Ordering::SeqCst), expected);
    }
    let (access, _) = self::access(|_, review| (201, review));
    let error = access.decide(&headers("Bearer reader")).await.unwrap_err();
    assert!(
        error.to_string().contains("TokenReview without a status"),
        "{error}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_silent_api_server_permits_nothing() {
    let (service, _handle) = mock::pair::<Request<Body>, Response<Body>>();
    let access = MetricsAccess::authorized(Client::new(service, "default"));
    let error = access.decide(&headers("Bearer reader")).await.unwrap_err();
    assert!(matches!(error, ReviewError::Timeout), "{error}");
}
