//! `fabricbench crd --apply`: applies the custom resource definition to a cluster. Performs I/O.

use std::time::Duration;

use crds::v1alpha1::{BenchmarkRun, definition};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Patch, PatchParams};
use kube::runtime::wait::{Condition, conditions};
use kube::{Api, CustomResourceExt};
use snafu::{ResultExt, Snafu, ensure};
use tokio::time::{sleep, timeout};

use crate::connection::Connection;
use crate::terminal::print;

/// Field manager for the definition. It takes over the fields from previous managers, such as Helm.
const FIELD_MANAGER: &str = "fabricbench";
/// Timeout for the whole operation. An API server starts to serve a new definition within seconds.
const TIMEOUT: Duration = Duration::from_secs(60);
/// Polling interval for the definition. A watch would require two more RBAC verbs.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// Error applying the definition.
#[derive(Debug, Snafu)]
pub(super) enum DefinitionError {
    #[snafu(display("failed to start the async runtime: {source}"))]
    Runtime { source: std::io::Error },
    #[snafu(display("{why}"))]
    NoCluster { why: String },
    #[snafu(display(
        "the BenchmarkRun definition cannot be {what} with the current permissions: {why}. The verbs get, \
         create and patch on customresourcedefinitions (apiextensions.k8s.io) are required"
    ))]
    Forbidden { what: &'static str, why: String },
    #[snafu(display("the BenchmarkRun definition cannot be {what}: {why}"))]
    Request { what: &'static str, why: String },
    #[snafu(display(
        "the cluster stores BenchmarkRuns in version {versions}, which fabricbench {} does not support: a newer \
         release was installed. Apply the definition from that release",
        env!("CARGO_PKG_VERSION")
    ))]
    NewerStored { versions: String },
    #[snafu(display(
        "BenchmarkRun is still not being served after {} s. See `kubectl describe customresourcedefinition {name}`",
        TIMEOUT.as_secs()
    ))]
    NotEstablished { name: &'static str },
    #[snafu(display("cannot write the output: {source}"))]
    Output { source: std::io::Error },
}

/// Applies the definition to the cluster in the current kubeconfig context, or to this pod's cluster, and waits until
/// it is served.
pub(super) fn apply() -> Result<(), DefinitionError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context(RuntimeSnafu)?;
    let name = BenchmarkRun::crd_name();
    let applied = async { timeout(TIMEOUT, apply_and_wait(name)).await };
    match runtime.block_on(applied) {
        Ok(applied) => applied?,
        Err(_) => return NotEstablishedSnafu { name }.fail(),
    }
    print(&format!("{name} is applied and served\n")).context(OutputSnafu)
}

async fn apply_and_wait(name: &str) -> Result<(), DefinitionError> {
    let connection = Connection::open()
        .await
        .map_err(|why| DefinitionError::NoCluster { why })?;
    let request_error = |what, error: kube::Error| request_error(&connection, what, &error);
    let definitions: Api<CustomResourceDefinition> = Api::all(connection.client.clone());
    let definition = definition();
    let before = definitions.get_opt(name).await;
    if let Some(before) = before.map_err(|source| request_error("read", source))? {
        let unknown = unknown_versions(&before, &definition);
        ensure!(
            unknown.is_empty(),
            NewerStoredSnafu {
                versions: unknown.join(", ")
            }
        );
    }
    let params = PatchParams::apply(FIELD_MANAGER).force();
    let patched = definitions.patch(name, &params, &Patch::Apply(&definition)).await;
    patched.map_err(|source| request_error("applied", source))?;
    let served = conditions::is_crd_established();
    loop {
        let definition = definitions.get_opt(name).await;
        let definition = definition.map_err(|source| request_error("read", source))?;
        if served.matches_object(definition.as_ref()) {
            return Ok(());
        }
        sleep(POLL_INTERVAL).await;
    }
}

/// Returns the entries of `status.storedVersions` in `before` that `definition` does not contain.
fn unknown_versions(before: &CustomResourceDefinition, definition: &CustomResourceDefinition) -> Vec<String> {
    let stored = before
        .status
        .iter()
        .flat_map(|status| status.stored_versions.iter().flatten());
    let known = |name: &String| {
        let mut versions = definition.spec.versions.iter();
        versions.any(|version| version.name == *name)
    };
    stored.filter(|name| !known(name)).cloned().collect()
}

fn request_error(connection: &Connection, what: &'static str, error: &kube::Error) -> DefinitionError {
    let why = connection.describe(error);
    match error {
        kube::Error::Api(status) if status.code == 403 => DefinitionError::Forbidden { what, why },
        _ => DefinitionError::Request { what, why },
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinitionStatus;

    use super::*;

    #[test]
    fn reports_stored_versions_that_are_not_supported() {
        let current = definition();
        let mut before = current.clone();
        assert_eq!(unknown_versions(&before, &current), Vec::<String>::new());
        before.status = Some(CustomResourceDefinitionStatus {
            stored_versions: Some(vec!["v1alpha1".to_owned(), "v1beta1".to_owned()]),
            ..CustomResourceDefinitionStatus::default()
        });
        assert_eq!(unknown_versions(&before, &current), ["v1beta1"]);
    }
}
