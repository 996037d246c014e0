//! Creates one object at a time, and measures the time until its Job exists.

use std::time::Instant;

use crds::v1alpha1::BenchmarkRun;
use k8s_openapi::api::batch::v1::Job;
use kube::api::PostParams;

use super::concurrent_runs::bare_job;
use super::first_jobs::FirstJobs;
use super::results::{Goal, Results, percentile};
use super::test_cluster::TestCluster;

/// Number of measured runs and Jobs.
const REPEATS: usize = 30;

/// Alternately creates one run, in addition to the existing ones, and one Job that does not involve the operator.
pub async fn measure(cluster: &TestCluster, results: &mut Results) {
    let mut first_jobs = FirstJobs::watch(cluster).await;
    let (runs, jobs) = (cluster.api::<BenchmarkRun>(), cluster.api::<Job>());
    let (mut with_operator, mut without_operator) = (Vec::new(), Vec::new());
    for number in 0..REPEATS {
        let run = cluster.run(&format!("one-{number}"));
        let start = Instant::now();
        runs.create(&PostParams::default(), &run).await.unwrap();
        let seen = first_jobs.wait_for(&format!("one-{number}")).await;
        with_operator.push(seen.duration_since(start).as_secs_f64() * 1e3);
        // The remaining work for this run must not slow down the next measurement.
        wait_until_recorded(&runs, &format!("one-{number}")).await;

        let job = bare_job(&format!("bare-one-{number}"));
        let start = Instant::now();
        jobs.create(&PostParams::default(), &job).await.unwrap();
        let seen = first_jobs.wait_for(&format!("bare-one-{number}")).await;
        without_operator.push(seen.duration_since(start).as_secs_f64() * 1e3);
    }
    let what = "one additional run, until first Job";
    results.add(
        format!("{what}: p50, ms"),
        Goal::AtMost(10.0),
        percentile(&mut with_operator, 0.5),
    );
    results.add(
        format!("{what}: maximum, ms"),
        Goal::None,
        percentile(&mut with_operator, 1.0),
    );
    let lower_bound = percentile(&mut without_operator, 0.5);
    results.add(
        "lower bound: one Job without an operator: p50, ms",
        Goal::None,
        lower_bound,
    );
}

/// Waits until the run's status contains its Job.
async fn wait_until_recorded(runs: &kube::Api<BenchmarkRun>, name: &str) {
    test_support::cluster::until(|| async {
        let status = runs.get(name).await.ok()?.status?;
        status.execution?.attempts.pop()
    })
    .await;
}
