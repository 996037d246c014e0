//! Gangs for queued runs. The test itself admits the Job, because the cluster has no queue controller.

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Patch, PatchParams};
use kube::{Api, ResourceExt};
use serde_json::json;

use super::kills::operator_killed_at;
use super::nodes::share_nodes;
use super::test_namespace::{TIMEOUT, TestNamespace, with_rounds};
use test_support::cluster::{all, until_within};
use test_support::proxy::Moment;

#[tokio::test]
async fn job_admitted_before_its_prerequisites_exist_is_measured() {
    let nodes = share_nodes().await;
    let namespace = TestNamespace::new(&nodes).await;
    let mut run = with_rounds("queued", 1);
    run.spec.placement.queue_name = Some("queue".to_owned());
    let (proxy, mut operator) = operator_killed_at(&namespace, None, 0, Moment::After).await;
    namespace.create(&run).await;
    operator.wait(TIMEOUT).await;
    assert!(proxy.has_killed());

    let jobs: Vec<Job> = all(&namespace.client, &namespace.name).await;
    let [job] = &jobs[..] else {
        panic!("expected one Job: {jobs:?}")
    };
    assert!(
        namespace
            .runs
            .get("queued")
            .await
            .unwrap()
            .finalizers()
            .is_empty()
    );
    let admitted = Patch::Merge(json!({"spec": {"suspend": false}}));
    let api: Api<Job> = Api::namespaced(namespace.client.clone(), &namespace.name);
    api.patch(&job.name_any(), &PatchParams::default(), &admitted)
        .await
        .unwrap();
    until_within(TIMEOUT, || async {
        let pods = namespace.pods.list(&Default::default()).await.unwrap().items;
        let bound = pods.iter().filter(|pod| {
            let spec = pod.spec.as_ref();
            spec.is_some_and(|spec| spec.node_name.is_some())
        });
        (bound.count() == 2).then_some(())
    })
    .await;
    let maps: Vec<ConfigMap> = all(&namespace.client, &namespace.name).await;
    assert!(maps.iter().all(|map| map.owner_references().is_empty()));

    let _next = namespace.operator();
    let status = namespace.wait_for_completion("queued").await;
    let attempts = status.execution.unwrap().attempts;
    assert_eq!(attempts.len(), 1, "{attempts:?}");
    assert_eq!(Some(&attempts[0].job_uid), job.metadata.uid.as_ref());
    namespace.delete().await;
}
