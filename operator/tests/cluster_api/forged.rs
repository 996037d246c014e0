//! Objects that other users created with the names or labels of a run's objects. They are never adopted, and they cannot stop
//! the run's deletion without an explanation.

use std::collections::BTreeMap;

use campaign::plan::plan;
use campaign::validate::validate;
use crds::names::{ANNOTATION_PLAN_HASH, ANNOTATION_RELEASE_PODS};
use crds::v1alpha1::{BenchmarkRun, Condition};
use fabricbench_operator::run_controller::attempt_id::AttemptId;
use fabricbench_operator::run_controller::build::{labels, names};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, Pod, ServiceAccount};
use kube::api::{ApiResource, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::start;
use test_support::cluster::{all, client, create_namespace, kubeconfig, run, until};

/// The first attempt of every run.
const FIRST: AttemptId = AttemptId { leg: 0, attempt: 1 };

/// A namespace with one run.
struct Scene {
    client: Client,
    namespace: String,
    runs: Api<BenchmarkRun>,
    run: BenchmarkRun,
}

impl Scene {
    async fn new() -> Self {
        let client = client().await;
        let namespace = create_namespace(&client).await;
        let runs: Api<BenchmarkRun> = Api::namespaced(client.clone(), &namespace);
        let run = runs.create(&PostParams::default(), &run("run")).await.unwrap();
        Self {
            client,
            namespace,
            runs,
            run,
        }
    }

    fn uid(&self) -> &str {
        self.run.metadata.uid.as_deref().unwrap()
    }

    /// Creates an object with the given name and fields. Returns its UID.
    async fn create(&self, api_version: &str, kind: &str, name: &str, data: Value) -> String {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let resource = ApiResource {
            group: group.to_owned(),
            version: version.to_owned(),
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
            plural: format!("{}s", kind.to_lowercase()),
        };
        let api: Api<DynamicObject> = Api::namespaced_with(self.client.clone(), &self.namespace, &resource);
        let mut object = json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name}});
        merge(&mut object, data);
        let object: DynamicObject = parse(object);
        let created = api.create(&PostParams::default(), &object).await.unwrap();
        created.metadata.uid.unwrap()
    }

    /// Waits until the condition `type_` has `reason`.
    async fn condition(&self, type_: &str, reason: &str) -> Condition {
        until(|| async {
            let conditions = self.runs.get("run").await.ok()?.status?.conditions;
            conditions
                .into_iter()
                .find(|condition| (condition.type_.as_str(), condition.reason.as_str()) == (type_, reason))
        })
        .await
    }

    async fn wait_for_job(&self) -> Job {
        until(|| async { all::<Job>(&self.client, &self.namespace).await.pop() }).await
    }

    /// Waits until the first attempt is recorded. Returns the UID of its Job.
    async fn wait_for_attempt(&self) -> String {
        until(|| async {
            let execution = self.runs.get("run").await.ok()?.status?.execution?;
            Some(execution.attempts.last()?.job_uid.clone())
        })
        .await
    }

    /// Creates a pod with the labels of worker 0, which anyone who can create pods can copy.
    async fn forge_pod(&self, name: &str, owners: Value) {
        let mut labels: BTreeMap<String, String> = labels::attempt(self.uid(), "run", FIRST);
        labels.insert(
            "batch.kubernetes.io/job-completion-index".to_owned(),
            "0".to_owned(),
        );
        let pod = json!({
            "metadata": {"labels": labels, "ownerReferences": owners},
            "spec": {"containers": [{"name": "worker", "image": "example.test/forged:1"}]},
        });
        self.create("v1", "Pod", name, pod).await;
    }

    /// Lets pods use the default service account, which a controller creates in a complete cluster.
    async fn allow_pods(&self) {
        let accounts: Api<ServiceAccount> = Api::namespaced(self.client.clone(), &self.namespace);
        let account: ServiceAccount = parse(json!({"metadata": {"name": "default"}}));
        accounts.create(&PostParams::default(), &account).await.unwrap();
    }
}

fn parse<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

/// Adds the fields of `other` to `object`.
fn merge(object: &mut Value, other: Value) {
    match (object, other) {
        (Value::Object(fields), Value::Object(others)) => {
            for (key, value) in others {
                merge(fields.entry(key).or_insert(Value::Null), value);
            }
        }
        (object, other) => *object = other,
    }
}

