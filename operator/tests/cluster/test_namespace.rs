//! Namespaces in which tests run short campaigns, and the checks at the end of each campaign.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use campaign::collect::{Reports, collect};
use campaign::plan::{HashedPlan, plan};
use campaign::validate::validate;
use crds::v1alpha1::{BenchmarkRun, BenchmarkRunStatus, Progress, State};
use fabricbench_operator::run_controller::build::{labels, names};
use fabricbench_operator::run_controller::record_chain::ChainReader;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod};
use kube::api::{ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};

use super::nodes::Nodes;
use super::start;
use test_support::cluster::{client, create_namespace, delete_namespace, kubeconfig, run, until_within};
use test_support::operator::Operator;
use test_support::proxy::{Proxy, ProxyOptions};
use test_support::rederive::{RECORD_CHAIN, assert_run_rederived};

/// Timeout for a short campaign, including the recovery of a node.
pub const TIMEOUT: Duration = Duration::from_secs(420);

/// A namespace for one test.
pub struct TestNamespace {
    pub client: Client,
    pub name: String,
    pub runs: Api<BenchmarkRun>,
    pub pods: Api<Pod>,
    /// Labels of the nodes on which the pods of its runs are placed.
    node_selector: BTreeMap<String, String>,
}

impl TestNamespace {
    /// Creates a namespace that enforces the `restricted` Pod Security Standard. Its runs use `nodes`.
    pub async fn new(nodes: &Nodes) -> Self {
        let client = client().await;
        let name = create_namespace(&client).await;
        let namespaces: Api<Namespace> = Api::all(client.clone());
        let label = json!({"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}});
        let params = PatchParams::default();
        namespaces
            .patch(&name, &params, &Patch::Merge(label))
            .await
            .unwrap();
        Self::existing(&name, &client, nodes)
    }

    /// Uses an existing namespace. Its runs use `nodes`.
    pub fn existing(name: &str, client: &Client, nodes: &Nodes) -> Self {
        Self {
            runs: Api::namespaced(client.clone(), name),
            pods: Api::namespaced(client.clone(), name),
            client: client.clone(),
            name: name.to_owned(),
            node_selector: nodes.selector.clone(),
        }
    }

    /// Starts an operator for this namespace with the permissions of the test kubeconfig.
    pub fn operator(&self) -> Operator {
        self.operator_with(&kubeconfig())
    }

    /// Starts an operator for this namespace with a different kubeconfig.
    pub fn operator_with(&self, kubeconfig: &Path) -> Operator {
        let arguments = ["--no-leader-election", "--namespace", &self.name];
        start::operator(kubeconfig, &arguments)
    }

    /// Starts an operator for all namespaces, which watches nodes and all runs. The proxy returns only the runs in this
    /// namespace, because the other namespaces have their own operators.
    pub async fn cluster_operator(&self) -> (Proxy, Operator) {
        let options = ProxyOptions {
            namespace: Some(self.name.clone()),
            ..ProxyOptions::default()
        };
        let proxy = Proxy::with_options(&self.client, options).await;
        let operator = start::operator(&proxy.kubeconfig, &["--no-leader-election"]);
        (proxy, operator)
    }

    /// Returns `run` with the nodes of this namespace.
    pub fn on_nodes(&self, run: &BenchmarkRun) -> BenchmarkRun {
        let mut run = run.clone();
        run.spec
            .placement
            .node_selector
            .extend(self.node_selector.clone());
        run
    }

    /// Creates `run` on the nodes of this namespace, and returns it as stored.
    pub async fn create(&self, run: &BenchmarkRun) -> BenchmarkRun {
        let run = self.on_nodes(run);
        self.runs.create(&PostParams::default(), &run).await.unwrap()
    }

    pub async fn patch(&self, name: &str, change: Value) -> Result<BenchmarkRun, kube::Error> {
        let (params, change) = (PatchParams::default(), Patch::Merge(change));
        self.runs.patch(name, &params, &change).await
    }

    /// Waits until a run is deleted.
    pub async fn wait_for_deletion(&self, name: &str) {
        until_within(TIMEOUT, || async {
            self.runs.get_opt(name).await.unwrap().is_none().then_some(())
        })
        .await;
    }

    pub async fn status(&self, name: &str) -> BenchmarkRunStatus {
        self.runs.get(name).await.unwrap().status.unwrap_or_default()
    }

    /// Waits until at least `blocks` blocks are measured and stored.
    pub async fn wait_for_blocks(&self, name: &str, blocks: u32) {
        until_within(TIMEOUT, || async {
            (blocks_done(&self.status(name).await) >= blocks).then_some(())
        })
        .await;
    }

    /// Waits until a run is complete or has failed.
    pub async fn wait_for_end(&self, name: &str) -> BenchmarkRunStatus {
        until_within(TIMEOUT, || async {
            let status = self.status(name).await;
            matches!(status.state, Some(State::Complete | State::Failed)).then_some(status)
        })
        .await
    }

    /// Waits until a run is complete, and checks that every block was measured exactly once.
    pub async fn wait_for_completion(&self, name: &str) -> BenchmarkRunStatus {
        let status = self.wait_for_end(name).await;
        assert_eq!(status.state, Some(State::Complete), "{:#?}", status.conditions);
        let run = self.runs.get(name).await.unwrap();
        let (plan, lines) = (planned(&run), self.lines(&run).await);
        let distinct: BTreeSet<_> = lines.lines().collect();
        assert_eq!(distinct.len(), lines.lines().count(), "a record was stored twice");
        let reports = reports(&run, &plan, &lines);
        assert!(reports.faults.is_empty(), "{:#?}", reports.faults);
        let progress = status.progress.clone().unwrap();
        assert_eq!(reports.blocks_done(), progress.blocks_total);
        assert_eq!(progress.blocks_done, progress.blocks_total);
        assert_no_block_was_measured_twice(&lines);
        assert_run_rederived(&run, RECORD_CHAIN, &self.record_chain(&run).await);
        self.assert_jobs_belong_to_attempts(&run, &status).await;
        status
    }

    /// Checks that every existing Job of a run belongs to an attempt in its status.
    async fn assert_jobs_belong_to_attempts(&self, run: &BenchmarkRun, status: &BenchmarkRunStatus) {
        let attempts = &status.execution.as_ref().unwrap().attempts;
        let jobs: Api<Job> = Api::namespaced(self.client.clone(), &self.name);
        let params = ListParams::default().labels(&labels::selector(run.metadata.uid.as_deref().unwrap()));
        for job in jobs.list(&params).await.unwrap() {
            let uid = job.metadata.uid.unwrap();
            assert!(
                attempts.iter().any(|attempt| attempt.job_uid == uid),
                "Job {uid} does not belong to any attempt"
            );
        }
    }

    /// Reads a run's records from its ConfigMaps.
    pub async fn lines(&self, run: &BenchmarkRun) -> String {
        let maps: Api<ConfigMap> = Api::namespaced(self.client.clone(), &self.name);
        let uid = run.metadata.uid.as_deref().unwrap();
        let seen = run.status.as_ref().and_then(|status| status.records.as_ref());
        let mut reader = ChainReader::new(uid, seen.map(|records| records.sha256.clone()));
        let mut lines = Vec::new();
        while let Some(part) = maps.get_opt(&names::records(uid, reader.next())).await.unwrap() {
            reader
                .read(&part, |piece| lines.extend_from_slice(piece))
                .unwrap();
        }
        reader.finish().unwrap();
        String::from_utf8(lines).unwrap()
    }

    /// Returns the contents of the ConfigMaps that store a run's records, concatenated in order.
    async fn record_chain(&self, run: &BenchmarkRun) -> Vec<u8> {
        let maps: Api<ConfigMap> = Api::namespaced(self.client.clone(), &self.name);
        let uid = run.metadata.uid.as_deref().unwrap();
        let mut bytes = Vec::new();
        for number in 0.. {
            let Some(part) = maps.get_opt(&names::records(uid, number)).await.unwrap() else {
                break;
            };
            bytes.extend(&part.binary_data.unwrap()["records.jsonl.gz"].0);
        }
        bytes
    }

    /// Returns a pod that is not terminating and runs the worker with rank `rank` of any run in this namespace.
    pub async fn worker(&self, rank: u32) -> Option<Pod> {
        let label = format!("batch.kubernetes.io/job-completion-index={rank}");
        let params = ListParams::default().labels(&label);
        let pods = self.pods.list(&params).await.unwrap().items;
        pods.into_iter()
            .find(|pod| pod.metadata.deletion_timestamp.is_none())
    }

    /// Deletes the runs and waits until they no longer exist, so that their pods no longer occupy the nodes. Then
    /// starts the deletion of the namespace. An operator must be running.
    pub async fn delete(self) {
        // The runs are deleted as dynamic objects, because some tests create runs that cannot be deserialized.
        let resource = ApiResource::erase::<BenchmarkRun>(&());
        let runs: Api<DynamicObject> = Api::namespaced_with(self.client.clone(), &self.name, &resource);
        let all = ListParams::default();
        runs.delete_collection(&DeleteParams::default(), &all)
            .await
            .unwrap();
        until_within(TIMEOUT, || async {
            runs.list(&all).await.unwrap().items.is_empty().then_some(())
        })
        .await;
        delete_namespace(&self.client, &self.name).await;
    }

    /// Deletes the namespace with its runs and waits until it no longer exists. An operator must be running.
    pub async fn delete_with_runs(self) {
        delete_namespace(&self.client, &self.name).await;
        let namespaces: Api<Namespace> = Api::all(self.client.clone());
        until_within(TIMEOUT, || async {
            namespaces
                .get_opt(&self.name)
                .await
                .unwrap()
                .is_none()
                .then_some(())
        })
        .await;
    }
}

/// Checks that each block has only one block record, so that later attempts measured only missing blocks.
fn assert_no_block_was_measured_twice(lines: &str) {
    let mut blocks = BTreeSet::new();
    for line in lines.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let record = &line["record"];
        if record["kind"] == "block" {
            assert!(
                blocks.insert(record["block"].as_u64()),
                "{record} was measured twice"
            );
        }
    }
}

/// Returns a run's plan.
pub fn planned(run: &BenchmarkRun) -> HashedPlan {
    plan(&validate(run).unwrap()).unwrap()
}

/// Collects the records in `lines`.
pub fn reports(run: &BenchmarkRun, plan: &HashedPlan, lines: &str) -> Reports {
    let uid = run.metadata.uid.as_deref().unwrap();
    collect(plan, uid, lines.as_bytes())
}

/// Returns the campaign that these tests use, with `rounds` rounds.
pub fn with_rounds(name: &str, rounds: u32) -> BenchmarkRun {
    let mut run = run(name);
    run.spec.sampling.rounds = Some(rounds);
    run
}

/// Returns the number of measured blocks.
pub fn blocks_done(status: &BenchmarkRunStatus) -> u32 {
    status
        .progress
        .as_ref()
        .map_or(0, |Progress { blocks_done, .. }| *blocks_done)
}

/// Returns a condition's status, reason and message.
pub fn condition(status: &BenchmarkRunStatus, name: &str) -> Option<(String, String, String)> {
    let found = status
        .conditions
        .iter()
        .find(|condition| condition.type_ == name)?;
    Some((found.status.clone(), found.reason.clone(), found.message.clone()))
}
