//! Tests that gangs that cannot be placed do not stop the runs of other namespaces. The test takes the part of the Job
//! controller, the scheduler and the kubelets, so that every gang is placed as the case requires.

use std::collections::BTreeMap;
use std::time::Duration;

use crds::names;
use crds::v1alpha1::{BenchmarkRun, BenchmarkRunStatus, Toleration};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, Resource, ResourceExt};
use serde_json::{Value, json};

use super::start;
use test_support::cluster::{all, client, create_namespace, delete_namespace, kubeconfig, run, until_within};

/// Maximum time to wait for a gang to lose its place, and for another one to get it.
const TIMEOUT: Duration = Duration::from_secs(100);
/// Key of the taint and the label that reserve nodes for one case.
const KEY: &str = "places.test/case";

#[tokio::test]
async fn gangs_that_cannot_be_placed_do_not_stop_other_namespaces() {
    let client = &client().await;
    let operator = start::for_all_namespaces(&kubeconfig());
    operator.ready().await;
    tokio::join!(
        wrong_selector_delays_no_other_namespace(client),
        half_placed_gangs_do_not_hold_each_other(client),
        quota_for_half_of_a_gang_holds_its_place_for_a_bounded_time(client),
    );
}

/// Two nodes, and a namespace for each of two tenants.
pub(super) struct Case<'a> {
    client: &'a Client,
    pub(super) nodes: [String; 2],
    pub(super) first: String,
    pub(super) second: String,
}

impl<'a> Case<'a> {
    pub(super) async fn new(client: &'a Client) -> Self {
        let first = create_namespace(client).await;
        let second = create_namespace(client).await;
        let nodes = [format!("{first}-0"), format!("{first}-1")];
        let api: Api<Node> = Api::all(client.clone());
        for name in &nodes {
            let node = object(json!({
                "apiVersion": "v1", "kind": "Node",
                "metadata": {"name": name, "labels": {KEY: first}},
            }));
            api.create(&PostParams::default(), &node).await.unwrap();
            // Runs that other tests have left behind do not tolerate the taint. The patch removes the taint of new nodes.
            let taints = json!({"spec": {"taints": [{"key": KEY, "value": first, "effect": "NoSchedule"}]}});
            patch(&api, name, taints).await;
            let resources = json!({"cpu": "64", "memory": "256Gi", "hugepages-2Mi": "16Gi", "pods": "100"});
            let status = json!({"status": {
                "allocatable": resources, "capacity": resources,
                "conditions": [{"type": "Ready", "status": "True", "reason": "Test", "message": "",
                    "lastHeartbeatTime": null, "lastTransitionTime": null}],
            }});
            let params = PatchParams::default();
            api.patch_status(name, &params, &Patch::Strategic(status))
                .await
                .unwrap();
        }
        for namespace in [&first, &second] {
            let account =
                json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}});
            create(client, namespace, account).await;
        }
        Self {
            client,
            nodes,
            first,
            second,
        }
    }

    /// Creates a run whose workers tolerate the taint of the nodes.
    pub(super) async fn run(&self, namespace: &str, name: &str, edit: impl FnOnce(&mut BenchmarkRun)) {
        let mut run = run(name);
        run.spec.placement.exclusive = true;
        run.spec.placement.node_selector = BTreeMap::from([(KEY.to_owned(), self.first.clone())]);
        run.spec.placement.tolerations = vec![Toleration {
            key: Some(KEY.to_owned()),
            operator: Some("Exists".to_owned()),
            ..Toleration::default()
        }];
        edit(&mut run);
        let runs: Api<BenchmarkRun> = Api::namespaced(self.client.clone(), namespace);
        runs.create(&PostParams::default(), &run).await.unwrap();
    }

    async fn status(&self, namespace: &str, name: &str) -> Option<BenchmarkRunStatus> {
        let runs: Api<BenchmarkRun> = Api::namespaced(self.client.clone(), namespace);
        runs.get(name).await.unwrap().status
    }

    /// Returns the message of the condition that says why the run is not running.
    async fn message(&self, namespace: &str, name: &str) -> String {
        let status = self.status(namespace, name).await;
        let conditions = status.map(|status| status.conditions).unwrap_or_default();
        let running = conditions
            .into_iter()
            .find(|condition| condition.type_ == "Running");
        running.map(|running| running.message).unwrap_or_default()
    }

    /// Waits until the message of the run contains `text`.
    async fn waits_with(&self, namespace: &str, name: &str, text: &str) {
        let message = until_within(TIMEOUT, || async {
            let message = self.message(namespace, name).await;
            message.contains(text).then_some(message)
        })
        .await;
        let other = if namespace == self.first {
            &self.second
        } else {
            &self.first
        };
        assert!(!message.contains(other.as_str()), "{message}");
    }

    /// Waits until the only Job in `namespace` is of attempt `attempt`.
    async fn job(&self, namespace: &str, attempt: u32) -> Job {
        until_within(TIMEOUT, || async {
            let mut jobs: Vec<Job> = all(self.client, namespace).await;
            jobs.retain(|job| job.labels()[names::LABEL_ATTEMPT] == attempt.to_string());
            jobs.pop()
        })
        .await
    }

    /// Waits until the operator has deleted the Jobs in `namespace`, then removes their pods as the cluster would.
    async fn job_is_deleted(&self, namespace: &str) {
        until_within(TIMEOUT, || async {
            all::<Job>(self.client, namespace).await.is_empty().then_some(())
        })
        .await;
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), namespace);
        for pod in all::<Pod>(self.client, namespace).await {
            let now = DeleteParams::default().grace_period(0);
            pods.delete(&pod.name_any(), &now).await.unwrap();
        }
    }

    pub(super) async fn delete(self) {
        let runs = [&self.first, &self.second];
        for namespace in runs {
            let api: Api<BenchmarkRun> = Api::namespaced(self.client.clone(), namespace);
            for run in all::<BenchmarkRun>(self.client, namespace).await {
                api.delete(&run.name_any(), &DeleteParams::default())
                    .await
                    .unwrap();
            }
            self.job_is_deleted(namespace).await;
            delete_namespace(self.client, namespace).await;
        }
        let api: Api<Node> = Api::all(self.client.clone());
        for name in &self.nodes {
            api.delete(name, &DeleteParams::default()).await.unwrap();
        }
    }
}

