//! The test cluster: nodes with sufficient resources, a namespace, and runs that do not wait for each other.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

use crds::names;
use crds::v1alpha1::BenchmarkRun;
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, Node, Service};
use kube::api::{DeleteParams, ListParams, ObjectMeta, Patch, PatchParams, PostParams};
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;
use serde_json::json;

use test_support::cluster;
use test_support::operator::Operator;

/// Nodes that satisfy the preflight checks.
const NODES: [&str; 2] = ["bench-operator-1", "bench-operator-2"];
const GPUS: u32 = 8;
const EFAS: u32 = 32;

/// The test cluster, and the operator binary under test.
pub struct TestCluster {
    pub client: Client,
    pub namespace: String,
    binary: PathBuf,
    arguments: Vec<String>,
    kubeconfig: PathBuf,
    log: tempfile::NamedTempFile,
}

impl TestCluster {
    /// Creates the nodes and the namespace.
    pub async fn prepare(binary: &Path, arguments: &[String]) -> Self {
        let client = cluster::client().await;
        let namespace = cluster::create_namespace(&client).await;
        for name in NODES {
            create_node(&client, name).await;
        }
        Self {
            client,
            namespace,
            binary: binary.to_owned(),
            arguments: arguments.to_vec(),
            kubeconfig: cluster::kubeconfig(),
            log: tempfile::NamedTempFile::new().unwrap(),
        }
    }

    /// Starts the operator without leader election, so that it does not wait for a killed operator's Lease.
    pub fn start(&self) -> Operator {
        self.spawn(&["--no-leader-election"])
    }

    /// Starts the operator with leader election.
    pub fn start_with_lease(&self) -> Operator {
        self.spawn(&["--lease-namespace", &self.namespace])
    }

    fn spawn(&self, arguments: &[&str]) -> Operator {
        let mut command = Command::new(&self.binary);
        command.stderr(File::create(self.log.path()).unwrap());
        let additional = self.arguments.iter().map(String::as_str);
        let arguments: Vec<&str> = arguments.iter().copied().chain(additional).collect();
        Operator::spawn(command, &self.kubeconfig, "example.test/runner:1", &arguments)
    }

    /// Returns a run named `name` with two workers on separate nodes. The run specifies a queue, so it does not wait
    /// for other runs.
    pub fn run(&self, name: &str) -> BenchmarkRun {
        let mut run = cluster::run(name);
        run.spec.resources.gpus = GPUS;
        run.spec.resources.efas = EFAS;
        run.spec.placement.queue_name = Some("bench".to_owned());
        run
    }

    /// Returns an API client for a resource in the namespace.
    pub fn api<K>(&self) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    /// Deletes every run and its objects. The cluster does not delete these objects, because it has no garbage
    /// collector.
    pub async fn clear(&self) {
        let operator = self.start();
        operator.ready().await;
        self.delete_all::<BenchmarkRun>("").await;
        self.wait_until_deleted::<BenchmarkRun>().await;
        drop(operator);
        let managed = format!("{}={}", names::LABEL_MANAGED_BY, names::MANAGED_BY);
        self.delete_all::<Service>(&managed).await;
        self.delete_all::<ConfigMap>(&managed).await;
        self.delete_all::<Job>("").await;
        self.wait_until_deleted::<Job>().await;
    }

    async fn delete_all<K>(&self, labels: &str)
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + Clone
            + DeserializeOwned
            + std::fmt::Debug,
    {
        // Orphaning would add a finalizer that only a garbage collector removes.
        let params = DeleteParams::background();
        let selection = ListParams::default().labels(labels);
        self.api::<K>()
            .delete_collection(&params, &selection)
            .await
            .unwrap();
    }

    async fn wait_until_deleted<K>(&self)
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + Clone
            + DeserializeOwned
            + std::fmt::Debug,
    {
        let api = self.api::<K>();
        let limit = ListParams::default().limit(1);
        cluster::until(|| async {
            api.list_metadata(&limit)
                .await
                .ok()?
                .items
                .is_empty()
                .then_some(())
        })
        .await;
    }
}

async fn create_node(client: &Client, name: &str) {
    let api: Api<Node> = Api::all(client.clone());
    let node: Node = serde_json::from_value(json!({
        "metadata": ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() },
        "status": {
            "allocatable": {"cpu": "192", "memory": "2Ti", "hugepages-2Mi": "64Gi", "pods": "100",
                "nvidia.com/gpu": GPUS.to_string(), "vpc.amazonaws.com/efa": EFAS.to_string()},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }))
    .unwrap();
    match api.create(&PostParams::default(), &node).await {
        Ok(_) => {}
        Err(kube::Error::Api(status)) if status.is_already_exists() => {}
        Err(error) => panic!("{error}"),
    }
    // The API server adds a taint that the node lifecycle controller would remove, but this cluster has no such
    // controller.
    let ready = json!({"spec": {"taints": null}});
    api.patch(name, &PatchParams::default(), &Patch::Merge(ready))
        .await
        .unwrap();
}
