//! Measures the time from the start of the operator process until its first Job exists.

use std::time::Instant;

use crds::v1alpha1::BenchmarkRun;
use kube::api::PostParams;

use super::first_jobs::FirstJobs;
use super::results::{Goal, Results};
use super::test_cluster::TestCluster;

/// Creates a run, then starts the operator and waits for the run's first Job.
pub async fn measure(cluster: &TestCluster, results: &mut Results) {
    let runs = cluster.api::<BenchmarkRun>();
    let run = cluster.run("waits");
    runs.create(&PostParams::default(), &run).await.unwrap();
    let mut first_jobs = FirstJobs::watch(cluster).await;
    let start = Instant::now();
    let operator = cluster.start();
    let seen = first_jobs.wait_for("waits").await;
    let elapsed = seen.duration_since(start).as_secs_f64() * 1e3;
    results.add("process start until first Job, ms", Goal::None, elapsed);
    drop(operator);
    cluster.clear().await;
}
