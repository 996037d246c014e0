//! When the first Job of each run came, as a watch shows it.

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

use super::site::Site;

/// Longest time that anything is waited for.
const PATIENCE: Duration = Duration::from_secs(120);

/// The Jobs that came since, by the name of their run, or by their own where they have none.
pub struct Arrivals {
    seen: watch::Receiver<HashMap<String, Instant>>,
    follower: JoinHandle<()>,
}

impl Arrivals {
    /// Begins to watch; Jobs that are there already are not counted.
    pub async fn follow(site: &Site) -> Self {
        let (sender, seen) = watch::channel(HashMap::new());
        let (listed, complete) = tokio::sync::oneshot::channel();
        let api = site.api::<PartialObjectMeta<Job>>();
        let follower = tokio::spawn(async move {
            let mut listed = Some(listed);
            let events = watcher(api, watcher::Config::default()).default_backoff();
            let mut events = pin!(events);
            while let Some(event) = events.next().await {
                match event {
                    Ok(Event::Apply(job)) => {
                        let now = Instant::now();
                        sender.send_modify(|seen| {
                            seen.entry(run_of(&job)).or_insert(now);
                        });
                    }
                    Ok(Event::InitDone) => match listed.take() {
                        Some(listed) => listed.send(()).unwrap(),
                        None => panic!("the watch was interrupted: what came meanwhile has no time"),
                    },
                    Ok(Event::Init | Event::InitApply(_) | Event::Delete(_)) => {}
                    Err(error) => eprintln!("watching Jobs: {error}"),
                }
            }
        });
        complete.await.unwrap();
        Self { seen, follower }
    }

    /// Waits until those of `count` runs came.
    pub async fn count(&mut self, count: usize) -> HashMap<String, Instant> {
        let came = self.seen.wait_for(|seen| seen.len() >= count);
        timeout(PATIENCE, came).await.unwrap().unwrap().clone()
    }

    /// Waits for that of `run`.
    pub async fn of(&mut self, run: &str) -> Instant {
        let came = self.seen.wait_for(|seen| seen.contains_key(run));
        timeout(PATIENCE, came).await.unwrap().unwrap()[run]
    }
}

impl Drop for Arrivals {
    fn drop(&mut self) {
        self.follower.abort();
    }
}

fn run_of(job: &PartialObjectMeta<Job>) -> String {
    let owner = job.owner_references().first();
    owner.map_or_else(|| job.name_any(), |owner| owner.name.clone())
}
