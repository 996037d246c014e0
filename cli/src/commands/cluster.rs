//! Access to the cluster in the current kubeconfig context, for commands that read from it. Performs I/O.

use std::future::Future;

use crds::deserialization::from_value;
use crds::v1alpha1::BenchmarkRun;
use kube::api::{ApiResource, DynamicObject};
use kube::{Api, Client};
use operator::connection::{Connection, is_resource_missing};
use operator::run_controller::RunKey;

use super::Failure;

/// Runs `task` to completion on a new runtime.
///
/// # Errors
/// Returns an error if `task` fails, or the runtime cannot be started.
pub(super) fn block_on<T>(task: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Failure::incomplete)?;
    runtime.block_on(task)
}

/// Connection to a cluster.
pub(super) struct Cluster {
    /// Kubernetes client for the cluster.
    pub(super) client: Client,
    connection: Connection,
}

impl Cluster {
    /// Creates a client for the cluster without sending a request. Error messages start with `key`.
    ///
    /// # Errors
    /// Returns an error if the configuration is missing or invalid.
    pub(super) async fn connect(key: &RunKey) -> Result<Self, Failure> {
        let connection = Connection::open().await;
        let connection = connection.map_err(|why| in_cluster(key, &why))?;
        let client = connection.client.clone();
        Ok(Self { client, connection })
    }

    /// Reads the run `key`.
    ///
    /// # Errors
    /// Returns an error if the run does not exist or cannot be read.
    pub(super) async fn run(&self, key: &RunKey) -> Result<BenchmarkRun, Failure> {
        let resource = ApiResource::erase::<BenchmarkRun>(&());
        let runs: Api<DynamicObject> = Api::namespaced_with(self.client.clone(), &key.namespace, &resource);
        let run = runs.get(&key.name).await.map_err(|error| match &error {
            kube::Error::Api(status) if status.is_not_found() && !is_resource_missing(status) => {
                Failure::invalid_input(format!(
                    "{key}: no such directory exists, and no such run in the current kubeconfig context. Check the path, or \
                     list the runs with `kubectl get benchmarkruns --all-namespaces`"
                ))
            }
            _ => self.request_failure(key, &error),
        })?;
        let run = serde_json::to_value(run).map_err(Failure::incomplete)?;
        from_value(&run).map_err(|error| {
            Failure::invalid_input(format!(
                "{key}: {error}. Use the release of fabricbench that is installed in the cluster"
            ))
        })
    }

    /// Converts an error from a request for `key` to a failure.
    pub(super) fn request_failure(&self, key: &RunKey, error: &kube::Error) -> Failure {
        in_cluster(key, &self.connection.describe(error))
    }

    /// Cause of a failed request, and the remedy.
    pub(super) fn describe(&self, error: &kube::Error) -> String {
        self.connection.describe(error)
    }
}

/// A failure to reach the run `key`, which may be meant as the path of a directory.
fn in_cluster(key: &RunKey, why: &str) -> Failure {
    Failure::incomplete(format!(
        "{key}: no such directory exists, so this is the NAMESPACE/NAME of a run in a cluster: {why}"
    ))
}