fn object<K: serde::de::DeserializeOwned>(value: Value) -> K {
    serde_json::from_value(value).unwrap()
}

async fn patch<K>(api: &Api<K>, name: &str, value: Value)
where
    K: Resource<DynamicType = ()> + Clone + serde::de::DeserializeOwned + std::fmt::Debug,
{
    api.patch(name, &PatchParams::default(), &Patch::Merge(value))
        .await
        .unwrap();
}

pub(super) async fn create(client: &Client, namespace: &str, mut value: Value) {
    value["metadata"]["namespace"] = json!(namespace);
    let object: kube::api::DynamicObject = object(value);
    let types = object.types.clone().unwrap();
    let kind = kube::core::GroupVersionKind::gvk("", &types.api_version, &types.kind);
    let api: Api<kube::api::DynamicObject> = Api::namespaced_with(
        client.clone(),
        namespace,
        &kube::api::ApiResource::from_gvk(&kind),
    );
    api.create(&PostParams::default(), &object).await.unwrap();
}

/// Creates the pod of worker `rank` of `job`, on `node` if it is set.
pub(super) async fn create_pod(
    client: &Client,
    job: &Job,
    rank: u32,
    node: Option<&str>,
) -> Result<Pod, kube::Error> {
    let mut labels = job.labels().clone();
    labels.insert(
        "batch.kubernetes.io/job-completion-index".to_owned(),
        rank.to_string(),
    );
    let pod = object(json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": format!("{}-{rank}", job.name_any()),
            "labels": labels,
            "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": job.name_any(),
                "uid": job.metadata.uid, "controller": true}],
        },
        "spec": {
            "nodeName": node,
            "automountServiceAccountToken": false,
            "containers": [{"name": "worker", "image": "example.test/runner:1"}],
        },
    }));
    let pods: Api<Pod> = Api::namespaced(client.clone(), &job.namespace().unwrap());
    pods.create(&PostParams::default(), &pod).await
}

