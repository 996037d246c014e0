//! A short scenario that exercises every operator permission: an invalid run, name collisions, a campaign that is
//! suspended twice and deleted after its TTL, and one that is deleted while it is running.

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

use super::test_namespace::{TIMEOUT, TestNamespace, condition, with_rounds};
use test_support::cluster::until_within;

/// Number of rounds in a campaign that is long enough to be suspended twice.
const ROUNDS: u32 = 24;

/// Runs the whole scenario.
pub async fn full_lifecycle(namespace: &TestNamespace) {
    check_rejected(namespace).await;
    tokio::join!(
        check_name_collision::<ConfigMap>(namespace, json!({})),
        check_name_collision::<Service>(namespace, json!({"spec": {"clusterIP": "None"}})),
        check_name_collision::<Job>(namespace, idle_job())
    );
    check_suspend_and_ttl(namespace).await;
    check_deletion(namespace).await;
}

/// Creates a run whose scenario uses GPU memory without a GPU. The schema accepts this run, but the status must name
/// the field.
async fn check_rejected(namespace: &TestNamespace) {
    let kind = ApiResource::erase::<BenchmarkRun>(&());
    let any: Api<DynamicObject> = Api::namespaced_with(namespace.client.clone(), &namespace.name, &kind);
    let mut invalid = serde_json::to_value(with_rounds("rejected", 1)).unwrap();
    invalid["spec"]["scenarios"][0]["memory"] = json!("Cuda");
    any.create(&PostParams::default(), &serde_json::from_value(invalid).unwrap())
        .await
        .unwrap();
    until_within(TIMEOUT, || async {
        let run = any.get("rejected").await.ok()?;
        let accepted = run.data["status"]["conditions"].as_array()?.first()?.clone();
        accepted["message"]
            .as_str()?
            .contains("spec.scenarios[0].memory")
            .then_some(())
    })
    .await;
    any.delete("rejected", &DeleteParams::default()).await.unwrap();
}

/// Creates an unrelated object with the name that an object in the run's first attempt will have. The run must fail.
async fn check_name_collision<K>(namespace: &TestNamespace, object: Value)
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + Debug
        + Serialize
        + DeserializeOwned,
{
    let name = format!("collision-{}", K::kind(&()).to_lowercase());
    let mut run = with_rounds(&name, 1);
    run.spec.suspend = true;
    let run = namespace.create(&run).await;
    let first = AttemptId { leg: 0, attempt: 1 };
    let mut object: K = serde_json::from_value(with_metadata(object)).unwrap();
    object.meta_mut().name = Some(names::attempt(&run.metadata.uid.unwrap(), first));
    let api: Api<K> = Api::namespaced(namespace.client.clone(), &namespace.name);
    api.create(&PostParams::default(), &object).await.unwrap();
    namespace
        .patch(&name, json!({"spec": {"suspend": false}}))
        .await
        .unwrap();
    let status = namespace.wait_for_end(&name).await;
    let (_, _, message) = condition(&status, "Failed").unwrap();
    assert!(
        message.contains("already exists and does not belong to this run"),
        "{message}"
    );
    let name_of_object = object.meta().name.clone().unwrap();
    api.delete(&name_of_object, &DeleteParams::background())
        .await
        .unwrap();
    namespace
        .runs
        .delete(&name, &DeleteParams::default())
        .await
        .unwrap();
}

fn with_metadata(mut object: Value) -> Value {
    object["metadata"] = json!({});
    object
}

/// Returns a suspended Job, which creates no pods.
fn idle_job() -> Value {
    let container = json!({"name": "idle", "image": "example.test/idle"});
    json!({"spec": {"suspend": true, "template": {"spec": {"restartPolicy": "Never", "containers": [container]}}}})
}

async fn wait_for_state(namespace: &TestNamespace, name: &str, state: State) {
    until_within(TIMEOUT, || async {
        (namespace.status(name).await.state == Some(state)).then_some(())
    })
    .await;
}

async fn check_suspend_and_ttl(namespace: &TestNamespace) {
    let name = "whole";
    namespace.create(&with_rounds(name, ROUNDS)).await;
    for blocks in [1, 2] {
        wait_for_state(namespace, name, State::Running).await;
        namespace.wait_for_blocks(name, blocks).await;
        namespace
            .patch(name, json!({"spec": {"suspend": true}}))
            .await
            .unwrap();
        wait_for_state(namespace, name, State::Suspended).await;
        namespace
            .patch(name, json!({"spec": {"suspend": false}}))
            .await
            .unwrap();
    }
    namespace.wait_for_completion(name).await;
    namespace
        .patch(
            name,
            json!({"spec": {"runPolicy": {"ttlSecondsAfterFinished": 0}}}),
        )
        .await
        .unwrap();
    namespace.wait_for_deletion(name).await;
}

async fn check_deletion(namespace: &TestNamespace) {
    namespace.create(&with_rounds("deleted", ROUNDS)).await;
    wait_for_state(namespace, "deleted", State::Running).await;
    namespace
        .runs
        .delete("deleted", &DeleteParams::default())
        .await
        .unwrap();
    namespace.wait_for_deletion("deleted").await;
}
