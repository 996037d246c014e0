//! Operators whose clock is wrong by an hour. They take all times from the API server.

use std::time::Duration;

use crds::v1alpha1::{BenchmarkRun, State};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{DeleteParams, PostParams};
use kube::{Api, Client, ResourceExt};
use serde_json::json;

use super::places::{create, create_pod};
use super::start;
use test_support::cluster::{all, client, condition, create_namespace, delete_namespace, run, until};
use test_support::proxy::Proxy;

/// An hour in seconds.
const HOUR: i64 = 3600;
/// Minimum time after which missing pods and pods that do not terminate are reported, according to the API server's times.
const OVERDUE_AFTER: SignedDuration = SignedDuration::from_secs(25);

#[tokio::test]
async fn no_deadline_depends_on_the_clock_of_the_operator() {
    let client = client().await;
    let namespace = create_namespace(&client).await;
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}});
    create(&client, &namespace, account).await;
    let scene = &Scene {
        runs: Api::namespaced(client.clone(), &namespace),
        client,
        namespace,
    };
    // The certificates of the test API server are less than an hour old, so a slow operator would reject them.
    let proxy = Proxy::open(&scene.client).await;
    let operator = |ahead: i64| start::with_clock_ahead(ahead, &proxy.kubeconfig, &scene.namespace);

    let slow = operator(-HOUR);
    scene.create_run(&run("pods-missing")).await;
    let mut queued = run("pod-stuck");
    queued.spec.placement.queue_name = Some("queue".to_owned());
    scene.create_run(&queued).await;
    scene.assert_pending_since_creation("pods-missing").await;
    let missing_job = scene.wait_for_job("pods-missing").await;
    let job = scene.wait_for_job("pod-stuck").await;
    let pod = create_pod(&scene.client, &job, 0, Some("node")).await.unwrap();
    drop(slow);

    let _fast = operator(HOUR);
    let (missing, stuck) = tokio::join!(scene.pods_missing_after(&missing_job), scene.stuck_after(&pod));
    println!("pods counted as missing after {missing}, a pod as stuck after {stuck}");
    assert!(missing >= OVERDUE_AFTER && stuck >= OVERDUE_AFTER);
    scene.delete_run("pods-missing").await;
    let all_deleted = || async {
        let runs = all::<BenchmarkRun>(&scene.client, &scene.namespace).await;
        runs.is_empty().then_some(())
    };
    until(all_deleted).await;
    delete_namespace(&scene.client, &scene.namespace).await;
}

/// The runs of a namespace, and the times that the API server has written.
struct Scene {
    client: Client,
    namespace: String,
    runs: Api<BenchmarkRun>,
}

impl Scene {
    async fn create_run(&self, run: &BenchmarkRun) {
        self.runs.create(&PostParams::default(), run).await.unwrap();
    }

    async fn delete_run(&self, name: &str) {
        self.runs.delete(name, &DeleteParams::default()).await.unwrap();
    }

    /// Waits for the first attempt of the run `name`, and asserts that it has been pending since about its creation.
    async fn assert_pending_since_creation(&self, name: &str) {
        let pending = until(|| async {
            let execution = self.runs.get(name).await.unwrap().status?.execution?;
            execution.attempts.first()?;
            execution.pending_since
        })
        .await;
        let pending: Timestamp = pending.parse().unwrap();
        let created = self.runs.get(name).await.unwrap().creation_timestamp().unwrap().0;
        assert!(
            pending.duration_since(created).unsigned_abs() <= Duration::from_secs(30),
            "pending since {pending}, created at {created}"
        );
    }

    async fn wait_for_job(&self, run: &str) -> Job {
        let uid = self.runs.get(run).await.unwrap().uid().unwrap();
        until(|| async {
            let jobs: Vec<Job> = all(&self.client, &self.namespace).await;
            jobs.into_iter().find(|job| job.owner_references()[0].uid == uid)
        })
        .await
    }

    /// Waits until the pods of `job` count as missing. Returns the time from the creation of the Job until the API server
    /// received this status.
    async fn pods_missing_after(&self, job: &Job) -> SignedDuration {
        let reported = until(|| async {
            let run = self.runs.get("pods-missing").await.unwrap();
            let written = status_written_at(&run);
            let status = run.status.unwrap();
            assert_ne!(status.state, Some(State::Failed), "{:?}", status.conditions);
            let mut conditions = status.conditions.iter();
            conditions
                .any(|condition| condition.message.contains("only 0 of 2 pods"))
                .then_some(written)
        })
        .await;
        reported.duration_since(job.creation_timestamp().unwrap().0)
    }

    /// Deletes the run of `pod` and the pod, which does not terminate until the operator reports it. Returns the time from
    /// the end of its grace period until the API server received this status.
    async fn stuck_after(&self, pod: &Pod) -> SignedDuration {
        self.delete_run("pod-stuck").await;
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), &self.namespace);
        let delete = |seconds| {
            let params = DeleteParams::default().grace_period(seconds);
            let (pods, name) = (pods.clone(), pod.name_any());
            async move { pods.delete(&name, &params).await.unwrap() }
        };
        delete(1).await;
        let deadline = pods.get(&pod.name_any()).await.unwrap();
        let deadline = deadline.metadata.deletion_timestamp.unwrap().0;
        let reported = until(|| async {
            let run = self.runs.get("pod-stuck").await.unwrap();
            (condition(&run, "CleanupBlocked") == Some("True")).then(|| status_written_at(&run))
        })
        .await;
        delete(0).await;
        reported.duration_since(deadline)
    }
}

/// Returns the time at which the API server received the last status of `run`. The transition time of a condition does not
/// show when its message changed.
fn status_written_at(run: &BenchmarkRun) -> Timestamp {
    let managers = run.managed_fields().iter();
    let statuses = managers.filter(|entry| entry.subresource.as_deref() == Some("status"));
    let times = statuses.filter_map(|entry| Some(entry.time.as_ref()?.0));
    times.max().expect("the operator has written the status")
}
