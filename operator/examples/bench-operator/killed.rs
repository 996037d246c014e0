//! Kills the operator twice while many runs are being created.

use std::collections::{BTreeMap, BTreeSet};

use crds::v1alpha1::BenchmarkRun;
use futures::{StreamExt, stream};
use k8s_openapi::api::batch::v1::Job;
use kube::ResourceExt;
use kube::api::{ListParams, PostParams};

use super::concurrent_runs::{MAX_CONCURRENT_REQUESTS, build_runs};
use super::counters::wait_until_settled;
use super::first_jobs::FirstJobs;
use super::results::{Goal, Results};
use super::test_cluster::TestCluster;
use test_support::cluster::TIMEOUT;

/// Kills the operator once after one third and once after two thirds of the first Jobs have been created, and counts
/// lost and duplicated Jobs at the end.
pub async fn measure(cluster: &TestCluster, count: usize, results: &mut Results) {
    let mut first_jobs = FirstJobs::watch(cluster).await;
    let mut operator = cluster.start();
    let runs = cluster.api::<BenchmarkRun>();
    let creations = build_runs(cluster, count).into_iter().map(|run| {
        let runs = &runs;
        async move {
            runs.create(&PostParams::default(), &run).await.unwrap();
        }
    });
    let creating = stream::iter(creations)
        .buffer_unordered(MAX_CONCURRENT_REQUESTS)
        .collect::<()>();
    let killing = async {
        for third in 1..=2 {
            first_jobs.wait_for_count(count * third / 3).await;
            operator.signal("KILL");
            operator.wait(TIMEOUT).await;
            operator = cluster.start();
        }
        first_jobs.wait_for_count(count).await;
    };
    futures::join!(creating, killing);
    wait_until_settled(&operator).await;

    let jobs = cluster.api::<Job>();
    let jobs = jobs.list_metadata(&ListParams::default()).await.unwrap().items;
    let mut jobs_by_run = BTreeMap::<String, u32>::new();
    let mut uids = BTreeSet::new();
    for job in &jobs {
        let owner = job.owner_references().first().unwrap();
        *jobs_by_run.entry(owner.uid.clone()).or_default() += 1;
        uids.insert(job.uid().unwrap());
    }
    let runs = runs.list(&ListParams::default()).await.unwrap().items;
    let has_recorded = |run: &&BenchmarkRun| {
        let execution = run.status.as_ref().and_then(|status| status.execution.as_ref());
        let mut attempts = execution.into_iter().flat_map(|execution| &execution.attempts);
        attempts.any(|attempt| uids.contains(&attempt.job_uid))
    };
    let lost = count - runs.iter().filter(has_recorded).count();
    let duplicated = jobs_by_run.values().filter(|jobs| **jobs > 1).count();
    let what = format!("operator killed twice while {count} runs are created");
    results.add(
        format!("{what}: runs without their Job"),
        Goal::AtMost(0.0),
        lost as f64,
    );
    results.add(
        format!("{what}: runs with more than one Job"),
        Goal::AtMost(0.0),
        duplicated as f64,
    );
}
