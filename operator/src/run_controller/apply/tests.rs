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

fn rejection(code: u16, reason: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Status", "status": "Failure", "reason": reason, "code": code,
        "message": "exceeded quota",
    })
}

/// Responds to the next request, whose HTTP method must be `method`.
async fn respond(server: &mut Server, method: &str, code: StatusCode, body: &Value) {
    let (request, send) = server.next_request().await.expect("a request");
    assert_eq!(request.method(), method);
    let body = Body::from(serde_json::to_vec(body).unwrap());
    send.send_response(Response::builder().status(code).body(body).unwrap());
}

/// Creates a ConfigMap while `scenario` acts as the API server.
async fn create_config_map<F: Future<Output = ()>>(
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

async fn create_with_existing(existing: Value) -> Result<ConfigMap, ApplyError> {
    create_config_map(|mut server| async move {
        let conflict = rejection(409, "AlreadyExists");
        respond(&mut server, "POST", StatusCode::CONFLICT, &conflict).await;
        respond(&mut server, "GET", StatusCode::OK, &existing).await;
    })
    .await
}

#[tokio::test]
async fn accepts_an_existing_object_of_the_same_run_and_plan() {
    create_with_existing(config_map("u", "h")).await.unwrap();
}

#[tokio::test]
async fn rejects_objects_of_other_owners_and_plans_and_deleted_objects() {
    let mut deleted = config_map("u", "h");
    deleted["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
    for found in [config_map("other", "h"), config_map("u", "other plan"), deleted] {
        let error = create_with_existing(found).await.unwrap_err();
        assert!(matches!(error, ApplyError::Foreign { .. }), "{error}");
    }
}

/// A copy of the run's owner reference and annotation does not make another object the run's.
#[tokio::test]
async fn rejects_an_existing_object_with_other_content() {
    let mut forged = config_map("u", "h");
    forged["data"] = json!({"assignment.json": "{}"});
    let error = create_with_existing(forged).await.unwrap_err();
    assert!(matches!(error, ApplyError::Altered { .. }), "{error}");
}

#[tokio::test]
async fn only_an_invalid_object_is_a_permanent_error() {
    for (code, reason, expected) in [
        (403, "Forbidden", false),
        (400, "BadRequest", false),
        (422, "Invalid", true),
    ] {
        let error = create_config_map(|mut server| async move {
            let status = StatusCode::from_u16(code).unwrap();
            respond(&mut server, "POST", status, &rejection(code, reason)).await;
        })
        .await
        .unwrap_err();
        match error {
            ApplyError::Rejected {
                permanent, message, ..
            } => {
                assert_eq!((permanent, message.as_str()), (expected, "exceeded quota"));
            }
            other => panic!("{other}"),
        }
    }
}

#[tokio::test]
async fn a_rejected_field_is_named_as_in_the_run() {
    let error = create_config_map(|mut server| async move {
        let mut body = rejection(422, "Invalid");
        body["details"] = json!({"causes": [{"field": "spec.template.spec.tolerations[0].key"}]});
        respond(&mut server, "POST", StatusCode::UNPROCESSABLE_ENTITY, &body).await;
    })
    .await
    .unwrap_err();
    // No field of a run sets tolerations of a ConfigMap.
    assert!(error.to_string().ends_with("exceeded quota"), "{error}");
    for (kind, field, expected) in [
        (
            "Job",
            "spec.template.spec.priorityClassName",
            "spec.placement.priorityClassName",
        ),
        (
            "Job",
            "spec.template.spec.tolerations[1].key",
            "spec.placement.tolerations[1].key",
        ),
        ("Job", "metadata.labels", "spec.placement.queueName"),
        (
            "ResourceClaimTemplate",
            "spec.spec.devices.requests[1].exactly.selectors[0].cel.expression",
            "selectors[0] of requests[1] in spec.resources.claims, or in the claims of a variant,",
        ),
    ] {
        assert_eq!(spec_field::of(kind, field).as_deref(), Some(expected));
    }
}
