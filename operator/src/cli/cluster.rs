//! The cluster of KUBECONFIG, for commands that read from it. I/O.

use std::env;
use std::error::Error;
use std::fmt::Display;
use std::future::Future;

use crds::v1alpha1::BenchmarkRun;
use kube::config::{InferConfigError, KubeconfigError};
use kube::{Api, Client, Config};

use super::Failure;
use crate::cause::root_cause;
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

/// The way to a cluster.
pub(super) struct Cluster {
    /// What requests go through.
    pub(super) client: Client,
    /// Address of its API server.
    server: String,
}

impl Cluster {
    /// The way to the cluster of `key`. Nothing is sent yet.
    ///
    /// # Errors
    /// When there is none.
    pub(super) async fn of(key: &RunKey) -> Result<Self, Failure> {
        let no_way = |why: &dyn Display| Failure::incomplete(format!("{key}: no way to a cluster: {why}"));
        let config = Config::infer().await;
        let config = config.map_err(|error| no_way(&no_config(&error)))?;
        let server = config.cluster_url.to_string();
        let client = Client::try_from(config).map_err(|error| no_way(&root_cause(&error)))?;
        Ok(Self { client, server })
    }

    /// The run with `key`.
    ///
    /// # Errors
    /// When it is not there, or cannot be read.
    pub(super) async fn run(&self, key: &RunKey) -> Result<BenchmarkRun, Failure> {
        let runs: Api<BenchmarkRun> = Api::namespaced(self.client.clone(), &key.namespace);
        let run = runs.get_opt(&key.name).await;
        let run = run.map_err(|error| self.refused(key, &error))?;
        run.ok_or_else(|| {
            Failure::wrong_file(format!(
                "{key}: there is neither such a file or folder nor such a run in the cluster of KUBECONFIG"
            ))
        })
    }

    /// A request for `key` that failed with `error`.
    pub(super) fn refused(&self, key: &RunKey, error: &kube::Error) -> Failure {
        Failure::incomplete(match error {
            kube::Error::Api(_) => format!("{key}: {}", words(error)),
            _ => format!(
                "{key}: no answer from {}: {}. Check KUBECONFIG",
                self.server,
                root_cause(error)
            ),
        })
    }
}

/// What the API server says in `error`, or what it comes from where that said nothing.
pub(super) fn words(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) if !status.message.is_empty() => status.message.clone(),
        error => root_cause(error),
    }
}

/// Why there is no configuration. That this is no pod either is of use only where nobody names a file.
fn no_config(error: &InferConfigError) -> String {
    let set = env::var_os("KUBECONFIG").is_some_and(|names| !names.is_empty());
    let of_file = error
        .source()
        .and_then(|source| source.downcast_ref::<KubeconfigError>());
    match of_file {
        Some(KubeconfigError::ReadConfig(why, path)) if set => format!(
            "{}: {why}. KUBECONFIG names it: set that to the cluster's file",
            path.display()
        ),
        Some(KubeconfigError::ReadConfig(why, path)) => {
            format!("{}: {why}. Set KUBECONFIG to the cluster's file", path.display())
        }
        Some(why) if set => format!("{why}. Set KUBECONFIG to the cluster's file"),
        _ => format!("{error}. Set KUBECONFIG to the cluster's file"),
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn a_request_without_an_answer_ends_in_its_cause() {
        let refused = io::Error::new(io::ErrorKind::ConnectionRefused, "refused by 127.0.0.1");
        let error = kube::Error::ReadEvents(io::Error::other(refused));
        assert_eq!(root_cause(&error), "refused by 127.0.0.1");
    }
}
