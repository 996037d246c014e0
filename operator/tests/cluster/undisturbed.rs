//! A short campaign that may be disturbed, and what must then be the same of it as of one that was not.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use fabricbench_operator::campaign::collect::Case;
use futures::StreamExt;
use k8s_openapi::api::batch::v1::Job;
use kube::Api;
use kube::api::DeleteParams;
use kube::runtime::{WatchStreamExt, watcher};
use tokio::task::JoinHandle;

use super::campaign::{PATIENCE, Place, planned, reports};
use super::cluster::until_within;

/// What tells a case from all others of its run.
pub type CaseKey = (u32, u32, u32, usize, u64, usize, u32, u32);

fn key(case: &Case) -> CaseKey {
    let Case {
        leg,
        block,
        round,
        scenario,
        size_bytes,
        arm,
        initiator,
        target,
        ..
    } = *case;
    (leg, block, round, scenario, size_bytes, arm, initiator, target)
}

/// What was counted of one campaign, or of several.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    pub campaigns: u32,
    pub kills: u32,
    pub legs: usize,
    pub attempts: usize,
    pub cases: usize,
    /// Cases of the undisturbed campaign that are not kept.
    pub lost: usize,
    /// Records that are kept twice.
    pub doubled: usize,
    /// Jobs that were ever there and are of no attempt.
    pub strange_jobs: usize,
}

impl Tally {
    pub fn add(&mut self, other: &Self) {
        self.campaigns += other.campaigns;
        self.kills += other.kills;
        self.legs += other.legs;
        self.attempts += other.attempts;
        self.cases += other.cases;
        self.lost += other.lost;
        self.doubled += other.doubled;
        self.strange_jobs += other.strange_jobs;
    }

    /// Says what was counted. Nothing may be lost or doubled, and who only looks on disturbs no attempt.
    pub fn told(&self, what: &str) {
        println!(
            "{what}: {} kills in {} campaigns; {} attempts at {} legs; of {} cases {} lost; {} records doubled; {} Jobs \
             of no attempt",
            self.kills,
            self.campaigns,
            self.attempts,
            self.legs,
            self.cases,
            self.lost,
            self.doubled,
            self.strange_jobs
        );
        assert_eq!((self.lost, self.doubled, self.strange_jobs), (0, 0, 0));
        assert_eq!(self.attempts, self.legs, "an operator that dies costs no attempt");
    }
}

/// A place where campaigns follow each other, and every Job that was ever there.
pub struct Lane {
    pub place: Place,
    jobs: Arc<Mutex<BTreeMap<String, String>>>,
    watch: JoinHandle<()>,
}

impl Lane {
    pub async fn new() -> Self {
        let place = Place::new().await;
        let jobs = Arc::new(Mutex::new(BTreeMap::new()));
        let api: Api<Job> = Api::namespaced(place.client.clone(), &place.namespace);
        let seen = Arc::clone(&jobs);
        let watch = tokio::spawn(async move {
            let all = watcher(api, watcher::Config::default())
                .default_backoff()
                .applied_objects();
            all.for_each(|job| {
                if let Ok(job) = job {
                    let (uid, name) = (job.metadata.uid.unwrap(), job.metadata.name.unwrap());
                    seen.lock().unwrap().insert(uid, name);
                }
                std::future::ready(())
            })
            .await;
        });
        Self { place, jobs, watch }
    }

    /// The cases of a run that is complete.
    pub async fn cases(&self, name: &str) -> BTreeSet<CaseKey> {
        let run = self.place.runs.get(name).await.unwrap();
        let lines = self.place.lines(&run).await;
        reports(&run, &planned(&run), &lines)
            .cases
            .iter()
            .map(key)
            .collect()
    }

    /// Waits for the end of the campaign `name`, compares it with one that was not disturbed, and deletes it. Needs an
    /// operator.
    pub async fn finish(&self, name: &str, undisturbed: &BTreeSet<CaseKey>) -> Tally {
        let status = self.place.completed(name).await;
        let run = self.place.runs.get(name).await.unwrap();
        let (plan, lines) = (planned(&run), self.place.lines(&run).await);
        let distinct: BTreeSet<_> = lines.lines().collect();
        let cases = self.cases(name).await;
        let attempts = status.execution.unwrap().attempts;
        let known: BTreeSet<_> = attempts.iter().map(|attempt| attempt.job_uid.clone()).collect();
        let seen = std::mem::take(&mut *self.jobs.lock().unwrap());
        let tally = Tally {
            campaigns: 1,
            kills: 0,
            legs: plan.legs.len(),
            attempts: attempts.len(),
            cases: cases.len(),
            lost: undisturbed.difference(&cases).count(),
            doubled: lines.lines().count() - distinct.len(),
            strange_jobs: seen.keys().filter(|uid| !known.contains(*uid)).count(),
        };
        assert_eq!(
            cases.difference(undisturbed).count(),
            0,
            "{name}: cases of no plan"
        );
        self.delete(name).await;
        tally
    }

    /// Deletes the run, and waits until nothing of it is left that the next could be taken for.
    pub async fn delete(&self, name: &str) {
        self.place
            .runs
            .delete(name, &DeleteParams::default())
            .await
            .unwrap();
        let jobs: Api<Job> = Api::namespaced(self.place.client.clone(), &self.place.namespace);
        until_within(PATIENCE, || async {
            let gone = self.place.runs.get_opt(name).await.unwrap().is_none();
            let none = jobs.list(&Default::default()).await.unwrap().items.is_empty();
            (gone && none).then_some(())
        })
        .await;
        self.jobs.lock().unwrap().clear();
    }

    pub async fn leave(self) {
        self.watch.abort();
        self.place.leave().await;
    }
}
