//! Access to the cluster in the current kubeconfig context, for commands that read from it. Performs I/O.

use std::env;
use std::error::Error;
use std::fmt::Display;
use std::future::Future;

use crds::v1alpha1::BenchmarkRun;
use kube::config::{InferConfigError, KubeconfigError};
use kube::{Api, Client, Config};
use operator::cause::root_cause;
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
    /// API server address.
    server: String,
}

impl Cluster {
    /// Creates a client for the cluster without sending a request. Error messages start with `key`.
    ///
    /// # Errors
    /// Returns an error if the configuration is missing or invalid.
    pub(super) async fn connect(key: &RunKey) -> Result<Self, Failure> {
        let no_config_failure =
            |why: &dyn Display| Failure::incomplete(format!("{key}: no cluster configuration: {why}"));
        let config = Config::infer().await;
        let config = config.map_err(|error| no_config_failure(&describe_config_error(&error)))?;
        let server = config.cluster_url.to_string();
        let client = Client::try_from(config).map_err(|error| no_config_failure(&root_cause(&error)))?;
        Ok(Self { client, server })
    }

    /// Reads the run `key`.
    ///
    /// # Errors
    /// Returns an error if the run does not exist or cannot be read.
    pub(super) async fn run(&self, key: &RunKey) -> Result<BenchmarkRun, Failure> {
        let runs: Api<BenchmarkRun> = Api::namespaced(self.client.clone(), &key.namespace);
        let run = runs.get_opt(&key.name).await;
        let run = run.map_err(|error| self.request_failure(key, &error))?;
        run.ok_or_else(|| {
            Failure::invalid_input(format!(
                "{key}: no such file or directory, and no such run in the current kubeconfig context"
            ))
        })
    }

    /// Converts an error from a request for `key` to a failure.
    pub(super) fn request_failure(&self, key: &RunKey, error: &kube::Error) -> Failure {
        Failure::incomplete(match error {
            kube::Error::Api(_) => format!("{key}: {}", message(error)),
            _ => format!(
                "{key}: no response from {}: {}. Check KUBECONFIG",
                self.server,
                root_cause(error)
            ),
        })
    }
}

/// Returns the message from the API server if `error` contains one, or the root cause of `error`.
pub(super) fn message(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) if !status.message.is_empty() => status.message.clone(),
        error => root_cause(error),
    }
}

/// Describes why the configuration could not be loaded. Mentions the in-cluster configuration only if KUBECONFIG is not
/// set.
fn describe_config_error(error: &InferConfigError) -> String {
    let set = env::var_os("KUBECONFIG").is_some_and(|names| !names.is_empty());
    let kubeconfig_error = error
        .source()
        .and_then(|source| source.downcast_ref::<KubeconfigError>());
    match kubeconfig_error {
        Some(KubeconfigError::ReadConfig(why, path)) => {
            format!(
                "{}: {why}. Set KUBECONFIG to the cluster's kubeconfig file",
                path.display()
            )
        }
        Some(why) if set => format!("{why}. Set KUBECONFIG to the cluster's kubeconfig file"),
        _ => format!("{error}. Set KUBECONFIG to the cluster's kubeconfig file"),
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn reports_the_root_cause_of_a_failed_request() {
        let refused = io::Error::new(io::ErrorKind::ConnectionRefused, "refused by 127.0.0.1");
        let error = kube::Error::ReadEvents(io::Error::other(refused));
        assert_eq!(root_cause(&error), "refused by 127.0.0.1");
    }
}
