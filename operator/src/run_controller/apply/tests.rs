use http::{Request, Response, StatusCode};
use kube::client::Body;
use serde_json::Value;
use tower_test::mock::{Handle, pair};

use super::*;

type Server = Handle<Request<Body>, Response<Body>>;

fn key() -> RunKey {
    RunKey {
        namespace: "n".to_owned(),
        name: "r".to_owned(),
    }
}

fn config_map(owner: &str, hash: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {
            "name": "fb-1", "namespace": "n",
            "annotations": {names::ANNOTATION_PLAN_HASH: hash},
            "ownerReferences": [{
                "apiVersion": "fabricbench.dev/v1alpha1", "kind": "BenchmarkRun", "name": "r", "uid": owner,
                "controller": true,
            }],
        },
    })
}

fn refusal(code: u16, reason: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Status", "status": "Failure", "reason": reason, "code": code,
        "message": "exceeded quota",
    })
}

/// Answers the next request, which must be `method`.
async fn answer(server: &mut Server, method: &str, code: StatusCode, body: &Value) {
    let (request, send) = server.next_request().await.expect("a request");
    assert_eq!(request.method(), method);
    let body = Body::from(serde_json::to_vec(body).unwrap());
    send.send_response(Response::builder().status(code).body(body).unwrap());
}

/// What comes of creating a ConfigMap while `scenario` plays the API server.
async fn created<F: Future<Output = ()>>(
    scenario: impl FnOnce(Server) -> F,
) -> Result<ConfigMap, ApplyError> {
    let (service, server) = pair::<Request<Body>, Response<Body>>();
    let client = Client::new(service, "n");
    let key = key();
    let applier = Applier {
        client: &client,
        key: &key,
        run_uid: "u",
    };
    let object: ConfigMap = serde_json::from_value(config_map("u", "h")).unwrap();
    let (created, ()) = futures::join!(applier.create_one(&object, "h"), scenario(server));
    created
}

async fn met(found: Value) -> Result<ConfigMap, ApplyError> {
    created(|mut server| async move {
        let taken = refusal(409, "AlreadyExists");
        answer(&mut server, "POST", StatusCode::CONFLICT, &taken).await;
        answer(&mut server, "GET", StatusCode::OK, &found).await;
    })
    .await
}

#[tokio::test]
async fn what_was_created_before_is_as_good_as_created() {
    met(config_map("u", "h")).await.unwrap();
}

#[tokio::test]
async fn what_another_owns_is_never_taken_for_ours() {
    let mut leaving = config_map("u", "h");
    leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
    for found in [config_map("other", "h"), config_map("u", "other plan"), leaving] {
        let error = met(found).await.unwrap_err();
        assert!(matches!(error, ApplyError::Foreign { .. }), "{error}");
    }
}

#[tokio::test]
async fn a_quota_may_be_lifted_and_an_invalid_object_stays_invalid() {
    for (code, reason, expected) in [
        (403, "Forbidden", false),
        (400, "BadRequest", false),
        (422, "Invalid", true),
    ] {
        let error = created(|mut server| async move {
            let status = StatusCode::from_u16(code).unwrap();
            answer(&mut server, "POST", status, &refusal(code, reason)).await;
        })
        .await
        .unwrap_err();
        match error {
            ApplyError::Refused {
                for_good, message, ..
            } => {
                assert_eq!((for_good, message.as_str()), (expected, "exceeded quota"));
            }
            other => panic!("{other}"),
        }
    }
}
