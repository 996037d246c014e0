//! An object that is no run, as an older schema could have let in: it harms no other.

use crds::v1alpha1::BenchmarkRun;
use k8s_openapi::api::batch::v1::Job;
use kube::api::{ApiResource, DeleteParams, DynamicObject, PostParams};
use kube::{Api, Resource};
use serde_json::json;

use super::cluster::{all, client, definition, install, namespace, run, until};
use super::operator::Operator;
use super::proxy::Proxy;

#[tokio::test]
async fn one_object_that_cannot_be_read_is_told_so_and_stops_nothing() {
    let client = client().await;
    let namespace = namespace(&client).await;
    let mut relaxed = definition();
    relaxed["spec"]["versions"][0]["schema"]["openAPIV3Schema"] =
        json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    install(&client, &relaxed).await;
    let kind = ApiResource::erase::<BenchmarkRun>(&());
    let any: Api<DynamicObject> = Api::namespaced_with(client.clone(), &namespace, &kind);
    let broken = json!({"variants": 7, "baseline": ["a"]});
    let object = until(|| async {
        let object = DynamicObject::new("broken", &kind).data(json!({"spec": broken.clone()}));
        any.create(&PostParams::default(), &object).await.ok()
    })
    .await;
    install(&client, &definition()).await;

    let proxy = Proxy::open(&client).await;
    let operator = Operator::start(&proxy.kubeconfig, &namespace);
    operator.ready().await;
    let runs: Api<BenchmarkRun> = Api::namespaced(client.clone(), &namespace);
    let sound = until(|| async { runs.create(&PostParams::default(), &run("sound")).await.ok() }).await;
    until(|| async { all::<Job>(&client, &namespace).await.pop() }).await;
    assert_eq!(operator.metric("fabricbench_leading"), 1.0);
    println!(
        "{} is carried out beside {}",
        sound.meta().name.clone().unwrap(),
        object.metadata.name.unwrap()
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
