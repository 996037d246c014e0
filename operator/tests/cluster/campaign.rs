//! Short campaigns in a namespace of their own, and what must hold of each at its end.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use crds::v1alpha1::{BenchmarkRun, BenchmarkRunStatus, Progress, State};
use fabricbench_operator::campaign::collect::{Reports, collect};
use fabricbench_operator::campaign::plan::{Plan, hash, plan};
use fabricbench_operator::campaign::validate::validate;
use fabricbench_operator::run_controller::build::{labels, names};
use fabricbench_operator::run_controller::record_chain::ChainReader;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};

use super::cluster::{client, kubeconfig, namespace, run, until_within};
use super::operator::Operator;
use super::start;

/// Longest time a short campaign may take, with a node that comes back in it.
pub const PATIENCE: Duration = Duration::from_secs(420);

/// A namespace with an operator for it alone.
pub struct Place {
    pub client: Client,
    pub namespace: String,
    pub runs: Api<BenchmarkRun>,
    pub pods: Api<Pod>,
}

impl Place {
    /// A namespace that admits restricted pods alone.
    pub async fn new() -> Self {
        let client = client().await;
        let namespace = namespace(&client).await;
        let namespaces: Api<Namespace> = Api::all(client.clone());
        let label = json!({"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}});
        let params = PatchParams::default();
        namespaces
            .patch(&namespace, &params, &Patch::Merge(label))
            .await
            .unwrap();
        Self::of(&namespace, &client)
    }

    /// A namespace that is there.
    pub fn of(namespace: &str, client: &Client) -> Self {
        Self {
            runs: Api::namespaced(client.clone(), namespace),
            pods: Api::namespaced(client.clone(), namespace),
            client: client.clone(),
            namespace: namespace.to_owned(),
        }
    }

    /// An operator for this namespace, with whatever the kubeconfig of the tests may do.
    pub fn operator(&self) -> Operator {
        self.operator_by(&kubeconfig())
    }

    /// The same by another way to the API server.
    pub fn operator_by(&self, kubeconfig: &Path) -> Operator {
        let arguments = ["--no-leader-election", "--namespace", &self.namespace];
        start::operator(kubeconfig, &arguments)
    }

    /// An operator for all namespaces: it looks at nodes, and knows the runs of others.
    pub fn operator_of_all(&self) -> Operator {
        start::operator(&kubeconfig(), &["--no-leader-election"])
    }

    pub async fn create(&self, run: &BenchmarkRun) {
        self.runs.create(&PostParams::default(), run).await.unwrap();
    }

    pub async fn patch(&self, name: &str, change: Value) -> Result<BenchmarkRun, kube::Error> {
        let (params, change) = (PatchParams::default(), Patch::Merge(change));
        self.runs.patch(name, &params, &change).await
    }

    /// Waits until a run is gone.
    pub async fn gone(&self, name: &str) {
        until_within(PATIENCE, || async {
            self.runs.get_opt(name).await.unwrap().is_none().then_some(())
        })
        .await;
    }

    pub async fn status(&self, name: &str) -> BenchmarkRunStatus {
        self.runs.get(name).await.unwrap().status.unwrap_or_default()
    }

    /// Waits until at least `blocks` are done and kept.
    pub async fn measured(&self, name: &str, blocks: u32) {
        until_within(PATIENCE, || async {
            (done(&self.status(name).await) >= blocks).then_some(())
        })
        .await;
    }

    /// Waits for the end of a run.
    pub async fn ended(&self, name: &str) -> BenchmarkRunStatus {
        until_within(PATIENCE, || async {
            let status = self.status(name).await;
            matches!(status.state, Some(State::Complete | State::Failed)).then_some(status)
        })
        .await
    }

    /// Waits until a run is complete, and checks that everything was measured once.
    pub async fn completed(&self, name: &str) -> BenchmarkRunStatus {
        let status = self.ended(name).await;
        assert_eq!(status.state, Some(State::Complete), "{:#?}", status.conditions);
        let run = self.runs.get(name).await.unwrap();
        let (plan, lines) = (planned(&run), self.lines(&run).await);
        let distinct: BTreeSet<_> = lines.lines().collect();
        assert_eq!(distinct.len(), lines.lines().count(), "a record was kept twice");
        let reports = reports(&run, &plan, &lines);
        assert!(reports.faults.is_empty(), "{:#?}", reports.faults);
        let progress = status.progress.clone().unwrap();
        assert_eq!(reports.blocks_done(), progress.blocks_total);
        assert_eq!(progress.blocks_done, progress.blocks_total);
        self.jobs_are_known(&run, &status).await;
        status
    }

    /// Every Job of a run that is there is the one of an attempt in its status.
    async fn jobs_are_known(&self, run: &BenchmarkRun, status: &BenchmarkRunStatus) {
        let attempts = &status.execution.as_ref().unwrap().attempts;
        let jobs: Api<Job> = Api::namespaced(self.client.clone(), &self.namespace);
        let params = ListParams::default().labels(&labels::selector(run.metadata.uid.as_deref().unwrap()));
        for job in jobs.list(&params).await.unwrap() {
            let uid = job.metadata.uid.unwrap();
            assert!(
                attempts.iter().any(|attempt| attempt.job_uid == uid),
                "{uid} is of no attempt"
            );
        }
    }

    /// The records of a run, as its ConfigMaps keep them.
    pub async fn lines(&self, run: &BenchmarkRun) -> String {
        let maps: Api<ConfigMap> = Api::namespaced(self.client.clone(), &self.namespace);
        let uid = run.metadata.uid.as_deref().unwrap();
        let seen = run.status.as_ref().and_then(|status| status.records.as_ref());
        let mut reader = ChainReader::new(seen.map(|records| records.sha256.clone()));
        let mut lines = Vec::new();
        while let Some(part) = maps.get_opt(&names::records(uid, reader.next())).await.unwrap() {
            reader
                .read(&part, |piece| lines.extend_from_slice(piece))
                .unwrap();
        }
        reader.finish().unwrap();
        String::from_utf8(lines).unwrap()
    }

    /// The pods of all runs here, whose worker has this rank.
    pub async fn worker(&self, rank: u32) -> Option<Pod> {
        let label = format!("batch.kubernetes.io/job-completion-index={rank}");
        let params = ListParams::default().labels(&label);
        let pods = self.pods.list(&params).await.unwrap().items;
        pods.into_iter()
            .find(|pod| pod.metadata.deletion_timestamp.is_none())
    }

    /// Deletes the namespace, and waits until nothing of it is left.
    pub async fn leave(self) {
        let namespaces: Api<Namespace> = Api::all(self.client.clone());
        let _ = namespaces.delete(&self.namespace, &DeleteParams::default()).await;
        until_within(PATIENCE, || async {
            namespaces
                .get_opt(&self.namespace)
                .await
                .unwrap()
                .is_none()
                .then_some(())
        })
        .await;
    }
}

/// The plan of a run.
pub fn planned(run: &BenchmarkRun) -> Plan {
    plan(&validate(run).unwrap()).unwrap()
}

/// What the records say.
pub fn reports(run: &BenchmarkRun, plan: &Plan, lines: &str) -> Reports {
    let uid = run.metadata.uid.as_deref().unwrap();
    collect(plan, uid, &hash(plan), lines.as_bytes())
}

/// The campaign that all of these tests use, with `rounds` rounds.
pub fn with_rounds(name: &str, rounds: u32) -> BenchmarkRun {
    let mut run = run(name);
    run.spec.sampling.rounds = Some(rounds);
    run
}

/// How far a run is.
pub fn done(status: &BenchmarkRunStatus) -> u32 {
    status
        .progress
        .as_ref()
        .map_or(0, |Progress { blocks_done, .. }| *blocks_done)
}

/// Status, reason and message of a condition.
pub fn condition(status: &BenchmarkRunStatus, name: &str) -> Option<(String, String, String)> {
    let found = status
        .conditions
        .iter()
        .find(|condition| condition.type_ == name)?;
    Some((found.status.clone(), found.reason.clone(), found.message.clone()))
}
