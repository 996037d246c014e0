//! Many objects created at once by 16 clients, until each has its first Job.

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

use super::arrivals::Arrivals;
use super::counters::{cpu_seconds, requests, resident_mib, settled, since};
use super::operator::Operator;
use super::sheet::{Goal, Sheet, percentile};
use super::site::Site;

/// Requests of the creating side that are under way at a time.
pub const CLIENTS: usize = 16;

/// What creating many at once took.
struct AtOnce {
    /// From the sending of each until its Job was seen.
    latencies: Vec<f64>,
    /// From the first sending until the last Job was seen.
    wall: Duration,
}

impl AtOnce {
    fn add(&mut self, what: &str, goals: [Goal; 3], sheet: &mut Sheet) {
        let [p50, p99, wall] = goals;
        let latencies = &mut self.latencies;
        sheet.add(format!("{what}: p50, s"), p50, percentile(latencies, 0.5));
        sheet.add(format!("{what}: p99, s"), p99, percentile(latencies, 0.99));
        sheet.add(format!("{what}: wall, s"), wall, self.wall.as_secs_f64());
    }
}

/// The floor: `count` bare Jobs, without an operator.
pub async fn bare_jobs(site: &Site, count: usize, sheet: &mut Sheet) {
    let jobs = (0..count).map(|number| bare_job(&format!("bare-{number}")));
    let mut made = create(site, jobs.collect()).await;
    let none = [Goal::None; 3];
    made.add(&format!("floor: {count} bare Jobs at once"), none, sheet);
    site.clear().await;
}

/// The same for `count` runs that nobody looks at.
pub async fn bare_runs(site: &Site, count: usize, sheet: &mut Sheet) {
    let runs = runs_named(site, count);
    let began = Instant::now();
    send(site, runs).await;
    let what = format!("floor: {count} runs created, nobody looks: wall, s");
    sheet.add(what, Goal::None, began.elapsed().as_secs_f64());
    site.clear().await;
}

/// A Job of one pod.
pub fn bare_job(name: &str) -> Job {
    let container = json!({"name": "main", "image": "example.test/runner:1"});
    let pod = json!({"spec": {"restartPolicy": "Never", "containers": [container]}});
    let job = json!({"metadata": {"name": name}, "spec": {"suspend": true, "template": pod}});
    serde_json::from_value(job).unwrap()
}

/// Memory with no and with few runs.
pub async fn few(site: &Site, count: usize, sheet: &mut Sheet) {
    let operator = site.start();
    operator.ready().await;
    sheet.add(
        "resident with 0 runs, MiB",
        Goal::AtMost(10.0),
        resident_mib(&operator).await,
    );
    create(site, runs_named(site, count)).await;
    sheet.add(
        format!("resident with {count} runs, MiB"),
        Goal::AtMost(13.0),
        resident_mib(&operator).await,
    );
    drop(operator);
    site.clear().await;
}

/// `count` runs at once; gives the operator that has carried them so far.
pub async fn runs(site: &Site, count: usize, sheet: &mut Sheet) -> Operator {
    let operator = site.start();
    operator.ready().await;
    let (cpu, sent) = (cpu_seconds(&operator), requests(&operator));
    let mut made = create(site, runs_named(site, count)).await;
    let goals = [Goal::AtMost(0.5), Goal::None, Goal::AtMost(6.0)];
    made.add(&format!("{count} runs at once, to first Job"), goals, sheet);
    settled(&operator).await;
    let cpu = cpu_seconds(&operator) - cpu;
    sheet.add(
        format!("{count} runs at once: operator's CPU, s"),
        Goal::None,
        cpu,
    );
    let sent = since(&sent, &requests(&operator));
    let each = |requests: f64| requests / count as f64;
    sheet.add(
        "requests for a run until its Job is recorded",
        Goal::AtMost(6.0),
        each(sent.values().sum()),
    );
    for (verb, requests) in sent {
        sheet.add(format!("  of these {verb}"), Goal::None, each(requests));
    }
    sheet.add(
        format!("resident with {count} runs, MiB"),
        Goal::AtMost(20.0),
        resident_mib(&operator).await,
    );
    let most = operator.memory_kib("VmHWM") as f64 / 1024.0;
    sheet.add("  most that ever was, MiB", Goal::None, most);
    operator
}

/// Creates `objects` and says when each was sent.
async fn send<K>(site: &Site, objects: Vec<K>) -> HashMap<String, Instant>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + Debug
        + Serialize
        + DeserializeOwned,
{
    let api = site.api::<K>();
    let creations = objects.into_iter().map(|object| {
        let api = &api;
        async move {
            let sent = Instant::now();
            api.create(&PostParams::default(), &object).await.unwrap();
            (object.name_any(), sent)
        }
    });
    stream::iter(creations).buffer_unordered(CLIENTS).collect().await
}

/// `count` runs, none created yet.
pub fn runs_named(site: &Site, count: usize) -> Vec<BenchmarkRun> {
    (0..count)
        .map(|number| site.run(&format!("run-{number}")))
        .collect()
}

async fn create<K>(site: &Site, objects: Vec<K>) -> AtOnce
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + Debug
        + Serialize
        + DeserializeOwned,
{
    let mut arrivals = Arrivals::follow(site).await;
    let began = Instant::now();
    let sent = send(site, objects).await;
    let seen = arrivals.count(sent.len()).await;
    let latencies = sent
        .iter()
        .map(|(name, sent)| seen[name].duration_since(*sent).as_secs_f64());
    AtOnce {
        latencies: latencies.collect(),
        wall: seen
            .values()
            .max()
            .map_or(Duration::ZERO, |last| last.duration_since(began)),
    }
}
