//! The connection of a command to the cluster of the current kubeconfig context, or of its pod, and the words for what can
//! fail on it. Performs I/O.

use std::env;
use std::error::Error;
use std::io;

use crds::file_error::{cause, with_remedy};
use kube::config::{InferConfigError, KubeconfigError};
use kube::core::Status;
use kube::{Client, Config};

use crate::cause::{innermost, root_cause};

/// What to do if there is no usable configuration.
const SET_KUBECONFIG: &str =
    "Set KUBECONFIG to the cluster's kubeconfig file, or run in a pod with a service account";

/// Connection to a cluster.
#[derive(Clone)]
pub struct Connection {
    /// Client without metrics and limits, for a command that ends after a few requests.
    pub client: Client,
    /// Address of the API server.
    server: String,
}

impl Connection {
    /// Creates a client without sending a request.
    ///
    /// # Errors
    /// Returns the cause and the remedy if the configuration is missing or invalid.
    pub async fn open() -> Result<Self, String> {
        let config = Config::infer().await.map_err(|error| describe_config(&error))?;
        let server = config.cluster_url.to_string();
        let client = Client::try_from(config).map_err(|error| {
            format!(
                "the certificates or credentials of the cluster {server} are invalid: {}. Correct the kubeconfig file",
                root_cause(&error)
            )
        })?;
        Ok(Self { client, server })
    }

    /// Cause of a failed request, and the remedy.
    pub fn describe(&self, error: &kube::Error) -> String {
        let server = &self.server;
        match error {
            kube::Error::Api(status) => self.describe_status(status),
            kube::Error::SerdeError(_)
            | kube::Error::FromUtf8(_)
            | kube::Error::LinesCodecMaxLineLengthExceeded => {
                format!(
                    "fabricbench cannot read the response from {server}. Use the release of fabricbench that is installed in \
                     the cluster"
                )
            }
            error => format!(
                "no response from {server}: {}. Check that the API server runs, and that KUBECONFIG is the file of the right \
                 cluster",
                transport_cause(error)
            ),
        }
    }

    fn describe_status(&self, status: &Status) -> String {
        let server = &self.server;
        let message = status.message.trim().trim_end_matches('.');
        match status.code {
            401 => format!(
                "{server} does not accept the credentials in the kubeconfig file ({message}). Renew them, for example by \
                 logging in again"
            ),
            403 => format!("{message}. Ask for this permission, or use another kubeconfig context"),
            404 if is_resource_missing(status) => format!(
                "the cluster {server} does not know the resource. If it is a BenchmarkRun, install the chart or run \
                 `fabricbench crd --apply`"
            ),
            // The body of the response is not what an API server sends.
            code if status.reason == UNPARSED => format!(
                "{server} responds with HTTP status {code}, but not as the API server of a cluster. Check that KUBECONFIG is \
                 the file of the right cluster"
            ),
            code if message.is_empty() => {
                format!("{server} responds with HTTP status {code}. Try again later")
            }
            _ => status.message.clone(),
        }
    }
}

/// Reason that the client sets if the body of a response is not a status.
const UNPARSED: &str = "Failed to parse error data";

/// Whether a response with status 404 means that the cluster does not know the kind of the object, rather than that there
/// is no object with this name.
pub fn is_resource_missing(status: &Status) -> bool {
    status.code == 404
        && status
            .details
            .as_ref()
            .is_none_or(|details| details.name.is_empty())
}

/// Describes why no configuration could be loaded, and the remedy.
pub fn describe_config(error: &InferConfigError) -> String {
    let is_set = env::var_os("KUBECONFIG").is_some_and(|names| !names.is_empty());
    let kubeconfig = error
        .source()
        .and_then(|source| source.downcast_ref::<KubeconfigError>());
    let why = match kubeconfig {
        Some(KubeconfigError::ReadConfig(why, path)) if is_set || why.kind() != io::ErrorKind::NotFound => {
            format!("{}: {}", path.display(), with_remedy(why))
        }
        Some(KubeconfigError::ReadConfig(_, path)) => {
            format!(
                "{} does not exist, and this process runs in no pod",
                path.display()
            )
        }
        Some(KubeconfigError::FindPath) | None => {
            "there is no kubeconfig file, and this process runs in no pod".to_owned()
        }
        Some(KubeconfigError::CurrentContextNotSet) => {
            "the kubeconfig file has no current-context".to_owned()
        }
        Some(KubeconfigError::Parse(_)) => {
            "the kubeconfig file is not YAML with the fields of a kubeconfig file".to_owned()
        }
        Some(KubeconfigError::MissingClusterUrl) => {
            "the cluster of the current context has no server in the kubeconfig file".to_owned()
        }
        Some(why) => format!("the kubeconfig file is invalid: {why}"),
    };
    format!("no cluster configuration: {why}. {SET_KUBECONFIG}")
}

/// Cause of a request without a response, in the words of the operating system where it is one of its errors.
fn transport_cause(error: &kube::Error) -> String {
    let innermost = innermost(error);
    match innermost.downcast_ref::<io::Error>() {
        Some(error) => cause(error),
        None => innermost.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use kube::core::response::{StatusDetails, StatusSummary};

    use super::*;

    fn connection() -> Connection {
        let service = tower::service_fn(|_: http::Request<kube::client::Body>| async {
            Err::<http::Response<kube::client::Body>, _>(io::Error::other("unused"))
        });
        Connection {
            client: Client::new(service, "default"),
            server: "https://cluster".to_owned(),
        }
    }

    fn status(code: u16, reason: &str, message: &str, name: &str) -> kube::Error {
        kube::Error::Api(Box::new(Status {
            status: Some(StatusSummary::Failure),
            code,
            reason: reason.to_owned(),
            message: message.to_owned(),
            details: (!name.is_empty()).then(|| StatusDetails {
                name: name.to_owned(),
                group: String::new(),
                kind: String::new(),
                uid: String::new(),
                causes: Vec::new(),
                retry_after_seconds: 0,
            }),
            metadata: None,
        }))
    }

    #[tokio::test]
    async fn every_failed_request_has_a_cause_and_a_remedy() {
        let refused = io::Error::from_raw_os_error(111);
        for (error, expected) in [
            (
                kube::Error::ReadEvents(refused),
                "no response from https://cluster: connection refused. Check that the API server runs",
            ),
            (
                status(401, "Unauthorized", "Unauthorized", ""),
                "https://cluster does not accept the credentials in the kubeconfig file (Unauthorized). Renew them",
            ),
            (
                status(403, "Forbidden", "pods is forbidden", ""),
                "pods is forbidden. Ask for this permission",
            ),
            (
                status(404, UNPARSED, "404 page not found\n", ""),
                "the cluster https://cluster does not know the resource. If it is a BenchmarkRun, install the chart",
            ),
            (
                status(404, "NotFound", "pods \"p\" not found", "p"),
                "pods \"p\" not found",
            ),
            (
                status(502, UNPARSED, "<html>", ""),
                "https://cluster responds with HTTP status 502, but not as the API server of a cluster. Check",
            ),
            (
                status(503, "ServiceUnavailable", "", ""),
                "https://cluster responds with HTTP status 503. Try again",
            ),
        ] {
            let described = connection().describe(&error);
            assert!(described.starts_with(expected), "{described}");
        }
    }
}
