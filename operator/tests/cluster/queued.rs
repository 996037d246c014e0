//! Gangs that a queue admits: the test takes its place.

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Patch, PatchParams};
use kube::{Api, ResourceExt};
use serde_json::json;

use super::campaign::{PATIENCE, Place, with_rounds};
use super::cluster::{all, until_within};
use super::kills::doomed;
use super::proxy::Moment;

#[tokio::test]
async fn admitted_when_there_is_nothing_but_its_job_it_is_measured_all_the_same() {
    let place = Place::new().await;
    let mut run = with_rounds("queued", 1);
    run.spec.placement.queue_name = Some("queue".to_owned());
    let (proxy, mut operator) = doomed(&place, 0, Moment::After).await;
    place.create(&run).await;
    operator.end().await;
    assert!(proxy.fired());

    let jobs: Vec<Job> = all(&place.client, &place.namespace).await;
    let [job] = &jobs[..] else {
        panic!("one Job: {jobs:?}")
    };
    assert!(place.runs.get("queued").await.unwrap().finalizers().is_empty());
    let admitted = Patch::Merge(json!({"spec": {"suspend": false}}));
    let api: Api<Job> = Api::namespaced(place.client.clone(), &place.namespace);
    api.patch(&job.name_any(), &PatchParams::default(), &admitted)
        .await
        .unwrap();
    until_within(PATIENCE, || async {
        let pods = place.pods.list(&Default::default()).await.unwrap().items;
        let bound = pods.iter().filter(|pod| {
            let spec = pod.spec.as_ref();
            spec.is_some_and(|spec| spec.node_name.is_some())
        });
        (bound.count() == 2).then_some(())
    })
    .await;
    let maps: Vec<ConfigMap> = all(&place.client, &place.namespace).await;
    assert!(maps.iter().all(|map| map.owner_references().is_empty()));

    let _next = place.operator();
    let status = place.completed("queued").await;
    let attempts = status.execution.unwrap().attempts;
    assert_eq!(attempts.len(), 1, "{attempts:?}");
    assert_eq!(Some(&attempts[0].job_uid), job.metadata.uid.as_ref());
    place.leave().await;
}
