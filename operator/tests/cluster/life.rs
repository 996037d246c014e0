//! Everything that an operator may have to do, as short as it can be: runs that cannot be read, names that are taken, a
//! campaign that is suspended twice and goes when its time has come, one that is deleted mid-way.

use std::fmt::Debug;

use crds::v1alpha1::{BenchmarkRun, State};
use fabricbench_operator::run_controller::attempt_id::AttemptId;
use fabricbench_operator::run_controller::build::names;
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, Service};
use kube::api::{ApiResource, DeleteParams, DynamicObject, PostParams};
use kube::{Api, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::campaign::{PATIENCE, Place, condition, with_rounds};
use super::cluster::until_within;

/// Rounds of a campaign that goes on for long enough to be suspended twice.
const ROUNDS: u32 = 24;

/// All of it, from the first to the last.
pub async fn life(place: &Place) {
    unreadable(place).await;
    tokio::join!(
        taken::<ConfigMap>(place, json!({})),
        taken::<Service>(place, json!({"spec": {"clusterIP": "None"}})),
        taken::<Job>(place, idle_job())
    );
    suspended_twice(place).await;
    deleted(place).await;
}

/// A size that the schema lets through: its field is named.
async fn unreadable(place: &Place) {
    let kind = ApiResource::erase::<BenchmarkRun>(&());
    let any: Api<DynamicObject> = Api::namespaced_with(place.client.clone(), &place.namespace, &kind);
    let mut wrong = serde_json::to_value(with_rounds("unreadable", 1)).unwrap();
    wrong["spec"]["scenarios"][0]["pingPong"]["sizes"] = json!(["64B"]);
    any.create(&PostParams::default(), &serde_json::from_value(wrong).unwrap())
        .await
        .unwrap();
    until_within(PATIENCE, || async {
        let run = any.get("unreadable").await.ok()?;
        let accepted = run.data["status"]["conditions"].as_array()?.first()?.clone();
        accepted["message"]
            .as_str()?
            .contains("spec.scenarios[0].pingPong.sizes[0]")
            .then_some(())
    })
    .await;
    any.delete("unreadable", &DeleteParams::default()).await.unwrap();
}

/// An object of somebody else has the name that the run's first attempt would give its own.
async fn taken<K>(place: &Place, object: Value)
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + Debug
        + Serialize
        + DeserializeOwned,
{
    let name = format!("taken-{}", K::kind(&()).to_lowercase());
    let mut run = with_rounds(&name, 1);
    run.spec.suspend = true;
    let run = place.runs.create(&PostParams::default(), &run).await.unwrap();
    let first = AttemptId { leg: 0, attempt: 1 };
    let mut object: K = serde_json::from_value(with_metadata(object)).unwrap();
    object.meta_mut().name = Some(names::attempt(&run.metadata.uid.unwrap(), first));
    let api: Api<K> = Api::namespaced(place.client.clone(), &place.namespace);
    api.create(&PostParams::default(), &object).await.unwrap();
    place
        .patch(&name, json!({"spec": {"suspend": false}}))
        .await
        .unwrap();
    let status = place.ended(&name).await;
    let (_, _, message) = condition(&status, "Failed").unwrap();
    assert!(
        message.contains("exists already and does not belong to this run"),
        "{message}"
    );
    let name_of_object = object.meta().name.clone().unwrap();
    api.delete(&name_of_object, &DeleteParams::background())
        .await
        .unwrap();
    place.runs.delete(&name, &DeleteParams::default()).await.unwrap();
}

fn with_metadata(mut object: Value) -> Value {
    object["metadata"] = json!({});
    object
}

/// A Job without a pod.
fn idle_job() -> Value {
    let container = json!({"name": "idle", "image": "example.test/idle"});
    json!({"spec": {"suspend": true, "template": {"spec": {"restartPolicy": "Never", "containers": [container]}}}})
}

async fn is(place: &Place, name: &str, state: State) {
    until_within(PATIENCE, || async {
        (place.status(name).await.state == Some(state)).then_some(())
    })
    .await;
}

async fn suspended_twice(place: &Place) {
    let name = "whole";
    place.create(&with_rounds(name, ROUNDS)).await;
    for kept in [1, 2] {
        is(place, name, State::Running).await;
        place.measured(name, kept).await;
        place
            .patch(name, json!({"spec": {"suspend": true}}))
            .await
            .unwrap();
        is(place, name, State::Suspended).await;
        place
            .patch(name, json!({"spec": {"suspend": false}}))
            .await
            .unwrap();
    }
    place.completed(name).await;
    place
        .patch(
            name,
            json!({"spec": {"runPolicy": {"ttlSecondsAfterFinished": 0}}}),
        )
        .await
        .unwrap();
    place.gone(name).await;
}

async fn deleted(place: &Place) {
    place.create(&with_rounds("deleted", ROUNDS)).await;
    is(place, "deleted", State::Running).await;
    place
        .runs
        .delete("deleted", &DeleteParams::default())
        .await
        .unwrap();
    place.gone("deleted").await;
}
