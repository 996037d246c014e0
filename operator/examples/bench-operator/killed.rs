//! The operator is killed twice while many runs are created.

use std::collections::{BTreeMap, BTreeSet};

use crds::v1alpha1::BenchmarkRun;
use futures::{StreamExt, stream};
use k8s_openapi::api::batch::v1::Job;
use kube::ResourceExt;
use kube::api::{ListParams, PostParams};

use super::arrivals::Arrivals;
use super::at_once::{CLIENTS, runs_named};
use super::counters::settled;
use super::sheet::{Goal, Sheet};
use super::site::Site;

/// Kills it when a third and two thirds of the first Jobs are there; counts what the third one leaves.
pub async fn measure(site: &Site, count: usize, sheet: &mut Sheet) {
    let mut arrivals = Arrivals::follow(site).await;
    let mut operator = site.start();
    let runs = site.api::<BenchmarkRun>();
    let creations = runs_named(site, count).into_iter().map(|run| {
        let runs = &runs;
        async move {
            runs.create(&PostParams::default(), &run).await.unwrap();
        }
    });
    let creating = stream::iter(creations).buffer_unordered(CLIENTS).collect::<()>();
    let killing = async {
        for third in 1..=2 {
            arrivals.count(count * third / 3).await;
            operator.signal("KILL");
            operator.end().await;
            operator = site.start();
        }
        arrivals.count(count).await;
    };
    futures::join!(creating, killing);
    settled(&operator).await;

    let jobs = site.api::<Job>();
    let jobs = jobs.list_metadata(&ListParams::default()).await.unwrap().items;
    let mut of_run = BTreeMap::<String, u32>::new();
    let mut uids = BTreeSet::new();
    for job in &jobs {
        let owner = job.owner_references().first().unwrap();
        *of_run.entry(owner.uid.clone()).or_default() += 1;
        uids.insert(job.uid().unwrap());
    }
    let runs = runs.list(&ListParams::default()).await.unwrap().items;
    let has_recorded = |run: &&BenchmarkRun| {
        let execution = run.status.as_ref().and_then(|status| status.execution.as_ref());
        let mut attempts = execution.into_iter().flat_map(|execution| &execution.attempts);
        attempts.any(|attempt| uids.contains(&attempt.job_uid))
    };
    let lost = count - runs.iter().filter(has_recorded).count();
    let doubled = of_run.values().filter(|jobs| **jobs > 1).count();
    let what = format!("killed twice during {count}");
    sheet.add(
        format!("{what}: runs without their Job"),
        Goal::AtMost(0.0),
        lost as f64,
    );
    sheet.add(
        format!("{what}: runs with two Jobs"),
        Goal::AtMost(0.0),
        doubled as f64,
    );
}
