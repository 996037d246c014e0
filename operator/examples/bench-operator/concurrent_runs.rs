//! Creates many objects with up to 16 concurrent requests, and measures the time until each object's first Job exists.

use std::collections::HashMap;
use std::fmt::Debug;
use std::time::{Duration, Instant};

use crds::v1alpha1::BenchmarkRun;
use futures::{StreamExt, stream};
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::batch::v1::Job;
use kube::api::PostParams;
use kube::{Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use super::counters::{cpu_seconds, requests, resident_mib, since, wait_until_settled};
use super::first_jobs::FirstJobs;
use super::results::{Goal, Results, percentile};
use super::test_cluster::TestCluster;
use test_support::operator::Operator;

/// Maximum number of concurrent create requests.
pub const MAX_CONCURRENT_REQUESTS: usize = 16;

/// Times measured while objects are created concurrently.
struct CreationTimes {
    /// Seconds from sending each create request until the Job was observed.
    latencies: Vec<f64>,
    /// Time from the first request until the last Job was observed.
    wall: Duration,
}

impl CreationTimes {
    /// Adds the times to `results`.
    fn add_to(&mut self, what: &str, goals: [Goal; 3], results: &mut Results) {
        let [p50, p99, wall] = goals;
        let latencies = &mut self.latencies;
        results.add(format!("{what}: p50, s"), p50, percentile(latencies, 0.5));
        results.add(format!("{what}: p99, s"), p99, percentile(latencies, 0.99));
        results.add(format!("{what}: total, s"), wall, self.wall.as_secs_f64());
    }
}

/// Measures a lower bound by creating `count` Jobs without an operator.
pub async fn bare_jobs(cluster: &TestCluster, count: usize, results: &mut Results) {
    let jobs = (0..count).map(|number| bare_job(&format!("bare-{number}")));
    let mut times = measure_creation(cluster, jobs.collect()).await;
    let none = [Goal::None; 3];
    times.add_to(
        &format!("lower bound: {count} Jobs without an operator"),
        none,
        results,
    );
    cluster.clear().await;
}

/// Measures a lower bound by creating `count` runs without an operator.
pub async fn bare_runs(cluster: &TestCluster, count: usize, results: &mut Results) {
    let runs = build_runs(cluster, count);
    let start = Instant::now();
    create_all(cluster, runs).await;
    let what = format!("lower bound: {count} runs without an operator: total, s");
    results.add(what, Goal::None, start.elapsed().as_secs_f64());
    cluster.clear().await;
}

/// Builds a suspended Job with one pod.
pub fn bare_job(name: &str) -> Job {
    let container = json!({"name": "main", "image": "example.test/runner:1"});
    let pod = json!({"spec": {"restartPolicy": "Never", "containers": [container]}});
    let job = json!({"metadata": {"name": name}, "spec": {"suspend": true, "template": pod}});
    serde_json::from_value(job).unwrap()
}

/// Measures the operator's resident memory without runs and with `count` runs.
pub async fn memory(cluster: &TestCluster, count: usize, results: &mut Results) {
    let operator = cluster.start();
    operator.ready().await;
    results.add(
        "resident memory with 0 runs, MiB",
        Goal::AtMost(11.0),
        resident_mib(&operator).await,
    );
    measure_creation(cluster, build_runs(cluster, count)).await;
    results.add(
        format!("resident memory with {count} runs, MiB"),
        Goal::AtMost(14.0),
        resident_mib(&operator).await,
    );
    drop(operator);
    cluster.clear().await;
}

/// Creates `count` runs concurrently and measures the operator. Returns the running operator.
pub async fn runs(cluster: &TestCluster, count: usize, results: &mut Results) -> Operator {
    let operator = cluster.start();
    operator.ready().await;
    let (cpu, sent) = (cpu_seconds(&operator), requests(&operator));
    let mut times = measure_creation(cluster, build_runs(cluster, count)).await;
    let goals = [Goal::AtMost(0.6), Goal::None, Goal::AtMost(6.0)];
    times.add_to(
        &format!("{count} concurrent runs, until first Job"),
        goals,
        results,
    );
    wait_until_settled(&operator).await;
    let cpu = cpu_seconds(&operator) - cpu;
    results.add(
        format!("{count} concurrent runs: operator CPU time, s"),
        Goal::None,
        cpu,
    );
    let sent = since(&sent, &requests(&operator));
    let per_run = |requests: f64| requests / count as f64;
    results.add(
        "requests per run until its Job is in the status",
        Goal::AtMost(6.0),
        per_run(sent.values().sum()),
    );
    for (verb, requests) in sent {
        results.add(format!("  {verb} requests"), Goal::None, per_run(requests));
    }
    results.add(
        format!("resident memory with {count} runs, MiB"),
        Goal::AtMost(22.0),
        resident_mib(&operator).await,
    );
    let maximum = operator.memory_kib("VmHWM") as f64 / 1024.0;
    results.add("  maximum resident memory, MiB", Goal::None, maximum);
    operator
}

/// Creates `objects` concurrently. Returns the time at which each request was sent, by object name.
async fn create_all<K>(cluster: &TestCluster, objects: Vec<K>) -> HashMap<String, Instant>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + Debug
        + Serialize
        + DeserializeOwned,
{
    let api = cluster.api::<K>();
    let creations = objects.into_iter().map(|object| {
        let api = &api;
        async move {
            let sent = Instant::now();
            api.create(&PostParams::default(), &object).await.unwrap();
            (object.name_any(), sent)
        }
    });
    stream::iter(creations)
        .buffer_unordered(MAX_CONCURRENT_REQUESTS)
        .collect()
        .await
}

/// Builds `count` runs without creating them.
pub fn build_runs(cluster: &TestCluster, count: usize) -> Vec<BenchmarkRun> {
    (0..count)
        .map(|number| cluster.run(&format!("run-{number}")))
        .collect()
}

/// Creates `objects` concurrently and measures the time until their Jobs exist.
async fn measure_creation<K>(cluster: &TestCluster, objects: Vec<K>) -> CreationTimes
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + Debug
        + Serialize
        + DeserializeOwned,
{
    let mut first_jobs = FirstJobs::watch(cluster).await;
    let start = Instant::now();
    let sent = create_all(cluster, objects).await;
    let seen = first_jobs.wait_for_count(sent.len()).await;
    let latencies = sent
        .iter()
        .map(|(name, sent)| seen[name].duration_since(*sent).as_secs_f64());
    CreationTimes {
        latencies: latencies.collect(),
        wall: seen
            .values()
            .max()
            .map_or(Duration::ZERO, |last| last.duration_since(start)),
    }
}
