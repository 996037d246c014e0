//! Records when a watch delivers the first Job of each run.

use std::collections::HashMap;
use std::pin::pin;
use std::time::{Duration, Instant};

use futures::StreamExt;
use k8s_openapi::api::batch::v1::Job;
use kube::ResourceExt;
use kube::core::PartialObjectMeta;
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Event, watcher};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::test_cluster::TestCluster;

/// Maximum time to wait for Jobs.
const TIMEOUT: Duration = Duration::from_secs(120);

/// Watches Jobs, and stores the time at which the first Job of each run was observed, keyed by the run name, or by the
/// Job name if the Job has no owner.
pub struct FirstJobs {
    seen: watch::Receiver<HashMap<String, Instant>>,
    watch_task: JoinHandle<()>,
}

impl FirstJobs {
    /// Starts the watch. Jobs that already exist are ignored.
    pub async fn watch(cluster: &TestCluster) -> Self {
        let (sender, seen) = watch::channel(HashMap::new());
        let (listed, complete) = tokio::sync::oneshot::channel();
        let api = cluster.api::<PartialObjectMeta<Job>>();
        let watch_task = tokio::spawn(async move {
            let mut listed = Some(listed);
            let events = watcher(api, watcher::Config::default()).default_backoff();
            let mut events = pin!(events);
            while let Some(event) = events.next().await {
                match event {
                    Ok(Event::Apply(job)) => {
                        let now = Instant::now();
                        sender.send_modify(|seen| {
                            seen.entry(run_name(&job)).or_insert(now);
                        });
                    }
                    Ok(Event::InitDone) => match listed.take() {
                        Some(listed) => listed.send(()).unwrap(),
                        None => panic!("the watch was interrupted, so the times of some Jobs are unknown"),
                    },
                    Ok(Event::Init | Event::InitApply(_) | Event::Delete(_)) => {}
                    Err(error) => eprintln!("watching Jobs: {error}"),
                }
            }
        });
        complete.await.unwrap();
        Self { seen, watch_task }
    }

    /// Waits for the first Jobs of `count` runs.
    pub async fn wait_for_count(&mut self, count: usize) -> HashMap<String, Instant> {
        let arrived = self.seen.wait_for(|seen| seen.len() >= count);
        timeout(TIMEOUT, arrived).await.unwrap().unwrap().clone()
    }

    /// Waits for the first Job of `run`.
    pub async fn wait_for(&mut self, run: &str) -> Instant {
        let arrived = self.seen.wait_for(|seen| seen.contains_key(run));
        timeout(TIMEOUT, arrived).await.unwrap().unwrap()[run]
    }
}

impl Drop for FirstJobs {
    fn drop(&mut self) {
        self.watch_task.abort();
    }
}

fn run_name(job: &PartialObjectMeta<Job>) -> String {
    let owner = job.owner_references().first();
    owner.map_or_else(|| job.name_any(), |owner| owner.name.clone())
}
