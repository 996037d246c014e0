//! Compares a disturbed campaign with an undisturbed one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use campaign::collect::Case;
use crds::v1alpha1::AttemptState;
use futures::StreamExt;
use k8s_openapi::api::batch::v1::Job;
use kube::Api;
use kube::api::DeleteParams;
use kube::runtime::{WatchStreamExt, watcher};
use tokio::task::JoinHandle;

use super::nodes::Nodes;
use super::test_namespace::{TIMEOUT, TestNamespace, planned, reports};
use test_support::cluster::until_within;

/// Identity of a case within its run.
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

/// Counts across one or more campaigns.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    pub campaigns: u32,
    pub kills: u32,
    pub legs: usize,
    pub attempts: usize,
    pub cases: usize,
    /// Cases of the undisturbed campaign that are missing.
    pub lost: usize,
    /// Records that are stored twice.
    pub duplicated: usize,
    /// Observed Jobs that do not belong to any attempt.
    pub unknown_jobs: usize,
}

impl Tally {
    pub fn add(&mut self, other: &Self) {
        self.campaigns += other.campaigns;
        self.kills += other.kills;
        self.legs += other.legs;
        self.attempts += other.attempts;
        self.cases += other.cases;
        self.lost += other.lost;
        self.duplicated += other.duplicated;
        self.unknown_jobs += other.unknown_jobs;
    }

    /// Prints the counts. Fails if anything was lost or duplicated, or if a disturbance caused another attempt.
    pub fn assert_undisturbed(&self, what: &str) {
        println!(
            "{what}: {} kills in {} campaigns; {} attempts for {} legs; {} cases, {} lost; {} records \
             duplicated; {} unknown Jobs",
            self.kills,
            self.campaigns,
            self.attempts,
            self.legs,
            self.cases,
            self.lost,
            self.duplicated,
            self.unknown_jobs
        );
        assert_eq!((self.lost, self.duplicated, self.unknown_jobs), (0, 0, 0));
        assert_eq!(
            self.attempts, self.legs,
            "the disturbances must not cause another attempt"
        );
    }
}

/// A namespace in which campaigns run one after another, and all Jobs that were observed in it.
pub struct Lane {
    pub namespace: TestNamespace,
    jobs: Arc<Mutex<BTreeMap<String, String>>>,
    watch: JoinHandle<()>,
}

impl Lane {
    pub async fn new(nodes: &Nodes) -> Self {
        let namespace = TestNamespace::new(nodes).await;
        let jobs = Arc::new(Mutex::new(BTreeMap::new()));
        let api: Api<Job> = Api::namespaced(namespace.client.clone(), &namespace.name);
        let seen = Arc::clone(&jobs);
        let watch = tokio::spawn(async move {
            let jobs = watcher(api, watcher::Config::default())
                .default_backoff()
                .applied_objects();
            jobs.for_each(|job| {
                if let Ok(job) = job {
                    let (uid, name) = (job.metadata.uid.unwrap(), job.metadata.name.unwrap());
                    seen.lock().unwrap().insert(uid, name);
                }
                std::future::ready(())
            })
            .await;
        });
        Self {
            namespace,
            jobs,
            watch,
        }
    }

    /// Returns the cases of the complete run `name`.
    pub async fn cases(&self, name: &str) -> BTreeSet<CaseKey> {
        let run = self.namespace.runs.get(name).await.unwrap();
        let lines = self.namespace.lines(&run).await;
        reports(&run, &planned(&run), &lines)
            .cases
            .iter()
            .map(key)
            .collect()
    }

    /// Waits until campaign `name` is complete, compares it with an undisturbed one and deletes it. An operator must be
    /// running.
    pub async fn finish(&self, name: &str, undisturbed: &BTreeSet<CaseKey>) -> Tally {
        let status = self.namespace.wait_for_completion(name).await;
        let run = self.namespace.runs.get(name).await.unwrap();
        let (plan, lines) = (planned(&run), self.namespace.lines(&run).await);
        let distinct: BTreeSet<_> = lines.lines().collect();
        let cases = self.cases(name).await;
        let attempts = status.execution.unwrap().attempts;
        for attempt in attempts
            .iter()
            .filter(|attempt| attempt.state != AttemptState::Measured)
        {
            println!("{name}: {attempt:?}");
        }
        let known: BTreeSet<_> = attempts.iter().map(|attempt| attempt.job_uid.clone()).collect();
        let seen = std::mem::take(&mut *self.jobs.lock().unwrap());
        let tally = Tally {
            campaigns: 1,
            kills: 0,
            legs: plan.legs.len(),
            attempts: attempts.len(),
            cases: cases.len(),
            lost: undisturbed.difference(&cases).count(),
            duplicated: lines.lines().count() - distinct.len(),
            unknown_jobs: seen.keys().filter(|uid| !known.contains(*uid)).count(),
        };
        assert_eq!(
            cases.difference(undisturbed).count(),
            0,
            "{name}: unexpected cases"
        );
        self.delete(name).await;
        tally
    }

    /// Deletes the run and waits until the run and its Jobs no longer exist.
    pub async fn delete(&self, name: &str) {
        self.namespace
            .runs
            .delete(name, &DeleteParams::default())
            .await
            .unwrap();
        let jobs: Api<Job> = Api::namespaced(self.namespace.client.clone(), &self.namespace.name);
        until_within(TIMEOUT, || async {
            let deleted = self.namespace.runs.get_opt(name).await.unwrap().is_none();
            let no_jobs = jobs.list(&Default::default()).await.unwrap().items.is_empty();
            (deleted && no_jobs).then_some(())
        })
        .await;
        self.jobs.lock().unwrap().clear();
    }

    pub async fn close(self) {
        self.watch.abort();
        self.namespace.delete().await;
    }
}
