//! The cluster that is measured in: nodes that fit, a namespace, and runs that do not wait for each other.

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

use super::cluster;
use super::operator::Operator;

/// Nodes that a preflight finds.
const NODES: [&str; 2] = ["bench-operator-1", "bench-operator-2"];
const GPUS: u32 = 8;
const EFAS: u32 = 32;

pub struct Site {
    pub client: Client,
    pub namespace: String,
    program: PathBuf,
    arguments: Vec<String>,
    kubeconfig: PathBuf,
    log: tempfile::NamedTempFile,
}

impl Site {
    pub async fn prepare(program: &Path, arguments: &[String]) -> Self {
        let client = cluster::client().await;
        let namespace = cluster::namespace(&client).await;
        for name in NODES {
            create_node(&client, name).await;
        }
        Self {
            client,
            namespace,
            program: program.to_owned(),
            arguments: arguments.to_vec(),
            kubeconfig: cluster::kubeconfig(),
            log: tempfile::NamedTempFile::new().unwrap(),
        }
    }

    /// Starts the operator, without a Lease: nobody waits for that of one that was killed.
    pub fn start(&self) -> Operator {
        self.spawn(&["--no-leader-election"])
    }

    /// The same with its Lease.
    pub fn start_with_lease(&self) -> Operator {
        self.spawn(&["--lease-namespace", &self.namespace])
    }

    fn spawn(&self, arguments: &[&str]) -> Operator {
        let mut command = Command::new(&self.program);
        command.stderr(File::create(self.log.path()).unwrap());
        let more = self.arguments.iter().map(String::as_str);
        let arguments: Vec<&str> = arguments.iter().copied().chain(more).collect();
        Operator::spawn(command, &self.kubeconfig, "example.test/runner:1", &arguments)
    }

    /// A run named `name`: two workers, each on a node of its own. Its queue places it, so that it waits for no other.
    pub fn run(&self, name: &str) -> BenchmarkRun {
        let mut run = cluster::run(name);
        run.spec.resources.gpus = GPUS;
        run.spec.resources.efas = EFAS;
        run.spec.placement.queue_name = Some("bench".to_owned());
        run
    }

    pub fn api<K>(&self) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    /// Removes every run and what was made for them. There is no garbage collector here.
    pub async fn clear(&self) {
        let operator = self.start();
        operator.ready().await;
        self.delete_all::<BenchmarkRun>("").await;
        self.gone::<BenchmarkRun>().await;
        drop(operator);
        let ours = format!("{}={}", names::LABEL_MANAGED_BY, names::MANAGED_BY);
        self.delete_all::<Service>(&ours).await;
        self.delete_all::<ConfigMap>(&ours).await;
        self.delete_all::<Job>("").await;
        self.gone::<Job>().await;
    }

    async fn delete_all<K>(&self, labels: &str)
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + Clone
            + DeserializeOwned
            + std::fmt::Debug,
    {
        // The finalizer of an orphan would wait for a garbage collector.
        let params = DeleteParams::background();
        let listed = ListParams::default().labels(labels);
        self.api::<K>().delete_collection(&params, &listed).await.unwrap();
    }

    async fn gone<K>(&self)
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + Clone
            + DeserializeOwned
            + std::fmt::Debug,
    {
        let api = self.api::<K>();
        let one = ListParams::default().limit(1);
        cluster::until(|| async { api.list_metadata(&one).await.ok()?.items.is_empty().then_some(()) }).await;
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
    // What the API server adds, a controller would take away that is not there.
    let ready = json!({"spec": {"taints": null}});
    api.patch(name, &PatchParams::default(), &Patch::Merge(ready))
        .await
        .unwrap();
}
