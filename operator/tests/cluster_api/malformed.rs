//! Objects that are not valid runs but that an older schema may have accepted. They must not affect other runs.

use crds::v1alpha1::BenchmarkRun;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::events::v1::Event;
use kube::api::{ApiResource, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::{Api, Client, Resource};
use serde_json::{Value, json};

use super::start;
use test_support::cluster::{
    all, client, create_namespace, definition, delete_namespace, install, kubeconfig, run, until,
};
use test_support::proxy::Proxy;

/// Temporarily relaxes the schema to store objects that are not valid runs.
async fn store(client: &Client, namespace: &str, objects: &[(&str, Value)]) -> Api<DynamicObject> {
    let mut relaxed = definition();
    relaxed["spec"]["versions"][0]["schema"]["openAPIV3Schema"] =
        json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    install(client, &relaxed).await;
    let kind = ApiResource::erase::<BenchmarkRun>(&());
    let any: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, &kind);
    for (name, data) in objects {
        let object = DynamicObject::new(name, &kind).data(data.clone());
        // The API server may continue to use the previous schema for a moment.
        until(|| async { any.create(&PostParams::default(), &object).await.ok() }).await;
    }
    install(client, &definition()).await;
    any
}

#[tokio::test]
async fn unreadable_object_does_not_affect_other_runs() {
    let client = client().await;
    let namespace = create_namespace(&client).await;
    let any = store(
        &client,
        &namespace,
        &[("broken", json!({"spec": {"variants": 7, "baseline": ["a"]}}))],
    )
    .await;

    let proxy = Proxy::open(&client).await;
    let operator = start::with_election(&proxy.kubeconfig, &namespace);
    operator.ready().await;
    let runs: Api<BenchmarkRun> = Api::namespaced(client.clone(), &namespace);
    let sound = until(|| async { runs.create(&PostParams::default(), &run("sound")).await.ok() }).await;
    until(|| async { all::<Job>(&client, &namespace).await.pop() }).await;
    assert_eq!(operator.metric("fabricbench_leading"), 1.0);
    println!(
        "{} is executed even though another object is invalid",
        sound.meta().name.clone().unwrap()
    );
    any.delete("broken", &DeleteParams::default()).await.unwrap();
}

/// When a schema becomes stricter, stored objects that violate it are rejected only when they are written again.
#[tokio::test]
async fn status_identifies_the_field_of_an_invalid_size() {
    let client = client().await;
    let namespace = create_namespace(&client).await;
    let proxy = Proxy::open(&client).await;
    let mut invalid = serde_json::to_value(run("invalid")).unwrap();
    invalid["spec"]["scenarios"][0]["pingPong"]["sizes"] = json!(["64B"]);
    let spec = json!({"spec": invalid["spec"]});
    let any = store(&client, &namespace, &[("invalid", spec)]).await;
    let _operator = start::with_election(&proxy.kubeconfig, &namespace);
    let message = until(|| async {
        let run = any.get("invalid").await.ok()?;
        let accepted = run.data["status"]["conditions"].as_array()?.first()?.clone();
        assert_eq!(
            (&accepted["type"], &accepted["status"]),
            (&json!("Accepted"), &json!("False"))
        );
        accepted["message"].as_str().map(str::to_owned)
    })
    .await;
    assert!(
        message.contains("spec.scenarios[0].pingPong.sizes[0]"),
        "{message}"
    );
}

/// The API server evaluates the CEL rules for the spec on every status update, so an update fails if the spec contains
/// a value of the wrong type.
#[tokio::test]
async fn reports_an_object_with_an_unwritable_status_in_an_event() {
    let client = client().await;
    let namespace = create_namespace(&client).await;
    let any = store(&client, &namespace, &[("number", json!({"spec": 7}))]).await;
    let status = Patch::Merge(json!({"status": {"warnings": ["w"]}}));
    let error = until(|| async {
        let written = any.patch_status("number", &PatchParams::default(), &status).await;
        written.err()
    })
    .await;
    assert!(
        matches!(&error, kube::Error::Api(status) if status.code == 422),
        "{error}"
    );

    let operator = start::without_election(&kubeconfig(), &namespace);
    let events: Api<Event> = Api::namespaced(client.clone(), &namespace);
    let note = until(|| async {
        let events = events.list(&Default::default()).await.unwrap().items;
        let is_for_object = |event: &&Event| {
            event
                .regarding
                .as_ref()
                .is_some_and(|it| it.name.as_deref() == Some("number"))
        };
        events
            .iter()
            .find(is_for_object)
            .and_then(|event| event.note.clone())
    })
    .await;
    println!("event: {note}");
    assert!(
        note.contains("cannot be read as a BenchmarkRun") && note.contains("spec"),
        "{note}"
    );
    let runs: Api<BenchmarkRun> = Api::namespaced(client.clone(), &namespace);
    runs.create(&PostParams::default(), &run("sound")).await.unwrap();
    until(|| async { all::<Job>(&client, &namespace).await.pop() }).await;
    assert_eq!(
        operator.metric("fabricbench_runs_backing_off"),
        0.0,
        "the object must not be retried"
    );
    any.delete("number", &DeleteParams::default()).await.unwrap();
    delete_namespace(&client, &namespace).await;
}