async fn wrong_selector_delays_no_other_namespace(client: &Client) {
    let case = Case::new(client).await;
    case.run(&case.first, "typo", |run| {
        run.spec
            .placement
            .node_selector
            .insert("pool".to_owned(), "no-such-pool".to_owned());
    })
    .await;
    let job = case.job(&case.first, 1).await;
    for rank in 0..2 {
        create_pod(client, &job, rank, None).await.unwrap();
    }
    case.run(&case.second, "victim", |_| {}).await;
    case.job(&case.second, 1).await;
    let status = case.status(&case.first, "typo").await.unwrap();
    assert_eq!(
        status.execution.unwrap().lost_places,
        0,
        "it holds no place that it could lose"
    );
    case.delete().await;
}

async fn half_placed_gangs_do_not_hold_each_other(client: &Client) {
    let case = Case::new(client).await;
    case.run(&case.first, "unqueued", |_| {}).await;
    let unqueued = case.job(&case.first, 1).await;
    case.run(&case.second, "queued", |run| {
        run.spec.placement.queue_name = Some("queue".to_owned())
    })
    .await;
    let queued = case.job(&case.second, 1).await;
    let jobs: Api<Job> = Api::namespaced(client.clone(), &case.second);
    patch(&jobs, &queued.name_any(), json!({"spec": {"suspend": false}})).await;
    create_pod(client, &unqueued, 0, Some(&case.nodes[1]))
        .await
        .unwrap();
    create_pod(client, &queued, 0, Some(&case.nodes[0]))
        .await
        .unwrap();
    for job in [&unqueued, &queued] {
        create_pod(client, job, 1, None).await.unwrap();
    }
    // The gang whose turn was later gives up its place.
    case.job_is_deleted(&case.second).await;
    case.waits_with(&case.second, "queued", "lost its place once")
        .await;
    let execution = case
        .status(&case.second, "queued")
        .await
        .unwrap()
        .execution
        .unwrap();
    let lost = execution.attempts.last().unwrap();
    assert_eq!(
        (lost.reason.as_deref(), execution.disruptions),
        (Some("PlaceLost"), 0)
    );
    assert!(!lost.message.as_ref().unwrap().contains("unqueued"), "{lost:?}");

    let pods: Api<Pod> = Api::namespaced(client.clone(), &case.first);
    let name = format!("{}-1", unqueued.name_any());
    let binding = json!({
        "apiVersion": "v1", "kind": "Binding",
        "metadata": {"name": name}, "target": {"apiVersion": "v1", "kind": "Node", "name": case.nodes[0]},
    });
    let _: Value = pods
        .create_subresource("binding", &name, &PostParams::default(), &binding)
        .await
        .unwrap();
    let kept = case.job(&case.first, 1).await;
    assert_eq!(kept.metadata.uid, unqueued.metadata.uid);
    case.delete().await;
}

async fn quota_for_half_of_a_gang_holds_its_place_for_a_bounded_time(client: &Client) {
    let case = Case::new(client).await;
    let quota = json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "pods"},
        "spec": {"hard": {"pods": "1"}}});
    create(client, &case.first, quota).await;
    let quotas: Api<k8s_openapi::api::core::v1::ResourceQuota> = Api::namespaced(client.clone(), &case.first);
    let status = json!({"status": {"hard": {"pods": "1"}, "used": {"pods": "0"}}});
    quotas
        .patch_status("pods", &PatchParams::default(), &Patch::Merge(status))
        .await
        .unwrap();

    case.run(&case.first, "half", |_| {}).await;
    let half = case.job(&case.first, 1).await;
    create_pod(client, &half, 0, Some(&case.nodes[0])).await.unwrap();
    let refused = create_pod(client, &half, 1, None).await.unwrap_err();
    assert!(refused.to_string().contains("exceeded quota"), "{refused}");

    case.run(&case.second, "victim", |_| {}).await;
    case.waits_with(
        &case.second,
        "victim",
        "another run must place its gang on these nodes first",
    )
    .await;
    case.job_is_deleted(&case.first).await;
    case.job(&case.second, 1).await;
    case.waits_with(&case.first, "half", "lost its place once").await;
    case.delete().await;
}
