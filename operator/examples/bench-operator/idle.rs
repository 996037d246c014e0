//! What an operator does when there is nothing to do.

use std::time::Duration;

use crds::v1alpha1::BenchmarkRun;
use futures::{StreamExt, stream};
use kube::api::{Patch, PatchParams};
use serde_json::json;

use super::at_once::CLIENTS;
use super::cluster::until;
use super::counters::{cpu_seconds, looks, requests, resident_mib, settled, since, writes};
use super::operator::Operator;
use super::sheet::{Goal, Sheet};
use super::site::Site;

/// Runs that change without a meaning: each is looked at, and nothing is written.
pub async fn nothing_new(site: &Site, operator: &Operator, runs: usize, sheet: &mut Sheet) {
    let api = site.api::<BenchmarkRun>();
    settled(operator).await;
    let (before, sent) = (looks(operator), requests(operator));
    let label = Patch::Merge(json!({"metadata": {"labels": {"seen": "yes"}}}));
    let patches = (0..runs / 10).map(|number| {
        let (api, label) = (&api, &label);
        async move {
            let name = format!("run-{number}");
            api.patch_metadata(&name, &PatchParams::default(), label)
                .await
                .unwrap();
        }
    });
    stream::iter(patches)
        .buffer_unordered(CLIENTS)
        .collect::<()>()
        .await;
    let enough = before + (runs / 10) as f64;
    until(|| async { (looks(operator) >= enough).then_some(()) }).await;
    settled(operator).await;
    let written = writes(&since(&sent, &requests(operator)));
    let what = format!("writes of {} looks that find nothing to do", runs / 10);
    sheet.add(what, Goal::AtMost(0.0), written);
}

/// An operator that begins with all runs there, and then has nothing to do for a while.
pub async fn minute(site: &Site, seconds: u64, sheet: &mut Sheet) {
    let operator = site.start_with_lease();
    until(|| async { (operator.metric("fabricbench_leading") == 1.0).then_some(()) }).await;
    operator.ready().await;
    sheet.add(
        "resident after a restart with all runs, MiB",
        Goal::AtMost(20.0),
        resident_mib(&operator).await,
    );
    let (cpu, sent) = (cpu_seconds(&operator), requests(&operator));
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    let cpu = cpu_seconds(&operator) - cpu;
    sheet.add(
        format!("CPU in {seconds} s with nothing to do, s"),
        Goal::None,
        cpu,
    );
    for (verb, count) in since(&sent, &requests(&operator)) {
        let goal = match verb.as_str() {
            // Two a renewal of the Lease, every five seconds.
            "get" | "update" => Goal::AtMost(seconds as f64 / 5.0 + 1.0),
            "watch" => Goal::None,
            _ => Goal::AtMost(0.0),
        };
        sheet.add(format!("  requests: {verb}"), goal, count);
    }
}
