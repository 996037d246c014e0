//! An object that is no run, as an older schema could have let in: it harms no other.

use crds::v1alpha1::BenchmarkRun;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::events::v1::Event;
use kube::api::{ApiResource, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::{Api, Client, Resource};
use serde_json::{Value, json};

use super::cluster::{all, client, definition, install, kubeconfig, leave, namespace, run, until};
use super::operator::Operator;
use super::proxy::Proxy;

/// Puts objects that are no runs into the store, as an older schema could have.
async fn store(client: &Client, namespace: &str, objects: &[(&str, Value)]) -> Api<DynamicObject> {
    let mut relaxed = definition();
    relaxed["spec"]["versions"][0]["schema"]["openAPIV3Schema"] =
        json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    install(client, &relaxed).await;
    let kind = ApiResource::erase::<BenchmarkRun>(&());
    let any: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, &kind);
    for (name, data) in objects {
        let object = DynamicObject::new(name, &kind).data(data.clone());
        // The schema before is served for a moment.
        until(|| async { any.create(&PostParams::default(), &object).await.ok() }).await;
    }
    install(client, &definition()).await;
    any
}

#[tokio::test]
async fn one_object_that_cannot_be_read_is_told_so_and_stops_nothing() {
    let client = client().await;
    let namespace = namespace(&client).await;
    let any = store(
        &client,
        &namespace,
        &[("broken", json!({"spec": {"variants": 7, "baseline": ["a"]}}))],
    )
    .await;

    let proxy = Proxy::open(&client).await;
    let operator = Operator::start(&proxy.kubeconfig, &namespace);
    operator.ready().await;
    let runs: Api<BenchmarkRun> = Api::namespaced(client.clone(), &namespace);
    let sound = until(|| async { runs.create(&PostParams::default(), &run("sound")).await.ok() }).await;
    until(|| async { all::<Job>(&client, &namespace).await.pop() }).await;
    assert_eq!(operator.metric("fabricbench_leading"), 1.0);
    println!(
        "{} is carried out beside one that is broken",
        sound.meta().name.clone().unwrap()
    );
    any.delete("broken", &DeleteParams::default()).await.unwrap();
}

/// The schema cannot look into a size that is a text.
#[tokio::test]
async fn a_size_that_is_none_is_told_with_the_path_of_its_field() {
    let client = client().await;
    let namespace = namespace(&client).await;
    let proxy = Proxy::open(&client).await;
    let _operator = Operator::start(&proxy.kubeconfig, &namespace);
    let kind = ApiResource::erase::<BenchmarkRun>(&());
    let any: Api<DynamicObject> = Api::namespaced_with(client.clone(), &namespace, &kind);
    let mut wrong = serde_json::to_value(run("wrong")).unwrap();
    wrong["spec"]["scenarios"][0]["pingPong"]["sizes"] = json!(["64B"]);
    let wrong: DynamicObject = serde_json::from_value(wrong).unwrap();
    any.create(&PostParams::default(), &wrong).await.unwrap();
    let message = until(|| async {
        let run = any.get("wrong").await.ok()?;
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

/// The API server evaluates the rules of the spec whenever a status is written, and cannot where they meet other types.
#[tokio::test]
async fn one_object_whose_status_cannot_be_written_is_told_by_an_event_and_stops_nothing() {
    let client = client().await;
    let namespace = namespace(&client).await;
    let any = store(&client, &namespace, &[("number", json!({"spec": 7}))]).await;
    let status = Patch::Merge(json!({"status": {"warnings": ["w"]}}));
    let refused = until(|| async {
        let written = any.patch_status("number", &PatchParams::default(), &status).await;
        written.err()
    })
    .await;
    assert!(
        matches!(&refused, kube::Error::Api(status) if status.code == 422),
        "{refused}"
    );

    let operator = Operator::start_alone(&kubeconfig(), &namespace);
    let events: Api<Event> = Api::namespaced(client.clone(), &namespace);
    let note = until(|| async {
        let events = events.list(&Default::default()).await.unwrap().items;
        let of_it = |event: &&Event| {
            event
                .regarding
                .as_ref()
                .is_some_and(|it| it.name.as_deref() == Some("number"))
        };
        events.iter().find(of_it).and_then(|event| event.note.clone())
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
        "it is not tried again and again"
    );
    any.delete("number", &DeleteParams::default()).await.unwrap();
    leave(&client, &namespace).await;
}
