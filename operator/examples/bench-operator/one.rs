//! One object after another, each until its Job is seen.

use std::time::Instant;

use crds::v1alpha1::BenchmarkRun;
use k8s_openapi::api::batch::v1::Job;
use kube::api::PostParams;

use super::arrivals::Arrivals;
use super::at_once::bare_job;
use super::sheet::{Goal, Sheet, percentile};
use super::site::Site;

const TIMES: usize = 30;

/// One run beside those that are there, and one bare Job, by turns.
pub async fn measure(site: &Site, sheet: &mut Sheet) {
    let mut arrivals = Arrivals::follow(site).await;
    let (runs, jobs) = (site.api::<BenchmarkRun>(), site.api::<Job>());
    let (mut with, mut without) = (Vec::new(), Vec::new());
    for number in 0..TIMES {
        let run = site.run(&format!("one-{number}"));
        let began = Instant::now();
        runs.create(&PostParams::default(), &run).await.unwrap();
        let seen = arrivals.of(&format!("one-{number}")).await;
        with.push(seen.duration_since(began).as_secs_f64() * 1e3);
        // What follows of this run must not slow down the next.
        recorded(&runs, &format!("one-{number}")).await;

        let job = bare_job(&format!("bare-one-{number}"));
        let began = Instant::now();
        jobs.create(&PostParams::default(), &job).await.unwrap();
        let seen = arrivals.of(&format!("bare-one-{number}")).await;
        without.push(seen.duration_since(began).as_secs_f64() * 1e3);
    }
    let what = "one run beside them, to first Job";
    sheet.add(
        format!("{what}: p50, ms"),
        Goal::AtMost(9.0),
        percentile(&mut with, 0.5),
    );
    sheet.add(
        format!("{what}: most, ms"),
        Goal::None,
        percentile(&mut with, 1.0),
    );
    let floor = percentile(&mut without, 0.5);
    sheet.add("floor: one bare Job: p50, ms", Goal::None, floor);
}

async fn recorded(runs: &kube::Api<BenchmarkRun>, name: &str) {
    super::cluster::until(|| async {
        let status = runs.get(name).await.ok()?.status?;
        status.execution?.attempts.pop()
    })
    .await;
}
