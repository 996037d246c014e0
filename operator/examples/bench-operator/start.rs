//! From the start of the process to the first object it makes.

use std::time::Instant;

use crds::v1alpha1::BenchmarkRun;
use kube::api::PostParams;

use super::arrivals::Arrivals;
use super::sheet::{Goal, Sheet};
use super::site::Site;

/// Starts an operator where a run waits already.
pub async fn measure(site: &Site, sheet: &mut Sheet) {
    let runs = site.api::<BenchmarkRun>();
    let run = site.run("waits");
    runs.create(&PostParams::default(), &run).await.unwrap();
    let mut arrivals = Arrivals::follow(site).await;
    let began = Instant::now();
    let operator = site.start();
    let seen = arrivals.of("waits").await;
    let took = seen.duration_since(began).as_secs_f64() * 1e3;
    sheet.add("start of the process to first Job, ms", Goal::None, took);
    drop(operator);
    site.clear().await;
}
