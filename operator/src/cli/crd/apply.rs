//! `fabricbench crd --apply`: makes a cluster serve the resource as this program knows it. I/O.

use std::io::Write;
use std::time::Duration;

use crds::v1alpha1::BenchmarkRun;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Patch, PatchParams};
use kube::runtime::wait::{Condition, conditions};
use kube::{Api, Client, CustomResourceExt};
use snafu::{IntoError, ResultExt, Snafu, ensure};
use tokio::time::{sleep, timeout};

/// Who owns the fields. Whoever owned them before, as Helm at its first installation, loses them.
const FIELD_MANAGER: &str = "fabricbench";
/// Longest time all of it may take: an API server serves a definition within seconds.
const PATIENCE: Duration = Duration::from_secs(60);
/// Time between two looks at the definition. A watch would take two more rights.
const LOOK_AGAIN: Duration = Duration::from_millis(250);

/// Why the cluster does not serve the resource.
#[derive(Debug, Snafu)]
pub(super) enum ApplyError {
    #[snafu(display("starting the runtime: {source}"))]
    Runtime { source: std::io::Error },
    #[snafu(display("there is no way to a cluster: {source}. Set KUBECONFIG, or run it in a pod"))]
    NoCluster { source: kube::Error },
    #[snafu(display(
        "the definition of BenchmarkRun may not be {what}: {source}. It takes the verbs get, create and patch on \
         customresourcedefinitions (apiextensions.k8s.io)"
    ))]
    NoRight { what: &'static str, source: kube::Error },
    #[snafu(display("the definition of BenchmarkRun cannot be {what}: {source}"))]
    Request { what: &'static str, source: kube::Error },
    #[snafu(display(
        "the cluster stores BenchmarkRuns as {versions}, which fabricbench {} does not know: a newer release was \
         installed. Apply the definition of that release",
        env!("CARGO_PKG_VERSION")
    ))]
    NewerStored { versions: String },
    #[snafu(display(
        "BenchmarkRun is not served after {} s: `kubectl describe customresourcedefinition {name}` says why",
        PATIENCE.as_secs()
    ))]
    NotEstablished { name: &'static str },
    #[snafu(display("writing the output: {source}"))]
    Output { source: std::io::Error },
}

/// Applies the definition to the cluster of KUBECONFIG, or of this pod, and waits until it is served.
pub(super) fn apply() -> Result<(), ApplyError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context(RuntimeSnafu)?;
    let name = BenchmarkRun::crd_name();
    let applied = async { timeout(PATIENCE, applied(name)).await };
    match runtime.block_on(applied) {
        Ok(applied) => applied?,
        Err(_) => return NotEstablishedSnafu { name }.fail(),
    }
    writeln!(std::io::stdout().lock(), "{name} is applied and served").context(OutputSnafu)
}

async fn applied(name: &str) -> Result<(), ApplyError> {
    let client = Client::try_default().await.context(NoClusterSnafu)?;
    let definitions: Api<CustomResourceDefinition> = Api::all(client);
    let definition = BenchmarkRun::crd();
    let before = definitions.get_opt(name).await;
    if let Some(before) = before.map_err(|source| refused("read", source))? {
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
    patched.map_err(|source| refused("applied", source))?;
    let served = conditions::is_crd_established();
    loop {
        let definition = definitions.get_opt(name).await;
        let definition = definition.map_err(|source| refused("read", source))?;
        if served.matches_object(definition.as_ref()) {
            return Ok(());
        }
        sleep(LOOK_AGAIN).await;
    }
}

/// Versions in which `before` says that objects are stored, and that `definition` does not have.
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

fn refused(what: &'static str, source: kube::Error) -> ApplyError {
    match &source {
        kube::Error::Api(status) if matches!(status.code, 401 | 403) => {
            NoRightSnafu { what }.into_error(source)
        }
        _ => RequestSnafu { what }.into_error(source),
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinitionStatus;

    use super::*;

    #[test]
    fn a_version_that_this_program_does_not_know_is_named() {
        let ours = BenchmarkRun::crd();
        let mut before = ours.clone();
        assert_eq!(unknown_versions(&before, &ours), Vec::<String>::new());
        before.status = Some(CustomResourceDefinitionStatus {
            stored_versions: Some(vec!["v1alpha1".to_owned(), "v1beta1".to_owned()]),
            ..CustomResourceDefinitionStatus::default()
        });
        assert_eq!(unknown_versions(&before, &ours), ["v1beta1"]);
    }
}
