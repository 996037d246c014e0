//! The cluster of KUBECONFIG, for commands that read from it. I/O.

use std::future::Future;

use crds::v1alpha1::BenchmarkRun;
use kube::{Api, Client};

use super::Failure;
use crate::run_controller::RunKey;

/// Carries out what talks to a cluster.
///
/// # Errors
/// As `task`, or when the machine gives no thread of events.
pub(super) fn block_on<T>(task: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Failure::incomplete)?;
    runtime.block_on(task)
}

/// The way to the cluster of `key`.
///
/// # Errors
/// When there is none.
pub(super) async fn client(key: &RunKey) -> Result<Client, Failure> {
    Client::try_default()
        .await
        .map_err(|error| Failure::incomplete(format!("{key}: no way to a cluster: {error}. Set KUBECONFIG")))
}

/// The run with `key`.
///
/// # Errors
/// When it is not there, or cannot be read.
pub(super) async fn run(client: &Client, key: &RunKey) -> Result<BenchmarkRun, Failure> {
    let runs: Api<BenchmarkRun> = Api::namespaced(client.clone(), &key.namespace);
    let run = runs.get_opt(&key.name).await;
    let run = run.map_err(|error| Failure::incomplete(format!("{key}: {error}")))?;
    run.ok_or_else(|| {
        Failure::wrong_file(format!(
            "{key}: there is neither such a file or folder nor such a run in the cluster of KUBECONFIG"
        ))
    })
}