#[tokio::test]
async fn objects_that_exist_before_the_run_needs_them_are_refused() {
    let pods = json!({"metadata": {}, "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}});
    for (version, kind, data) in [
        ("v1", "ConfigMap", json!({"data": {"assignment.json": "{}"}})),
        (
            "v1",
            "Service",
            json!({"spec": {"clusterIP": "None", "selector": {"a": "b"}}}),
        ),
        ("batch/v1", "Job", json!({"spec": {"template": pods}})),
    ] {
        let scene = Scene::new().await;
        let name = names::attempt(scene.uid(), FIRST);
        scene.create(version, kind, &name, data).await;
        let _operator = start::without_election(&kubeconfig(), &scene.namespace);
        let failed = scene.condition("Failed", "FailedCreate").await;
        println!("{}", failed.message);
        assert!(
            failed.message.contains(&format!(
                "{kind} {name} already exists and does not belong to this run"
            )),
            "{}",
            failed.message
        );
        let jobs: Vec<Job> = all(&scene.client, &scene.namespace).await;
        assert!(
            jobs.iter().all(|job| job.metadata.owner_references.is_none()),
            "no Job may be created or adopted"
        );
    }
}

/// The owner reference and the annotation of a run's objects can be copied.
#[tokio::test]
async fn assignment_with_other_content_is_not_used() {
    let scene = Scene::new().await;
    let name = names::attempt(scene.uid(), FIRST);
    let hash = plan(&validate(&scene.run).unwrap()).unwrap().hash().to_owned();
    let forged = json!({
        "metadata": {
            "annotations": {ANNOTATION_PLAN_HASH: hash},
            "ownerReferences": [labels::owner(&scene.run)],
        },
        "data": {"assignment.json": "{}"},
    });
    scene.create("v1", "ConfigMap", &name, forged).await;
    let _operator = start::without_election(&kubeconfig(), &scene.namespace);
    let waiting = scene.condition("Running", "FailedCreate").await;
    println!("{}", waiting.message);
    assert!(waiting.message.contains(&name), "{}", waiting.message);
    assert!(all::<Job>(&scene.client, &scene.namespace).await.is_empty());
    let maps: Api<ConfigMap> = Api::namespaced(scene.client.clone(), &scene.namespace);
    maps.delete(&name, &DeleteParams::default()).await.unwrap();
    scene.wait_for_job().await;
    let map = maps.get(&name).await.unwrap();
    assert_ne!(map.data.unwrap()["assignment.json"], "{}");
}

#[tokio::test]
async fn records_that_the_run_does_not_control_are_refused() {
    let scene = Scene::new().await;
    let operator = start::without_election(&kubeconfig(), &scene.namespace);
    scene.wait_for_attempt().await;
    drop(operator);
    let name = names::records(scene.uid(), 0);
    scene
        .create(
            "v1",
            "ConfigMap",
            &name,
            json!({"data": {"sha256": "", "previous": ""}}),
        )
        .await;
    let _operator = start::without_election(&kubeconfig(), &scene.namespace);
    let failed = scene.condition("Failed", "RecordsLost").await;
    println!("{}", failed.message);
    assert!(
        failed.message.contains("part 0") && failed.message.contains("not controlled by this run"),
        "{}",
        failed.message
    );
}

#[tokio::test]
async fn forged_pods_do_not_hold_a_deleted_run() {
    let scene = Scene::new().await;
    scene.allow_pods().await;
    let _operator = start::without_election(&kubeconfig(), &scene.namespace);
    let job_uid = scene.wait_for_attempt().await;
    scene.forge_pod("without-owner", Value::Null).await;
    let owner = |name: &str, uid: &str, controller: bool| json!([{"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": uid, "controller": controller}]);
    let job = names::attempt(scene.uid(), FIRST);
    scene.forge_pod("other-job", owner("copy", "1", true)).await;
    scene
        .forge_pod("not-controlled", owner(&job, &job_uid, false))
        .await;
    scene.runs.delete("run", &DeleteParams::default()).await.unwrap();
    until(|| async { scene.runs.get_opt("run").await.unwrap().is_none().then_some(()) }).await;
    let pods: Vec<Pod> = all(&scene.client, &scene.namespace).await;
    assert_eq!(pods.len(), 3, "pods of other users are not deleted");
}

#[tokio::test]
async fn pod_of_a_foreign_job_with_the_name_of_the_runs_job_is_named() {
    let scene = Scene::new().await;
    scene.allow_pods().await;
    let _operator = start::without_election(&kubeconfig(), &scene.namespace);
    scene.wait_for_attempt().await;
    let job = names::attempt(scene.uid(), FIRST);
    let owner =
        json!([{"apiVersion": "batch/v1", "kind": "Job", "name": job, "uid": "1", "controller": true}]);
    scene.forge_pod("foreign", owner).await;
    scene.runs.delete("run", &DeleteParams::default()).await.unwrap();
    let blocked = scene.condition("CleanupBlocked", "ForeignPod").await;
    println!("{}", blocked.message);
    assert!(
        blocked
            .message
            .starts_with("pod foreign has the labels of this run")
    );
    let annotate = Patch::Merge(json!({"metadata": {"annotations": {ANNOTATION_RELEASE_PODS: "true"}}}));
    scene
        .runs
        .patch("run", &PatchParams::default(), &annotate)
        .await
        .unwrap();
    until(|| async { scene.runs.get_opt("run").await.unwrap().is_none().then_some(()) }).await;
}

const FOREIGN_FINALIZER: &str = "example.test/foreign";

fn finalizers(finalizers: &[&str]) -> Patch<Value> {
    Patch::Merge(json!({"metadata": {"finalizers": finalizers}}))
}

/// Finalizers that others add to a run's Job delay only the Job, and one that they add to the run delays only the run.
#[tokio::test]
async fn finalizers_of_others_hold_only_their_objects() {
    let scene = Scene::new().await;
    let operator = start::without_election(&kubeconfig(), &scene.namespace);
    scene.wait_for_attempt().await;
    let jobs: Api<Job> = Api::namespaced(scene.client.clone(), &scene.namespace);
    let job = names::attempt(scene.uid(), FIRST);
    let params = PatchParams::default();
    jobs.patch(&job, &params, &finalizers(&[FOREIGN_FINALIZER]))
        .await
        .unwrap();
    scene.runs.delete("run", &DeleteParams::default()).await.unwrap();
    until(|| async { scene.runs.get_opt("run").await.unwrap().is_none().then_some(()) }).await;
    let held = jobs.get(&job).await.unwrap();
    assert!(
        held.metadata.deletion_timestamp.is_some(),
        "the Job is deleted as far as possible"
    );
    jobs.patch(&job, &params, &finalizers(&[])).await.unwrap();

    let second = scene
        .runs
        .create(&PostParams::default(), &run("second"))
        .await
        .unwrap();
    until(|| async {
        let ours = scene.runs.get("second").await.ok()?.metadata.finalizers?;
        let all: Vec<&str> = ours
            .iter()
            .map(String::as_str)
            .chain([FOREIGN_FINALIZER])
            .collect();
        scene.runs.patch("second", &params, &finalizers(&all)).await.ok()
    })
    .await;
    scene
        .runs
        .delete("second", &DeleteParams::default())
        .await
        .unwrap();
    let left = until(|| async {
        let finalizers = scene.runs.get("second").await.ok()?.metadata.finalizers?;
        (finalizers == [FOREIGN_FINALIZER]).then_some(finalizers)
    })
    .await;
    println!("left on {}: {left:?}", second.metadata.uid.unwrap());
    assert!(all::<Job>(&scene.client, &scene.namespace).await.is_empty());
    drop(operator);
    scene
        .runs
        .patch("second", &params, &finalizers(&[]))
        .await
        .unwrap();
}

/// A run can name only objects of its own namespace.
#[tokio::test]
async fn names_in_other_namespaces_are_refused() {
    let scene = Scene::new().await;
    // Dynamic objects can have fields that the schema does not have.
    let resource = ApiResource::erase::<BenchmarkRun>(&());
    let runs: Api<DynamicObject> = Api::namespaced_with(scene.client.clone(), &scene.namespace, &resource);
    let create = |name: &str, change: Value| {
        let mut hostile = serde_json::to_value(run(name)).unwrap();
        merge(&mut hostile["spec"], change);
        let (runs, hostile) = (&runs, serde_json::from_value(hostile).unwrap());
        async move { runs.create(&PostParams::default(), &hostile).await }
    };
    for claim in ["other/claim", "../claim"] {
        let created = create("claim", json!({"resources": {"persistentVolumeClaim": claim}})).await;
        let error = created.unwrap_err().to_string();
        assert!(error.contains("persistentVolumeClaim"), "{error}");
    }
    // The API server drops fields that would name another namespace or a service account, because they do not exist.
    for (name, field, change) in [
        (
            "namespace",
            "/placement/namespace",
            json!({"placement": {"exclusive": false, "namespace": "other"}}),
        ),
        (
            "account",
            "/serviceAccountName",
            json!({"placement": {"exclusive": false}, "serviceAccountName": "other"}),
        ),
        (
            "placed-account",
            "/placement/serviceAccountName",
            json!({"placement": {"exclusive": false, "serviceAccountName": "other"}}),
        ),
    ] {
        create(name, change).await.unwrap();
        let stored = &runs.get(name).await.unwrap().data["spec"];
        assert_eq!(
            stored.pointer("/placement/exclusive"),
            Some(&json!(false)),
            "{stored}"
        );
        assert_eq!(stored.pointer(field), None, "{stored}");
        runs.delete(name, &DeleteParams::default()).await.unwrap();
    }
    let created = create("queued", json!({"placement": {"queueName": "other/queue"}})).await;
    let error = created.unwrap_err().to_string();
    assert!(error.contains("spec.placement.queueName"), "{error}");
}
